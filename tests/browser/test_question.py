"""The page of a question in a real Chromium: signed in to, filled in, sent; wide and narrow, light and dark."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django.live_server_helper import LiveServer
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from mcp_gateway.models import PageQuestion
from mcp_gateway.protocol import request_state
from tests.browser.test_admin import CONTRAST, LOW_CONTRAST
from tests.views.test_question import SCHEMA

pytestmark = pytest.mark.django_db(transaction=True)

TEXTS = "h1, p, label, legend, span, dt, dd, code, button, input, select"


@pytest.fixture
def question(live_server: LiveServer) -> str:
    """The address of a question to ann."""
    ann = User.objects.create_user("ann", password="correct horse")
    key = PageQuestion.ask(
        ann,
        600,
        client="Desk agent",
        subject="Connect your mailbox",
        message="The mailbox needs a key of yours.\nIt is used for this call alone.",
        schema=json.dumps(SCHEMA),
    )
    return f"{live_server.url}/mcp/question/{key}"


def sign_in(browser: webdriver.Chrome, address: str) -> None:
    browser.get(address)
    browser.find_element(By.NAME, "username").send_keys("ann")
    browser.find_element(By.NAME, "password").send_keys("correct horse")
    browser.find_element(By.CSS_SELECTOR, "button.primary").click()
    WebDriverWait(browser, 60).until(lambda page: page.current_url == address)


def test_a_person_signs_in_and_answers(browser: webdriver.Chrome, question: str) -> None:
    sign_in(browser, question)
    browser.find_element(By.NAME, "field0").send_keys("s3cret")
    browser.find_element(By.CSS_SELECTOR, "input[name=field9][value=M]").click()
    browser.find_element(By.NAME, "field10").click()
    browser.find_element(By.NAME, "accept").click()
    WebDriverWait(browser, 60).until(lambda page: "Thank you" in page.title)
    answer = request_state.unseal(PageQuestion.objects.get().answer)
    assert answer["action"] == "accept"
    assert answer["content"] == {"key": "s3cret", "count": 2, "color": "blue", "sizes": ["M"], "sure": True}
    assert complaints(browser) == []


def test_a_person_declines_without_filling_anything_in(browser: webdriver.Chrome, question: str) -> None:
    sign_in(browser, question)
    browser.find_element(By.NAME, "decline").click()
    WebDriverWait(browser, 60).until(lambda page: "Thank you" in page.title)
    assert request_state.unseal(PageQuestion.objects.get().answer) == {"action": "decline"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_it_can_be_read(browser: webdriver.Chrome, question: str, scheme: str, width: int) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    sign_in(browser, question)
    look(browser, f"form-{scheme}-{width}")
    assert browser.execute_script(LOW_CONTRAST, TEXTS, CONTRAST) == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    browser.execute_script("document.querySelector('form').noValidate = true")
    browser.find_element(By.NAME, "accept").click()
    problems = WebDriverWait(browser, 60).until(lambda page: page.find_elements(By.CSS_SELECTOR, "p.problem"))
    assert [problem.text for problem in problems] == ["This field is required."]
    look(browser, f"problem-{scheme}-{width}")
    assert browser.execute_script(LOW_CONTRAST, TEXTS, CONTRAST) == []


def look(browser: webdriver.Chrome, name: str) -> None:
    """Keep a picture where ``SCREENSHOTS`` names a folder."""
    folder = os.environ.get("SCREENSHOTS")
    if folder:
        size = {"width": browser.execute_script("return innerWidth"), "deviceScaleFactor": 1, "mobile": False}
        height: Any = browser.execute_script("return document.documentElement.scrollHeight")
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {**size, "height": height})
        browser.save_screenshot(str(Path(folder) / f"{name}.png"))


def complaints(browser: webdriver.Chrome) -> list[Any]:
    """What the browser's console says of the pages."""
    log = browser.get_log("browser")  # type: ignore[no-untyped-call]
    return [entry for entry in log if entry["level"] in ("SEVERE", "WARNING")]
