"""Handlers: plain classes with plain methods, named in ``zolinga.json``."""
