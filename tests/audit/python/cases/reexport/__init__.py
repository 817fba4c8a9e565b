from .api import ask as question

__all__ = ["question"]
