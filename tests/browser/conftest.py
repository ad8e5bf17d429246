"""A real Chromium, driven through chromedriver, on an empty profile of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

# As root Chromium needs --no-sandbox; the others keep it from calling home.
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


@pytest.fixture
def browser(chromium: str, tmp_path: Path) -> Iterator[webdriver.Chrome]:
    """A browser; it is closed at the end."""
    beside = Path(chromium).with_name("chromedriver")
    driver = str(beside) if beside.is_file() else shutil.which("chromedriver")
    assert driver is not None, f"chromedriver is neither beside {chromium} nor on PATH"
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in (*FLAGS, f"--user-data-dir={tmp_path / 'profile'}"):
        options.add_argument(flag)
    opened = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield opened
    finally:
        opened.quit()
