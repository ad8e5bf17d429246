"""System checks: every misconfiguration has an id, its consequence and the line to paste.

Those of `served`, `clients`, `administrators` and parts of `issuers` ask the database: ``manage.py check --database
default``. Those of `deployment` run with ``--deploy``.
"""
