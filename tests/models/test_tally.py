"""Counts that workers share: a limit is never exceeded, and a window ends."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connections
from django.utils import timezone

from mcp_gateway.models import Tally


@pytest.mark.django_db
def test_a_window_holds_its_limit_and_says_how_long_it_lasts() -> None:
    assert [Tally.take("door", limit=2, seconds=60) for _time in range(2)] == [0, 0]
    assert 1 <= Tally.take("door", limit=2, seconds=60) <= 60
    assert Tally.take("another door", limit=2, seconds=60) == 0


@pytest.mark.django_db
def test_the_next_window_begins_with_the_first_count_after_it() -> None:
    assert Tally.take("door", limit=1, seconds=60) == 0
    Tally.objects.update(ends=timezone.now() - timedelta(seconds=1))
    assert not Tally.is_full("door")
    assert Tally.take("door", limit=1, seconds=60) == 0
    assert Tally.is_full("door")
    assert Tally.take("door", limit=1, seconds=60) > 0


@pytest.mark.django_db
def test_a_limit_of_nothing_lets_nothing_through() -> None:
    assert Tally.take("door", limit=0, seconds=60) > 0
    assert Tally.take("door", limit=0, seconds=60) > 0


@pytest.mark.django_db
def test_what_is_over_is_swept_when_something_new_is_counted() -> None:
    for number in range(5):
        Tally.take(f"door {number}", limit=1, seconds=60)
    Tally.objects.update(ends=timezone.now() - timedelta(seconds=1))
    Tally.take("another", limit=1, seconds=60)
    assert Tally.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_only_the_limit_is_let_through() -> None:
    def take(_number: int) -> int:
        try:
            return Tally.take("door", limit=5, seconds=600)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        waits = list(pool.map(take, range(40)))
    assert waits.count(0) == 5
