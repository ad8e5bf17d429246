"""An authorization server elsewhere, as a real HTTP server on this machine: keys, introspection, and its faults."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from jwcrypto import jwk, jwt

CLIENT_ID, CLIENT_SECRET = "gate way", "s3cret:%"

# Seconds: a busy machine is no issuer that hangs.
PATIENCE = 60


def new_key(kid: str = "one", **options: Any) -> jwk.JWK:
    return jwk.JWK.generate(**({"kty": "EC", "crv": "P-256"} | options), kid=kid)


@dataclass
class Issuer:
    """What it says, and what it was asked.

    ``tokens`` is what the introspection knows of; ``status`` of every answer; ``headers`` further ones; ``hold``,
    once set, keeps every answer back until ``released``; ``body`` answers everything, whatever it is.
    """

    url: str = ""
    keys: list[jwk.JWK] = field(default_factory=lambda: [new_key()])
    tokens: dict[str, dict[str, Any]] = field(default_factory=dict)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    hold: bool = False
    released: threading.Event = field(default_factory=threading.Event)
    asked: list[str] = field(default_factory=list)
    forms: list[dict[str, list[str]]] = field(default_factory=list)
    logins: list[str | None] = field(default_factory=list)

    @property
    def by_keys(self) -> dict[str, Any]:
        """The entry of the settings for its JWTs."""
        return {
            "ISSUER": self.url,
            "JWKS_URI": f"{self.url}/keys",
            "USER_CLAIM": "sub",
            "USER_FIELD": "username",
            "TIMEOUT_SECONDS": PATIENCE,
        }

    @property
    def by_asking(self) -> dict[str, Any]:
        """The entry of the settings for its opaque tokens."""
        return {
            "ISSUER": self.url,
            "INTROSPECTION_URI": f"{self.url}/introspect?tenant=1",
            "CLIENT_ID": CLIENT_ID,
            "CLIENT_SECRET": CLIENT_SECRET,
            "USER_CLAIM": "username",
            "USER_FIELD": "username",
            "TIMEOUT_SECONDS": PATIENCE,
        }

    def claims(self, **claims: Any) -> dict[str, Any]:
        """What its tokens say; None leaves a claim out."""
        said = {
            "iss": self.url,
            "sub": "ada",
            "aud": "http://testserver/mcp",
            "exp": int(time.time()) + 300,
            "client_id": "editor",
            "scope": "mcp:tools",
            **claims,
        }
        return {name: value for name, value in said.items() if value is not None}

    def token(self, key: jwk.JWK | None = None, header: dict[str, Any] | None = None, **claims: Any) -> str:
        """A JWT of its own; None leaves a header or a claim out."""
        key = key or self.keys[0]
        said = {"alg": "ES256", "typ": "at+jwt", "kid": key.get("kid"), **(header or {})}
        signed = jwt.JWT(
            header={name: value for name, value in said.items() if value is not None},
            claims=self.claims(**claims),
            algs=["ES256", "RS256", "EdDSA", "HS256"],
        )
        signed.make_signed_token(key)
        return str(signed.serialize())

    def answer(self, path: str, form: dict[str, list[str]]) -> Any:
        if path == "/keys":
            return {"keys": [key.export_public(as_dict=True) for key in self.keys]}
        return self.tokens.get(form.get("token", [""])[0], {"active": False})


def trust(settings: Any, entry: dict[str, Any], slug: str = "", **more: Any) -> None:
    """Let an endpoint trust an issuer."""
    settings.ZOLINGA = {**settings.ZOLINGA, "ISSUERS": {slug: {**entry, **more}}}


@contextmanager
def serve() -> Iterator[Issuer]:
    """Serve until the end."""
    issuer = Issuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer({})

        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            issuer.forms.append(form)
            issuer.logins.append(self.headers.get("Authorization"))
            self._answer(form)

        def _answer(self, form: dict[str, list[str]]) -> None:
            issuer.asked.append(self.path)
            if issuer.hold:
                issuer.released.wait(60)
            body = issuer.body
            if body is None:
                body = json.dumps(issuer.answer(self.path, form)).encode()
            self.send_response(issuer.status)
            headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **issuer.headers}
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Print nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """We hang up on an answer that comes too late."""

    server = Server(("127.0.0.1", 0), Handler)
    issuer.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield issuer
    finally:
        issuer.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
