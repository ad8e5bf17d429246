"""Tools that go on in the background."""

from __future__ import annotations

import time

from mcp_gateway.events import CallEvent, Form, Status, Text

# Seconds between two looks whether the work is still wanted.
STEP = 0.1

CONFIRM = {
    "type": "object",
    "properties": {"confirm": {"type": "boolean", "title": "Delete it?"}},
    "required": ["confirm"],
}
NAME = {"type": "object", "properties": {"name": {"type": "string", "title": "Name"}}, "required": ["name"]}


class Panic(BaseException):
    """What a server is not made for: it ends as an error of the protocol."""


class TaskTools:
    """Work that takes a while, and work that goes wrong in each of the two ways."""

    def on_slow_compute(self, event: CallEvent) -> None:
        """Take ``seconds``, and stop earlier when nobody wants the result any more."""
        seconds = event.request["seconds"]
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if event.cancelled:
                event.set_status(Status.GONE, "It was cancelled.")
                return
            event.progress(seconds - left, seconds)
            time.sleep(min(STEP, left))
        event.content.append(Text(f"Computed {event.request.get('label', 'it')} in {seconds} seconds."))
        event.set_status(Status.OK, "OK")

    def on_failing_job(self, event: CallEvent) -> None:
        """Say no, after a second."""
        time.sleep(1)
        event.set_status(Status.CONFLICT, "This job always fails.")

    def on_protocol_error_job(self, event: CallEvent) -> None:
        """Break the server that runs it."""
        raise Panic("This job breaks its worker on purpose.")

    def on_confirm_delete(self, event: CallEvent) -> None:
        """Ask before anything is deleted."""
        filename = event.request["filename"]
        answer = event.ask("confirm", f"Delete {filename}?", CONFIRM)
        deleted = answer.accepted and answer["confirm"]
        event.content.append(Text(f"{filename} was {'' if deleted else 'not '}deleted."))
        event.set_status(Status.OK, "OK")

    def on_multi_input(self, event: CallEvent) -> None:
        """Ask for two things at once."""
        answers = event.ask_all(
            {"first": Form("What is your name?", NAME), "second": Form("Do you agree?", CONFIRM)},
        )
        said = ", ".join(f"{key}: {answer.action}" for key, answer in answers.items())
        event.content.append(Text(said))
        event.set_status(Status.OK, "OK")

    def on_tool_with_task(self, event: CallEvent) -> None:
        """Ask for a name while the client waits, and greet in the background."""
        answer = event.ask("user_name", "What is your name?", NAME)
        event.background(required=True)
        event.content.append(Text(f"Hello, {answer.get('name', 'stranger')}!"))
        event.set_status(Status.OK, "OK")
