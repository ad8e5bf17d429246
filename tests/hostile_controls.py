"""That the hostile settings are hostile: what they do to views that take them as they are.

Named on the command line beside the wire tests; under the ordinary settings there is nothing to see.
"""

from __future__ import annotations

import pytest
from django.test import Client


def test_an_ordinary_api_view_does_not_survive_them(client: Client, db: None) -> None:
    with pytest.raises(AssertionError, match="exception handler was asked about NotAcceptable"):
        client.post("/ordinary", b"{}", content_type="application/json")


def test_an_ordinary_view_is_sent_to_the_login(client: Client, db: None) -> None:
    answer = client.get("/plain")
    assert answer.status_code == 302
    assert "login" in answer.headers["Location"]


def test_a_page_is_moved_to_its_language_folder(client: Client, db: None) -> None:
    answer = client.get("/admin/login/", HTTP_ACCEPT_LANGUAGE="de")
    assert answer.status_code == 302
    assert answer.headers["Location"] == "/de/admin/login/"


def test_plain_http_is_sent_to_https(client: Client, db: None) -> None:
    assert client.get("/plain", HTTP_X_FORWARDED_PROTO="http").status_code == 301
