"""mklang: a declarative language for LLM-driven state machines."""

__version__ = "0.1.0"
