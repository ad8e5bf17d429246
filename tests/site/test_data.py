"""The data directory: a key made once, an address remembered, a refusal that can be acted on."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from zolinga_site.data import DataDirectory


def test_the_key_is_made_once_and_readable_by_its_owner_only(tmp_path: Path) -> None:
    key = DataDirectory(tmp_path / "var").secret_key()
    assert len(key) >= 50
    assert DataDirectory(tmp_path / "var").secret_key() == key
    assert stat.S_IMODE((tmp_path / "var" / "secret_key").stat().st_mode) == 0o600


def test_processes_that_start_together_agree_on_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        keys = set(pool.map(lambda _: DataDirectory(tmp_path).secret_key(), range(64)))
    assert len(keys) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "secret_key"]


def test_two_sites_have_two_keys(tmp_path: Path) -> None:
    assert DataDirectory(tmp_path / "a").secret_key() != DataDirectory(tmp_path / "b").secret_key()


def test_the_address_that_up_served_on_is_remembered(tmp_path: Path) -> None:
    data = DataDirectory(tmp_path)
    assert data.served_url == ""
    data.remember_served_url("http://127.0.0.1:8000")
    data.remember_served_url("http://127.0.0.1:8080")
    assert DataDirectory(tmp_path).served_url == "http://127.0.0.1:8080"


def test_a_folder_that_cannot_be_made_is_named_with_the_setting_to_change(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ImproperlyConfigured, match=r"file/var cannot be written .*ZOLINGA_DATA_DIR"):
        DataDirectory(tmp_path / "file" / "var")


def test_a_folder_that_keeps_no_key_is_named_too(tmp_path: Path) -> None:
    data = DataDirectory(tmp_path)
    (tmp_path / "secret_key").mkdir()
    with pytest.raises(ImproperlyConfigured, match=r"cannot be written .*ZOLINGA_DATA_DIR"):
        data.secret_key()
