"""Modules: each folder is one, with its ``zolinga.json``, its schemas and its handlers."""
