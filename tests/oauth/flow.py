"""The authorization code flow as a client and a person's browser go through it."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from django.test import Client

VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
MCP = "http://testserver/mcp"
REDIRECT = "https://client.example/callback"


class _Forms(HTMLParser):
    """The hidden fields and the buttons of a page's form."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self.buttons: dict[str, tuple[str | None, str | None]] = {}
        self._button: tuple[str | None, str | None] | None = None
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "input" and values.get("name"):
            self.fields[str(values["name"])] = values.get("value") or ""
        if tag == "button":
            self._button = (values.get("name"), values.get("value"))

    def handle_data(self, data: str) -> None:
        if self._button is not None and data.strip():
            self.buttons[data.strip()] = self._button
            self._button = None


def form_fields(html: str, button: str = "") -> dict[str, str]:
    """What a browser posts when somebody presses ``button`` on a page."""
    form = _Forms(html)
    name, value = form.buttons[button] if button else (None, None)
    return {**form.fields, **({name: value or ""} if name else {})}


@dataclass
class Flow:
    """One client's conversation with the authorization server, over the test client."""

    browser: Client
    authorize_path: str = "/oauth/authorize/"
    token_path: str = "/oauth/token/"
    client_id: str = "robot"

    def query(self, **parameters: Any) -> str:
        """The authorization request of a client that knows its manners; None leaves a parameter out."""
        asked = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": REDIRECT,
            "state": "st4te",
            "scope": "mcp:tools",
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "resource": MCP,
            **parameters,
        }
        return urlencode({key: value for key, value in asked.items() if value is not None}, doseq=True)

    def open(self, **parameters: Any) -> Any:
        """GET the authorization endpoint."""
        return self.browser.get(f"{self.authorize_path}?{self.query(**parameters)}")

    def press(self, page: Any, button: str, **changed: str) -> Any:
        """Press a button on the consent page."""
        url = f"{self.authorize_path}?{page.request['QUERY_STRING']}"
        return self.browser.post(url, {**form_fields(page.content.decode(), button), **changed})

    def answer(self, response: Any) -> dict[str, str]:
        """What the client reads from the redirect it gets."""
        assert response.status_code == 302, response.content
        return {key: values[0] for key, values in parse_qs(urlsplit(response["Location"]).query).items()}

    def code(self, **parameters: Any) -> str:
        """Go through consent, to the code."""
        return self.answer(self.press(self.open(**parameters), "Allow"))["code"]

    def token(self, **parameters: Any) -> Any:
        """POST the token endpoint; without parameters of its own it exchanges a fresh code."""
        sent = {
            "grant_type": "authorization_code",
            "client_id": self.client_id,
            "redirect_uri": REDIRECT,
            "code_verifier": VERIFIER,
            "resource": MCP,
            **parameters,
        }
        return self.browser.post(self.token_path, {key: value for key, value in sent.items() if value is not None})
