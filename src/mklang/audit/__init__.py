"""Audit: model output on its way to durable state, found before anything runs, in machines and in Python (S50)."""
