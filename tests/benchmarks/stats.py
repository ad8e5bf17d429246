"""What is made of the numbers: medians of rounds, their ratio, and how sure it is."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

_RESAMPLES = 2000
_SEED = 20261130


@dataclass(frozen=True, slots=True)
class Ratio:
    """Ours divided by the peer's: the ratio of medians, and the 95 % interval of it over the paired rounds."""

    value: float
    low: float
    high: float


def ratio_of_medians(ours: Sequence[float], peers: Sequence[float]) -> Ratio:
    """The ratio of two series that were measured round by round, ``ours[i]`` beside ``peers[i]``.

    The interval is a bootstrap over whole rounds, so what slowed a round down for both stays paired. Raises
    ``ValueError`` for series that are empty or of different lengths.
    """
    if len(ours) != len(peers) or not ours:
        raise ValueError(f"Paired rounds are needed; there are {len(ours)} of ours and {len(peers)} of the peer's.")
    source = random.Random(_SEED)  # noqa: S311
    rounds = range(len(ours))
    resampled = []
    for _ in range(_RESAMPLES):
        picked = source.choices(rounds, k=len(rounds))
        resampled.append(median(ours[index] for index in picked) / median(peers[index] for index in picked))
    resampled.sort()
    return Ratio(
        median(ours) / median(peers),
        resampled[int(0.025 * _RESAMPLES)],
        resampled[int(0.975 * _RESAMPLES) - 1],
    )


def orders(rounds: int) -> list[bool]:
    """For each round whether the order of cases is reversed: every second one is, so a drift cancels out."""
    return [bool(number % 2) for number in range(rounds)]
