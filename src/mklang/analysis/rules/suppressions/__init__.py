"""Comments to mklang in a document: ``# mklang: ignore[code] why``."""
