"""The servers under comparison, each in a file that its own environment runs.

All serve the same tools: `workload.tool_names(n)`, each taking one string ``message`` and giving it back as
``echo``. Only the standard library, the server's own packages and `tests/benchmarks/workload.py` are imported.
"""
