"""Tiny random models of all families: drawn, answered by transformers and by us, compared."""
