"""Tools that talk while they run."""

from __future__ import annotations

import secrets
import time

from mcp_gateway.events import CallEvent, Status, Text
from mcp_gateway.models import Prompt, Tool

# As long as the suite's documentation says that a step takes, in seconds.
STEP = 0.05


class TalkingTools:
    """Progress and log messages, in steps."""

    def on_logging(self, event: CallEvent) -> None:
        """Three log messages."""
        event.log("info", "Tool execution started")
        time.sleep(STEP)
        event.log("info", "Tool processing data")
        time.sleep(STEP)
        event.log("info", "Tool execution completed")
        event.content = [Text("Three messages were logged.")]
        event.set_status(Status.OK, "OK")

    def on_progress(self, event: CallEvent) -> None:
        """Three reports of progress."""
        for done in (0, 50, 100):
            event.progress(done, 100, f"{done} %")
            time.sleep(STEP)
        event.content = [Text("It is done.")]
        event.set_status(Status.OK, "OK")

    def on_trigger_tool(self, event: CallEvent) -> None:
        """Change a tool, as an administrator does."""
        tool = Tool.objects.get(name=event.type)
        tool.title_override = f"Changed tool {secrets.token_hex(4)}"
        tool.save()
        event.content = [Text("A tool was changed.")]
        event.set_status(Status.OK, "OK")

    def on_trigger_prompt(self, event: CallEvent) -> None:
        """Change a prompt, as an administrator does."""
        prompt = Prompt.objects.order_by("pk")[0]
        prompt.title_override = f"Changed prompt {secrets.token_hex(4)}"
        prompt.save()
        event.content = [Text("A prompt was changed.")]
        event.set_status(Status.OK, "OK")
