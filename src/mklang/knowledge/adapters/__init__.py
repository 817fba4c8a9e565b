"""Adapters: files of elsewhere as events. Each reads one format, keeps what it does not know, says what it cannot."""
