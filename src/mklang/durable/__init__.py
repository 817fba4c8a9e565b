"""Runs that survive: the journal of answers, and what can be done with one: resume, answer, fork, replay."""
