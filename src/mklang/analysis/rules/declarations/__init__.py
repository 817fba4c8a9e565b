"""The ``tools`` and ``hooks`` blocks beside what the machine uses."""
