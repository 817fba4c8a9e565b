"""Compliance: whether rules are followed in real sessions, by what was done there and not by what is said about it."""
