"""What can be known about a machine before it runs. Knows no model and no run: only the document.

``check_machine`` gives errors and warnings, ``lint_machine`` those and everything that is valid and suspicious. An
``Analyser`` does the same for many machines and looks at each only once.
"""

from mklang.analysis.runner import Analyser, check_machine, check_tiers, fails_strict, lint_machine

__all__ = ["Analyser", "check_machine", "check_tiers", "fails_strict", "lint_machine"]
