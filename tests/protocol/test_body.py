"""The two ways of reading a body agree with the standard library, and find what it overlooks."""

from __future__ import annotations

import json
import random
import string
import subprocess
import sys
from typing import Any

import pytest

from mcp_gateway.protocol import body
from mcp_gateway.protocol.errors import ProtocolError

# Pieces that look like syntax when they stand in text.
_TEXTS = ['":', '\\":', "\\", '"', ":", " :", "{", "[", "\\u0022:", "é", "\u2028", "a", "1" * 19, '{"a":1,"a":2}', ""]


def _value(dice: random.Random, depth: int) -> Any:
    kind = dice.randrange(7 if depth else 5)
    if kind == 0:
        return "".join(dice.choice(_TEXTS) for _ in range(dice.randrange(4)))
    if kind == 1:
        return dice.choice([0, -1, 2**63, 2**64, 10**30, -(2**63) - 1])
    if kind == 2:
        return dice.choice([1.5, 1e300, -0.25, 1e-9])
    if kind == 3:
        return dice.choice([None, True, False])
    if kind == 4:
        return dice.choice(string.ascii_letters)
    if kind == 5:
        return [_value(dice, depth - 1) for _ in range(dice.randrange(4))]
    return {dice.choice(_TEXTS) + str(index): _value(dice, depth - 1) for index in range(dice.randrange(4))}


@pytest.mark.parametrize("seed", range(300))
def test_a_body_is_read_as_the_standard_library_reads_it(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311
    value = _value(dice, 4)
    text = json.dumps(
        value,
        ensure_ascii=dice.random() < 0.5,
        indent=dice.choice([None, 1]),
        separators=dice.choice([(",", ":"), (", ", ": "), (" ,\t", "\n :")]),
    )
    read = body.parse(text.encode(), max_depth=64)
    assert read == value
    assert json.dumps(read) == json.dumps(value)


@pytest.mark.parametrize("seed", range(300))
def test_a_second_member_of_one_name_is_found_anywhere(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311
    name = json.dumps(dice.choice(_TEXTS) + "x", ensure_ascii=dice.random() < 0.5)
    colon = dice.choice([":", " :", "\n:", ": ", "\t : "])
    values = [json.dumps(_value(dice, 2)) for _ in range(3)]
    members = [f"{name}{colon}{values[0]}", f'"other{seed}"{colon}{values[1]}', f"{name}:{values[2]}"]
    dice.shuffle(members)
    text = json.dumps(_value(dice, 1))
    with pytest.raises(ProtocolError, match="two members") as caught:
        body.parse(f"[{text},{{{','.join(members)}}},{text}]".encode(), max_depth=64)
    assert caught.value.code == -32600


@pytest.mark.parametrize("colon", ["\\u003a", "\\u003A", "::\\u003a"])
def test_a_colon_written_as_an_escape_does_not_hide_a_second_member(colon: str) -> None:
    with pytest.raises(ProtocolError, match="two members"):
        body.parse(f'{{"a":1,"a":2,"b":"{colon}"}}'.encode(), max_depth=64)
    assert body.parse(f'{{"a":"{colon}"}}'.encode(), max_depth=64) == json.loads(f'{{"a":"{colon}"}}')


@pytest.mark.parametrize("levels", [1, 63, 64, 65, 66, 300, 900, 1500, 100_000])
@pytest.mark.parametrize(("open_", "close"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_depth_is_counted_exactly(levels: int, open_: bytes, close: bytes) -> None:
    inner = b"" if open_ == b"[" else b"{}"
    text = open_ * (levels - len(inner) // 2) + inner + close * (levels - len(inner) // 2)
    if levels <= 64:
        body.parse(text, max_depth=64)
    else:
        with pytest.raises(ProtocolError, match="deeper than 64 levels") as caught:
            body.parse(text, max_depth=64)
        assert caught.value.code == -32600


# Brackets, quotation marks and backslashes in every order that a counter of brackets could trip over.
_TRAPS = ["[", "]", "{", "}", '"', "\\", '\\"', '"[', ']"', "\\\\", "\\[", "[]", "\\u005b", "\n", "é", ""]


def _levels(value: Any) -> int:
    if not isinstance(value, (dict, list)):
        return 0
    return 1 + max(map(_levels, value.values() if isinstance(value, dict) else value), default=0)


@pytest.mark.parametrize("seed", range(500))
def test_depth_is_counted_exactly_whatever_the_texts_hold(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311

    def text() -> str:
        return "".join(dice.choice(_TRAPS) for _ in range(dice.randrange(6)))

    value: Any = text()
    for _ in range(dice.randrange(1, 24)):
        beside = [_value(dice, 2) if dice.random() < 0.2 else text() for _ in range(dice.randrange(3))]
        members = [*beside, value]
        dice.shuffle(members)
        value = {f"{index}{text()}": member for index, member in enumerate(members)} if dice.random() < 0.5 else members
    written = json.dumps(value, ensure_ascii=dice.random() < 0.5, indent=dice.choice([None, 1])).encode()
    levels = _levels(value)
    assert body.parse(written, max_depth=levels) == value
    with pytest.raises(ProtocolError, match=f"deeper than {levels - 1} levels"):
        body.parse(written, max_depth=levels - 1)


def test_a_site_may_allow_more_levels_than_the_fast_writer_knows() -> None:
    assert body.parse(b"[" * 400 + b"]" * 400, max_depth=500)
    with pytest.raises(ProtocolError):
        body.parse(b"[" * 501 + b"]" * 501, max_depth=500)


def test_wide_bodies_are_not_deep() -> None:
    assert len(body.parse(b"[" + b"[[]]," * 1000 + b"[]]", max_depth=3)) == 1001


@pytest.mark.parametrize("max_depth", [61, 62])
def test_many_numbers_far_inside_take_no_room_for_each_level(max_depth: int) -> None:
    script = """
import resource, sys
from mcp_gateway.protocol import body
from mcp_gateway.protocol.errors import ProtocolError
most = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = most()
try:
    body.parse(b"[" * 62 + b"1," * 2_000_000 + b"1" + b"]" * 62, max_depth=%d)
except ProtocolError:
    print("refused")
print((most() - before) / (1 if sys.platform == "darwin" else 1 / 1024) < 128 * 1024**2)
"""
    run = subprocess.run([sys.executable, "-c", script % max_depth], capture_output=True, text=True, check=True)
    assert run.stdout.split() == (["True"] if max_depth == 62 else ["refused", "True"])


def test_integers_are_read_as_long_as_they_are_not_many_for_their_length() -> None:
    for digits, number in ((4_000, 100), (300, 14_000)):
        long = [int("9" * digits)] * number
        assert body.parse(json.dumps({"ids": long}).encode(), max_depth=64) == {"ids": long}
    with pytest.raises(ProtocolError, match="more integers of such a length") as refused:
        body.parse(b"[" + b",".join([b"9" * 4_000] * 1_000) + b"]", max_depth=64)
    assert refused.value.code == -32700


def test_the_name_that_stands_twice_is_found_at_once_among_very_many() -> None:
    members = ",".join(f'"a{number}":1' for number in range(300_000))
    with pytest.raises(ProtocolError, match="two members named 'twice'"):
        body.parse(f'{{{members},"twice":1,"twice":2}}'.encode(), max_depth=64)
