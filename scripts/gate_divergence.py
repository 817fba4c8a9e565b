"""A thin door to ``mklang divergence``, under the name the seed documents use."""

from __future__ import annotations

import sys

from mklang.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["divergence", *sys.argv[1:]]))
