"""The closed list of what goes into JSON."""

from __future__ import annotations

import collections
import datetime
import enum
import json
import math
import random
import types
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import Group
from django.db import models
from django.http import HttpResponse, QueryDict
from django.utils.functional import lazy
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy

from mcp_gateway import encoding
from mcp_gateway.encoding import EncodingError


class Colour(enum.Enum):
    """A plain enumeration."""

    RED = "red"
    DEEP = (1, {"two": 3})


class Size(models.TextChoices):
    """Django's enumeration of texts."""

    SMALL = "s", gettext_lazy("Small")


class Level(enum.IntEnum):
    """An enumeration of integers."""

    HIGH = 2


Point = collections.namedtuple("Point", "x y")


class Twin(str):
    """A text that a dictionary takes for another one."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


class Whole(int):
    """A subclass of int."""


class Real(float):
    """A subclass of float."""


def dumps(value: Any) -> str:
    return encoding.encode(value, max_depth=64).text.decode()


ZONE = datetime.timezone(datetime.timedelta(hours=2, minutes=30))
MOMENT = datetime.datetime(2026, 11, 30, 9, 5, 7, 120)

VALUES: list[tuple[Any, str]] = [
    (None, "null"),
    (True, "true"),
    (0, "0"),
    (-1, "-1"),
    (2**63, "9223372036854775808"),
    (2**64, "18446744073709551616"),
    (10**4000, "1" + "0" * 4000),
    (1.0, "1.0"),
    (0.1, "0.1"),
    ("", '""'),
    ('"\\\n\u2028é中🙂', '"\\"\\\\\\n\u2028é中🙂"'),
    ([], "[]"),
    ({}, "{}"),
    ((1, (2,)), "[1,[2]]"),
    ({"b": 1, "a": [None]}, '{"b":1,"a":[null]}'),
    (collections.OrderedDict(b=1, a=2), '{"b":1,"a":2}'),
    (collections.defaultdict(list, a=[1]), '{"a":[1]}'),
    (types.MappingProxyType({"a": 1}), '{"a":1}'),
    (collections.ChainMap({"a": 1}, {"b": 2}), '{"b":2,"a":1}'),
    (QueryDict("a=1&a=2"), '{"a":"2"}'),
    (Point(1, 2), "[1,2]"),
    (Whole(5), "5"),
    (Real(0.5), "0.5"),
    (mark_safe("<b>"), '"<b>"'),
    ({mark_safe("k"): mark_safe("v")}, '{"k":"v"}'),
    (gettext_lazy("Saved"), '"Saved"'),
    ({gettext_lazy("Name"): 1}, '{"Name":1}'),
    (lazy(lambda: mark_safe("x"), str)(), '"x"'),
    (Colour.RED, '"red"'),
    (Colour.DEEP, '[1,{"two":3}]'),
    ({"size": Size.SMALL, "level": Level.HIGH}, '{"size":"s","level":2}'),
    ({Size.SMALL: 1}, '{"s":1}'),
    (UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
    (Decimal("1.10"), '"1.10"'),
    (Decimal("-0"), '"-0"'),
    (MOMENT, '"2026-11-30T09:05:07.000120"'),
    (MOMENT.replace(tzinfo=datetime.UTC), '"2026-11-30T09:05:07.000120Z"'),
    (MOMENT.replace(tzinfo=ZONE), '"2026-11-30T09:05:07.000120+02:30"'),
    (
        datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(seconds=3601))),
        '"2025-12-31T22:59:59Z"',
    ),
    (MOMENT.date(), '"2026-11-30"'),
    (MOMENT.time(), '"09:05:07.000120"'),
    (datetime.timedelta(days=1, milliseconds=500), '"86400.5"'),
]


@pytest.mark.parametrize(("value", "text"), VALUES, ids=[str(index) for index in range(len(VALUES))])
def test_what_is_on_the_list_is_encoded(value: Any, text: str) -> None:
    assert dumps(value) == text
    assert dumps({"deep": [value]}) == f'{{"deep":[{text}]}}'
    assert encoding.encode(value, max_depth=64).value == json.loads(text)
    # Beside something that the fast encoder does not take, the same comes out.
    assert dumps([value, 2**70]) == f"[{text},{2**70}]"


def _generator() -> Any:
    yield 1


async def _coroutine() -> None: ...


def _cyclic_list() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def _cyclic_dict() -> dict[str, Any]:
    value: dict[str, Any] = collections.OrderedDict()
    value["a"] = [value]
    return value


REFUSED: list[tuple[Any, str, str]] = [
    (float("nan"), "", "no number"),
    (float("inf"), "", "no number"),
    ([None, float("-inf")], "/1", "no number"),
    ({"a": (1, {"b": math.nan})}, "/a/1/b", "no number"),
    ([Real("nan"), None], "/0", "no number"),
    (Decimal("NaN"), "", "no number"),
    ([Decimal("Infinity")], "/0", "no number"),
    (b"x", "", "base64"),
    (bytearray(b"x"), "", "base64"),
    ({"a": memoryview(b"x")}, "/a", "base64"),
    ({1}, "", "give a list"),
    (frozenset(), "", "give a list"),
    (_generator(), "", "only once"),
    (iter([1]), "", "only once"),
    (map(str, [1]), "", "only once"),
    ({"a": 1}.values(), "", "JSON has no place"),
    (range(3), "", "JSON has no place"),
    (object(), "", "JSON has no place"),
    (object, "", "JSON has no place"),
    (len, "", "JSON has no place"),
    (1j, "", "JSON has no place"),
    (Group(name="x"), "", "model instance"),
    (HttpResponse("x"), "", "not a response"),
    (datetime.time(1, tzinfo=datetime.UTC), "", "datetime"),
    ({1: 2}, "", "name"),
    ({"a": {None: 2}}, "/a", "name"),
    ({(1,): 2}, "", "name"),
    ({True: 2}, "", "name"),
    ({Level.HIGH: 2}, "", "name"),
    ({Twin("a"): 1, "a": 2}, "", "two members"),
    ("\ud800", "", "surrogate"),
    ({"a": ["\udfff"]}, "/a/0", "surrogate"),
    ({"\ud800": 1}, "", "surrogate"),
    ({"a/b": {"c~d": {1}}}, "/a~1b/c~0d", "give a list"),
    (_cyclic_list(), "/0", "holds itself"),
    (_cyclic_dict(), "/a/0", "holds itself"),
    (10**5000, "", "digits"),
]


@pytest.mark.parametrize(("value", "pointer", "reason"), REFUSED, ids=[str(index) for index in range(len(REFUSED))])
def test_what_is_not_on_the_list_is_refused_with_its_pointer(value: Any, pointer: str, reason: str) -> None:
    with pytest.raises(EncodingError) as caught:
        dumps(value)
    assert caught.value.pointer == pointer
    assert reason in caught.value.reason


def test_a_coroutine_is_refused() -> None:
    coroutine = _coroutine()
    with pytest.raises(EncodingError, match="not awaited"):
        dumps({"a": coroutine})
    coroutine.close()


@pytest.mark.parametrize("levels", [1, 63, 64, 65, 200, 300, 900])
@pytest.mark.parametrize("wrap", [lambda inner: [inner], lambda inner: {"a": inner}, lambda inner: (inner,)])
@pytest.mark.parametrize("core", ["x", 2**70])
def test_depth_is_limited_exactly(levels: int, wrap: Any, core: Any) -> None:
    value = core
    for _ in range(levels):
        value = wrap(value)
    if levels <= 64:
        assert json.loads(dumps(value)) is not None
    else:
        with pytest.raises(EncodingError, match="deeper than 64 levels") as caught:
            dumps(value)
        assert caught.value.pointer.count("/") == 64


def test_the_same_object_twice_is_no_cycle() -> None:
    shared = {"a": [1]}
    assert dumps([shared, shared, 2**70]) == f'[{{"a":[1]}},{{"a":[1]}},{2**70}]'


@pytest.mark.django_db
def test_querysets_of_values_are_arrays_and_of_models_refused() -> None:
    Group.objects.filter(name="a").delete()
    Group.objects.create(name="a")
    groups = Group.objects.filter(name="a")
    assert dumps(groups.values("name")) == '[{"name":"a"}]'
    assert dumps(groups.values_list("name")) == '[["a"]]'
    assert dumps({"names": groups.values_list("name", flat=True)}) == '{"names":["a"]}'
    assert dumps(groups.values_list("name", named=True)) == '[["a"]]'
    assert dumps(Group.objects.none()) == "[]"
    with pytest.raises(EncodingError, match=r"\.values\(\)"):
        dumps({"rows": groups})


@pytest.mark.parametrize("text", ["", "plain", "\ud800 half", "é\n"])
def test_a_message_is_always_text(text: str) -> None:
    assert json.loads(encoding.text(text)) == text.encode("utf-8", "replace").decode()


@pytest.mark.parametrize("seed", range(200))
def test_both_ways_of_encoding_agree(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311

    def value(depth: int) -> Any:
        kind = dice.randrange(9 if depth else 7)
        if kind == 0:
            return dice.choice([1, -5, 2**63 - 1, 2**64 - 1])
        if kind == 1:
            return dice.choice([0.5, 1e-7, 123456.789])
        if kind == 2:
            return dice.choice(["a", "é", '"', "\\", "\x00\x1f", "🙂", "null", "/"])
        if kind == 3:
            return dice.choice([None, True, False])
        if kind == 4:
            return dice.choice([Decimal("1.5"), UUID(int=7), Colour.RED, Size.SMALL])
        if kind == 5:
            return dice.choice([MOMENT, MOMENT.date(), MOMENT.time()])
        if kind == 6:
            return mark_safe("x")
        if kind == 7:
            return [value(depth - 1) for _ in range(dice.randrange(4))]
        return {f"{dice.choice('ab/~é')}{index}": value(depth - 1) for index in range(dice.randrange(4))}

    made = value(4)
    assert json.loads(dumps(made)) == json.loads(dumps([made, 2**70]))[0]
