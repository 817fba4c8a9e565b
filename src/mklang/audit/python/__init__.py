"""Audit of Python: model output on its way to durable state, by reading the text alone (S50)."""

from __future__ import annotations

from mklang.audit.python.describing import describe_python
from mklang.audit.python.options import AuditOptions, find_options
from mklang.audit.python.project import PythonReport, audit_python

__all__ = ["AuditOptions", "PythonReport", "audit_python", "describe_python", "find_options"]
