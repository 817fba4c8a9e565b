"""Machines as pictures: states, gates and callees, with the way of a run drawn on them. Reads no file, runs nothing."""
