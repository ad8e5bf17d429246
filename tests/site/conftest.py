"""A site to bring up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live import Migrated, Site


@pytest.fixture
def site(migrated: Migrated, tmp_path: Path) -> Iterator[Site]:
    """A site whose database has its tables and nothing else."""
    with migrated.copy(tmp_path / "var") as copied:
        yield copied
