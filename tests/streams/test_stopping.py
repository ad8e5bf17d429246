"""What a server that is told to stop does to the streams that are open."""

from __future__ import annotations

import os
import signal

from tests.streams.conftest import Stage


def test_a_stream_of_changes_ends_gracefully_and_a_call_comes_to_its_end(stopping: Stage) -> None:
    with stopping.listen() as changes, stopping.call("last") as call:
        events, told = changes.events(), call.events()
        assert next(events)["method"] == "notifications/subscriptions/acknowledged"
        assert next(told)["params"]["progress"] == 1
        stopping.heard("last", "begun")
        os.kill(stopping.process.pid, signal.SIGTERM)
        assert next(events)["result"]["resultType"] == "complete"
        assert list(events) == []
        stopping.tell("last", "go")
        assert [message.get("id") for message in told] == [None, 7]
    assert stopping.process.wait(timeout=60) == 0
