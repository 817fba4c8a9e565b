"""The language front: text in, a typed machine with positions or a list of diagnostics out. Knows no run."""
