"""For every test: a home of its own, no keys, and no way out of this machine (house style 22)."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# No example fails for being slow: how fast this machine is at the moment is not what a property is about.
settings.register_profile("patient", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

_SECRET = ("_API_KEY", "_KEY", "_TOKEN")
_real_connect = socket.socket.connect


def pytest_configure(config: pytest.Config) -> None:
    """Point every folder of a user's at a scratch one, for subprocesses too, before anything is imported."""
    scratch = tempfile.mkdtemp(prefix="mklang-tests-")
    config.add_cleanup(lambda: shutil.rmtree(scratch, ignore_errors=True))
    for name in ("MKLANG_STATE_DIR", "MKLANG_CONFIG_DIR", "MKLANG_DATA_DIR", "XDG_CACHE_HOME"):
        os.environ[name] = os.path.join(scratch, name.lower())  # noqa: PTH118 - names, not files
    for name in [name for name in os.environ if name.endswith(_SECRET) or name == "MKLANG_CONFIG"]:
        del os.environ[name]
    socket.socket.connect = _only_here  # type: ignore[method-assign]


def _only_here(self: socket.socket, address: Any) -> None:
    """Connect within this machine; anything else is a live call by accident."""
    if isinstance(address, tuple) and not str(address[0]).startswith(("127.", "::1", "localhost")):
        raise AssertionError(f"a test tried to reach {address[0]}; live providers are only for explicit switches")
    _real_connect(self, address)
