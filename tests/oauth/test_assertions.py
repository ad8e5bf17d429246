"""``private_key_jwt``: only a fresh signature with the client's own key counts, once."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.core.cache import cache
from jwcrypto import jwk, jws, jwt
from jwcrypto.common import base64url_encode

from mcp_gateway.models import Client, Tally
from mcp_gateway.oauth.assertions import ASSERTION_TYPE
from tests.oauth.flow import Flow
from tests.oauth.test_documents import CALLBACK, CLIENT, FETCHER, REAL, ask
from tests.oauth.test_registration import limit, register
from tests.oauth.web import Web

pytestmark = pytest.mark.django_db

KEYS = "https://client.test/oauth/jwks.json"
TOKEN = "http://testserver/oauth/token/"


@pytest.fixture(autouse=True)
def _local(settings: Any, internet: Web) -> None:
    internet.asked.clear()
    internet.pages.clear()
    cache.clear()
    limit(settings, FETCHER=FETCHER)


def new_key(kid: str = "one", **options: Any) -> jwk.JWK:
    return jwk.JWK.generate(**({"kty": "EC", "crv": "P-256"} | options), kid=kid)


@pytest.fixture(scope="module")
def key() -> jwk.JWK:
    return new_key()


def public(*keys: jwk.JWK) -> dict[str, Any]:
    return {"keys": [key.export_public(as_dict=True) for key in keys]}


@pytest.fixture
def published(internet: Web, key: jwk.JWK) -> str:
    """A client whose document names its keys, and offers nothing else."""
    internet.put("/oauth/jwks.json", public(key))
    members = {"client_id": CLIENT, "token_endpoint_auth_method": "private_key_jwt", "jwks_uri": KEYS}
    return internet.put("/oauth/client.json", {**REAL["one that says the least"], **members})


def sign(key: jwk.JWK, header: dict[str, Any] | None = None, **claims: Any) -> str:
    """An assertion; None leaves a claim out."""
    said = {
        "iss": CLIENT,
        "sub": CLIENT,
        "aud": TOKEN,
        "exp": int(time.time()) + 300,
        "jti": secrets.token_hex(8),
        **claims,
    }
    signed = jwt.JWT(
        header={"alg": "ES256", "kid": key.get("kid"), **(header or {})},
        claims={name: value for name, value in said.items() if value is not None},
    )
    signed.make_signed_token(key)
    return str(signed.serialize())


Exchange = Callable[..., Any]


@pytest.fixture
def exchange(flow: Flow) -> Exchange:
    """Exchange a fresh code of a client with an assertion."""

    def run(assertion: str | None, client_id: str = CLIENT, **parameters: Any) -> Any:
        code = flow.answer(flow.press(ask(flow, client_id), "Allow"))["code"]
        sent = {
            "client_id": client_id,
            "redirect_uri": CALLBACK,
            "code": code,
            "client_assertion": assertion,
            "client_assertion_type": None if assertion is None else ASSERTION_TYPE,
            **parameters,
        }
        return flow.token(**sent)

    return run


def refused(response: Any, says: str = "") -> None:
    assert response.status_code == 401, response.content
    assert response.json()["error"] == "invalid_client"
    assert says in response.json().get("error_description", "")


def test_a_client_with_keys_signs_for_its_token(published: str, exchange: Exchange, key: jwk.JWK) -> None:
    response = exchange(sign(key))
    assert response.status_code == 200, response.content
    assert response.json()["scope"] == "mcp:tools"


def test_the_client_may_be_named_by_the_assertion_alone(published: str, exchange: Exchange, key: jwk.JWK) -> None:
    assert exchange(sign(key)).status_code == 200
    assert exchange(sign(key), **{"client_id": CLIENT}).status_code == 200


@pytest.mark.parametrize("aud", [TOKEN, "http://testserver", "http://testserver/", ["https://x.example", TOKEN]])
def test_the_audience_is_this_server(published: str, exchange: Exchange, key: jwk.JWK, aud: Any) -> None:
    assert exchange(sign(key, aud=aud)).status_code == 200


@pytest.mark.parametrize(
    ("claims", "says"),
    [
        ({"iss": "https://other.test/x"}, "iss"),
        ({"iss": None}, "iss"),
        ({"sub": "https://other.test/x"}, "sub"),
        ({"sub": None}, "sub"),
        ({"aud": "https://other.test/token"}, "aud"),
        ({"aud": None}, "aud"),
        ({"aud": []}, "aud"),
        ({"aud": [5]}, "aud"),
        ({"exp": None}, "exp"),
        ({"exp": 1}, "expired"),
        ({"exp": "soon"}, "exp"),
        ({"exp": True}, "exp"),
        ({"exp": 99999999999}, "3600"),
        ({"nbf": 99999999999}, "nbf"),
        ({"iat": 99999999999}, "iat"),
    ],
)
def test_an_assertion_that_is_not_for_now_and_here_is_refused(
    published: str, exchange: Exchange, key: jwk.JWK, claims: dict[str, Any], says: str
) -> None:
    refused(exchange(sign(key, **claims)), says)


@pytest.mark.parametrize("jti", ["once", None])
def test_an_assertion_is_good_once(published: str, exchange: Exchange, key: jwk.JWK, jti: str | None) -> None:
    assertion = sign(key, jti=jti)
    assert exchange(assertion).status_code == 200
    refused(exchange(assertion), "before")


def test_another_key_is_refused(published: str, exchange: Exchange, key: jwk.JWK) -> None:
    refused(exchange(sign(new_key())), "keys")
    refused(exchange(sign(new_key("two"))), "keys")


@pytest.mark.parametrize("assertion", ["x", "a.b.c", "..", "{}", "e30.e30.", "x" * 20000])
def test_what_is_no_assertion_is_refused(published: str, exchange: Exchange, assertion: str) -> None:
    refused(exchange(assertion))


def test_neither_an_unsigned_nor_a_symmetric_assertion_counts(published: str, exchange: Exchange, key: jwk.JWK) -> None:
    def part(value: Any) -> str:
        return str(base64url_encode(json.dumps(value)))

    claims = {"iss": CLIENT, "sub": CLIENT, "aud": TOKEN, "exp": int(time.time()) + 300}
    refused(exchange(f"{part({'alg': 'none'})}.{part(claims)}."), "alg")
    # The public key as the secret of a MAC, which a careless server takes for the signature's.
    secret = jwk.JWK(kty="oct", k=part(public(key)))
    token = jws.JWS(json.dumps(claims))
    token.add_signature(secret, None, json.dumps({"alg": "HS256"}))
    refused(exchange(token.serialize(compact=True)), "alg")


def test_a_client_with_keys_has_no_other_way_in(published: str, exchange: Exchange, key: jwk.JWK) -> None:
    refused(exchange(None))
    secret = Client.objects.get().application.client_secret
    refused(exchange(None, client_secret=secret))
    refused(exchange(sign(key), client_secret="x"), "one way")
    refused(exchange(sign(key), client_assertion_type="other"), "client_assertion_type")


def test_an_assertion_of_another_client_proves_nothing(
    published: str, exchange: Exchange, internet: Web, key: jwk.JWK
) -> None:
    other = "https://client.test/other.json"
    internet.put("/other.json", {**REAL["one that says the least"], "client_id": other, "jwks_uri": KEYS})
    refused(exchange(sign(key), client_id=other), "sub")


def test_a_client_that_offers_none_need_not_sign_and_may(internet: Web, exchange: Exchange, key: jwk.JWK) -> None:
    internet.put("/oauth/jwks.json", public(key))
    internet.put("/oauth/client.json", {**REAL["ChatGPT"], "client_id": CLIENT})
    assert exchange(None).status_code == 200
    assert exchange(sign(key)).status_code == 200
    refused(exchange(sign(new_key())), "keys")


def test_keys_are_held_and_read_anew_for_a_client_that_changed_them(
    published: str, exchange: Exchange, internet: Web, key: jwk.JWK
) -> None:
    for _time in range(2):
        assert exchange(sign(key)).status_code == 200
    assert internet.paths.count("/oauth/jwks.json") == 1
    new = new_key("two")
    internet.put("/oauth/jwks.json", public(new))
    assert exchange(sign(new)).status_code == 200
    refused(exchange(sign(key)), "keys")


def test_wrong_signatures_make_us_fetch_only_so_often(published: str, exchange: Exchange, internet: Web) -> None:
    for _time in range(13):
        refused(exchange(sign(new_key())))
    assert internet.paths.count("/oauth/jwks.json") == 10
    Tally.objects.all().delete()


def test_keys_that_cannot_be_read_are_said_to_be(
    published: str, exchange: Exchange, internet: Web, key: jwk.JWK
) -> None:
    internet.pages.pop("/oauth/jwks.json")
    refused(exchange(sign(key)), "could not be read")
    internet.put("/oauth/jwks.json", {"keys": "none"})
    refused(exchange(sign(key)), "keys")


@pytest.mark.parametrize(
    ("options", "algorithm"),
    [
        ({"kty": "RSA", "size": 2048}, "RS256"),
        ({"kty": "RSA", "size": 2048}, "PS256"),
        ({"kty": "EC", "crv": "P-384"}, "ES384"),
        ({"kty": "OKP", "crv": "Ed25519"}, "EdDSA"),
    ],
)
def test_every_algorithm_that_the_metadata_list_works(
    internet: Web, exchange: Exchange, options: dict[str, Any], algorithm: str
) -> None:
    generated = (
        {name: value for name, value in options.items() if name != "crv"} if options["kty"] == "RSA" else options
    )
    key = jwk.JWK.generate(**generated, kid="one")
    members = {"token_endpoint_auth_method": "private_key_jwt", "jwks": public(key)}
    internet.put("/oauth/client.json", {**REAL["one that says the least"], "client_id": CLIENT, **members})
    assert exchange(sign(key, {"alg": algorithm})).status_code == 200


def test_a_client_that_registered_its_keys_signs_too(flow: Flow, exchange: Exchange, key: jwk.JWK) -> None:
    made = register(
        redirect_uris=[CALLBACK], token_endpoint_auth_method="private_key_jwt", jwks=public(key), client_name="Robot"
    )
    client_id = made["client_id"]
    assert "client_secret" not in made
    response = exchange(sign(key, iss=client_id, sub=client_id), client_id=client_id)
    assert response.status_code == 200
    revoked = flow.browser.post(
        "/oauth/revoke_token/",
        {
            "token": response.json()["refresh_token"],
            "client_assertion": sign(key, iss=client_id, sub=client_id),
            "client_assertion_type": ASSERTION_TYPE,
        },
    )
    assert revoked.status_code == 200, revoked.content
