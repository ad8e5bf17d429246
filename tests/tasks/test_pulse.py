"""What the client of a task reads of its progress."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_gateway.tasks.pulse import Pulse


@pytest.mark.parametrize(
    ("progress", "shown"),
    [
        ((1,), "1"),
        ((1, 2), "1 of 2"),
        ((1_234_567, 2_000_000, "Reading"), "Reading (1234567 of 2000000)"),
        ((0.5, 1.0), "0.5 of 1"),
    ],
)
def test_progress_is_a_sentence_with_every_digit(progress: tuple[Any, ...], shown: str) -> None:
    pulse = Pulse(1)
    pulse.progress(*progress, *[None] * (3 - len(progress)))
    assert pulse._message == shown
