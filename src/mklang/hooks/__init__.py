"""Host predicates that decide gates in code: the registry and the built-in ones."""
