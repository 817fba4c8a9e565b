"""Measuring what only a model can tell: whether conditions are clear, and whether a judge is good enough (ADR 0010)."""
