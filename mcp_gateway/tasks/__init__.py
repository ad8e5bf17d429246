"""Tool calls that go on after their answer: the extension ``io.modelcontextprotocol/tasks``.

==================  ==========================================================================================
``framework.py``    Django's Tasks framework or its backport, and the backend that runs what is put into it.
``store.py``        Making a task, finding the caller's own, clearing away what has expired.
``owner.py``        Who a task is run for, as far as they may still act.
``pulse.py``        The sign of life of a task that runs: its progress goes out, a wish to cancel comes in.
==================  ==========================================================================================

The rules of a task's states are in `mcp_gateway.models.ToolTask`, the methods in ``protocol/methods/tasks.py``, what
a worker does in ``protocol/methods/task_runs.py``.
"""

EXTENSION = "io.modelcontextprotocol/tasks"

# What a manifest says of a tool: it may go on in the background, or runs nowhere else.
OPTIONAL, REQUIRED = "optional", "required"

__all__ = ["EXTENSION", "OPTIONAL", "REQUIRED"]
