"""Host callables that tool states use: the registry and the built-in ones."""
