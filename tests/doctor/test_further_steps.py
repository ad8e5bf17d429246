"""Workers that share nothing, clients known by a document, tokens that come from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest

from mcp_gateway.doctor.report import Level, Report
from mcp_gateway.models import Endpoint
from mcp_gateway.oauth.fetch import GET, Fetched, FetchError, SafeFetcher
from mcp_gateway.oauth.fetch import Request as Asked
from tests.doctor.conftest import MCP, SITE, Request, Road, of, reply, wrong
from tests.oauth import elsewhere
from tests.oauth.elsewhere import Issuer, new_key, trust

Examined = Callable[..., Report]

DOCUMENT = "https://client.example/client.json"
METADATA = {"client_id": DOCUMENT, "client_name": "Robot", "redirect_uris": ["https://client.example/callback"]}


def is_response(request: Request) -> bool:
    """Whether a client answers a question."""
    return request.method == "POST" and b'"result": {}' in (request.body or b"")


def test_what_one_worker_is_told_another_finds(examined: Examined, ada: Any) -> None:
    assert of(examined(), "workers").level is Level.OK
    assert "the database" in of(examined(), "workers").saw
    Endpoint.objects.update(access=Endpoint.Access.TOKEN)
    assert of(examined(user=ada), "workers").level is Level.OK


def test_a_worker_with_a_cache_of_its_own_is_found(examined: Examined, road: Road) -> None:
    answers: list[Request] = []

    def before(request: Request) -> Any:
        if is_response(request):
            answers.append(request)
            if len(answers) % 2:
                return reply(request.url, 202)
        return None

    road.before = before
    report = examined()
    assert wrong(report) == [("workers", Level.WARNING)]
    assert "Of 4 answers that the site took, 2 arrived" in of(report, "workers").saw
    assert "CACHE_URL" in of(report, "workers").cure


def test_a_worker_with_another_secret_key_is_found(examined: Examined, road: Road) -> None:
    def after(request: Request, answered: Any) -> Any:
        if "Mcp-Session-Id" in answered.headers:
            del answered.headers["Mcp-Session-Id"]
            answered.headers["Mcp-Session-Id"] = "signed-by-another"
        return answered

    road.after = after
    report = examined()
    assert wrong(report) == [("workers", Level.WARNING)]
    assert "SECRET_KEY" in of(report, "workers").cure


def test_a_cache_that_does_not_answer_is_told(examined: Examined, settings: Any) -> None:
    settings.CACHES = {"default": {"BACKEND": "tests.doctor.test_further_steps.BrokenCache"}}
    found = of(examined(), "workers")
    assert found.level is Level.WARNING
    assert "BrokenCache" in found.saw
    assert "Connection refused" in found.saw


class BrokenCache:
    """A shared cache whose server is gone."""

    def __init__(self, location: str, options: Any) -> None:
        """Take what Django gives."""

    def set(self, *arguments: Any) -> None:
        raise ConnectionError("Connection refused")

    def close(self) -> None:
        """Django does after each request."""


class OneDocument(SafeFetcher):
    """What the site reads: one document, or the reason why none."""

    answer: ClassVar[Any] = METADATA

    def fetch(self, url: str, *, max_bytes: int, request: Asked = GET) -> Fetched:
        if isinstance(self.answer, str):
            raise FetchError(self.answer)
        return Fetched(self.answer, 600)


@pytest.fixture
def published(road: Road, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Road:
    """A client's document, which the site and this machine can read."""
    fetcher = "tests.doctor.test_further_steps.OneDocument"
    settings.ZOLINGA = {**settings.ZOLINGA, "REGISTRATION": {"FETCHER": fetcher}}
    monkeypatch.setattr(OneDocument, "answer", METADATA)
    body = json.dumps(METADATA).encode()
    road.before = lambda request: (
        reply(request.url, 200, body, Content_Type="application/json") if request.url == DOCUMENT else None
    )
    return road


def test_a_client_of_a_document_comes_as_far_as_people(examined: Examined, published: Road) -> None:
    report = examined(document=DOCUMENT)
    assert wrong(report) == []
    assert of(report, "documents").level is Level.OK
    assert of(examined(), "documents").level is Level.SKIPPED
    assert "--document" in of(examined(), "documents").saw


@pytest.mark.parametrize(
    ("answer", "says", "cure"),
    [
        ("The server could not be reached.", "could not be reached", "way out"),
        ({**METADATA, "client_id": "https://other.example/"}, "client_id", "makers"),
    ],
)
def test_a_document_that_the_site_cannot_take_is_told_with_the_reason(
    examined: Examined, published: Road, monkeypatch: pytest.MonkeyPatch, answer: Any, says: str, cure: str
) -> None:
    monkeypatch.setattr(OneDocument, "answer", answer)
    report = examined(document=DOCUMENT)
    assert wrong(report) == [("documents", Level.FAULT)]
    assert says in of(report, "documents").saw
    assert cure in of(report, "documents").cure


def test_a_client_that_waits_for_approval_is_told(examined: Examined, published: Road, settings: Any) -> None:
    policy = {**settings.ZOLINGA["REGISTRATION"], "DOCUMENTS": "approval"}
    settings.ZOLINGA = {**settings.ZOLINGA, "REGISTRATION": policy}
    report = examined(document=DOCUMENT)
    assert wrong(report) == [("documents", Level.FAULT)]
    assert "under Clients" in of(report, "documents").cure
    assert "approval" in of(examined(), "documents").saw


def test_a_document_that_is_none_is_told(examined: Examined, road: Road) -> None:
    road.before = lambda request: reply(request.url, 404) if request.url == DOCUMENT else None
    report = examined(document=DOCUMENT)
    assert wrong(report) == [("documents", Level.WARNING)]
    assert "404" in of(report, "documents").saw


@pytest.fixture
def issuer(settings: Any, road: Road) -> Iterator[Issuer]:
    """Another site's authorization server, whose metadata are at its usual place."""
    with elsewhere.serve() as served:
        document = {
            "issuer": served.url,
            "authorization_endpoint": f"{served.url}/authorize",
            "token_endpoint": f"{served.url}/token",
            "jwks_uri": f"{served.url}/keys",
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
        }
        road.before = lambda request: (
            reply(request.url, 200, json.dumps(document).encode(), Content_Type="application/json")
            if request.url.startswith(f"{served.url}/.well-known/")
            else None
        )
        yield served


def test_an_endpoint_that_trusts_another_issuer_is_looked_at(
    examined: Examined, settings: Any, issuer: Issuer, road: Road
) -> None:
    trust(settings, issuer.by_keys)
    report = examined()
    assert wrong(report) == []
    assert "1 keys that sign" in of(report, "issuer keys").saw
    assert issuer.url in of(report, "issuer").saw
    assert MCP in of(report, "issuer").saw
    assert "username" in of(report, "issuer").saw
    assert not any("/oauth/" in request.url for request in road.asked)


def test_keys_that_cannot_be_had_keep_everyone_out(examined: Examined, settings: Any, issuer: Issuer) -> None:
    trust(settings, issuer.by_keys)
    issuer.status = 404
    report = examined()
    assert ("issuer keys", Level.FAULT) in wrong(report)
    assert "JWKS_URI" in of(report, "issuer keys").cure


def test_keys_that_do_not_sign_are_none(examined: Examined, settings: Any, issuer: Issuer) -> None:
    trust(settings, issuer.by_keys)
    issuer.keys = [new_key(use="enc")]
    assert ("issuer keys", Level.FAULT) in wrong(examined())


def test_keys_at_another_address_than_the_issuer_names(examined: Examined, settings: Any, issuer: Issuer) -> None:
    trust(settings, issuer.by_keys, JWKS_URI=f"{issuer.url}/keys?old=1")
    issuer.body = json.dumps({"keys": [new_key().export_public(as_dict=True)]}).encode()
    assert wrong(examined()) == [("issuer keys", Level.WARNING)]


def test_an_issuer_that_is_asked_knows_the_site(examined: Examined, settings: Any, issuer: Issuer) -> None:
    trust(settings, issuer.by_asking)
    report = examined()
    assert wrong(report) == []
    assert of(report, "introspection").level is Level.OK


def test_an_issuer_that_does_not_know_the_site_keeps_everyone_out(
    examined: Examined, settings: Any, issuer: Issuer
) -> None:
    trust(settings, issuer.by_asking)
    issuer.status = 401
    report = examined()
    assert set(wrong(report)) == {("authorization", Level.FAULT), ("introspection", Level.FAULT)}
    assert "could not judge" in of(report, "authorization").saw
    assert "CLIENT_SECRET" in of(report, "introspection").cure


def test_an_issuer_that_takes_anything_is_a_fault(examined: Examined, settings: Any, issuer: Issuer) -> None:
    trust(settings, issuer.by_asking)
    issuer.tokens["mcp-doctor-no-such-token"] = issuer.claims(aud=f"{SITE}/other")
    assert ("introspection", Level.FAULT) in wrong(examined())


def test_an_issuer_whose_metadata_are_missing_is_its_administrators_to_mend(
    examined: Examined, settings: Any, issuer: Issuer, road: Road
) -> None:
    trust(settings, issuer.by_keys)
    road.before = lambda request: reply(request.url, 404) if request.url.startswith(issuer.url) else None
    report = examined()
    assert wrong(report) == [("server metadata", Level.FAULT)]
    assert "administrators" in of(report, "server metadata").cure
    assert of(report, "issuer keys").level is Level.OK
