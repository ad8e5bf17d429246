"""An endpoint that trusts another issuer: whose tokens count there, for whom, for what, and when nobody can say."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote_plus

import pytest
from django.contrib.auth.models import Group
from jwcrypto import jwk

from mcp_gateway import registry
from mcp_gateway.conf import gateway_settings
from mcp_gateway.models import Endpoint, Scope
from mcp_gateway.oauth.authentication import InvalidToken, check_request
from mcp_gateway.oauth.fetch import SafeFetcher
from mcp_gateway.oauth.issuers import IssuerUnavailable, introspection, keys
from mcp_gateway.rights import Principal
from tests.oauth.elsewhere import Issuer, new_key, trust

pytestmark = pytest.mark.django_db


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that have passed, as far as what is held is concerned."""
    now = [1000.0]
    monkeypatch.setattr(keys, "monotonic", lambda: now[0])
    monkeypatch.setattr(introspection, "monotonic", lambda: now[0])
    return now


@pytest.fixture(params=["keys", "asking"])
def way(request: pytest.FixtureRequest, settings: Any, issuer: Issuer) -> Callable[..., str]:
    """Runs a test for both ways of judging; gives the function that makes a token."""
    if request.param == "keys":
        trust(settings, issuer.by_keys)
        return issuer.token

    def make(**claims: Any) -> str:
        text = f"opaque{len(issuer.tokens)}"
        issuer.tokens[text] = {"active": True, **issuer.claims(**{"username": claims.get("sub", "ada"), **claims})}
        return text

    trust(settings, issuer.by_asking)
    return make


def amend(settings: Any, **more: Any) -> None:
    """Say more of the default endpoint's issuer."""
    trust(settings, settings.ZOLINGA["ISSUERS"][""], **more)


def caller(token: str, slug: str = "") -> Principal:
    return check_request(f"Bearer {token}", slug).principal


def refusal(token: str, slug: str = "") -> str:
    with pytest.raises(InvalidToken) as caught:
        caller(token, slug)
    return caught.value.description


# Who comes, and with what


def test_a_token_names_user_client_and_scopes(way: Callable[..., str], user: Any) -> None:
    principal = caller(way())
    assert (principal.user, principal.client_id, principal.application_id) == (user, "editor", None)
    assert principal.scopes == {"mcp:tools"}
    assert principal.authenticated
    assert principal.may_request is None


@pytest.mark.parametrize(
    "claims",
    [
        {"scope": "mcp:tools orders"},
        {"scope": ["mcp:tools", "orders"]},
        {"scope": None, "scp": "mcp:tools orders"},
        {"scope": None, "scp": ["orders", "mcp:tools"]},
    ],
)
def test_scopes_come_from_scope_or_scp(way: Callable[..., str], user: Any, claims: dict[str, Any]) -> None:
    Scope.objects.create(name="orders")
    assert caller(way(**claims)).scopes == {"mcp:tools", "orders"}


def test_only_enabled_scopes_count_and_they_imply_what_administrators_say(way: Callable[..., str], user: Any) -> None:
    wide = Scope.objects.create(name="orders")
    wide.implies.add(Scope.objects.create(name="orders:read"))
    Scope.objects.create(name="gone", enabled=False)
    principal = caller(way(scope="orders gone unheard-of"))
    assert principal.scopes == {"orders"}
    assert registry.snapshot().close(principal.scopes) == {"orders", "orders:read"}


def test_a_scope_kept_to_a_group_counts_for_its_members_alone(way: Callable[..., str], user: Any) -> None:
    group = Group.objects.create(name="buyers")
    Scope.objects.create(name="orders").groups.add(group)
    token = way(scope="mcp:tools orders")
    assert caller(token).scopes == {"mcp:tools"}
    user.groups.add(group)
    assert caller(token).scopes == {"mcp:tools", "orders"}


def test_users_are_found_and_never_made(way: Callable[..., str], user: Any, django_user_model: Any) -> None:
    assert refusal(way(sub="eve")) == "The access token is about nobody who is known here."
    assert [row.username for row in django_user_model.objects.all()] == ["ada"]


def test_without_a_user_a_token_is_good_for_its_scopes_where_the_site_says_so(
    way: Callable[..., str], user: Any, settings: Any
) -> None:
    amend(settings, WITHOUT_USER=True)
    principal = caller(way(sub="robot", client_id=None))
    assert principal.user is None
    assert principal.scopes == {"mcp:tools"}
    assert principal.client_id == "robot"
    assert caller(way()).user == user


@pytest.mark.parametrize("without_user", [True, False])
def test_a_disabled_user_is_out_at_the_next_request(
    way: Callable[..., str], user: Any, settings: Any, without_user: bool
) -> None:
    amend(settings, WITHOUT_USER=without_user)
    token = way()
    caller(token)
    user.is_active = False
    user.save()
    assert refusal(token) == "The access token's user is disabled."


@pytest.mark.parametrize("value", [None, "", "ADA", 5, True, ["ada"], {"ada": 1}, "a\0da", "a" * 300])
def test_a_claim_that_is_not_the_users_very_name_is_nobody(way: Callable[..., str], user: Any, value: Any) -> None:
    assert "nobody who is known" in refusal(way(sub=value, username=value))


def test_a_text_where_the_field_holds_numbers_is_nobody(way: Callable[..., str], user: Any, settings: Any) -> None:
    amend(settings, USER_CLAIM="sub", USER_FIELD="id")
    assert caller(way(sub=str(user.pk))).user == user
    assert "nobody who is known" in refusal(way(sub="ada"))


def test_an_address_that_nobody_verified_or_that_two_share_is_nobody(
    way: Callable[..., str], user: Any, settings: Any, django_user_model: Any
) -> None:
    amend(settings, USER_CLAIM="email", USER_FIELD="email")
    assert caller(way(email="ada@example.com", email_verified=True)).user == user
    assert "nobody who is known" in refusal(way(email="ada@example.com", email_verified=False))
    django_user_model.objects.create_user("eve", "ada@example.com")
    assert "nobody who is known" in refusal(way(email="ada@example.com"))


# Which tokens count


@pytest.mark.parametrize(
    "aud", ["http://testserver/mcp", "HTTP://TestServer:80/mcp/", ["https://other.example", "http://testserver/mcp"]]
)
def test_a_token_for_this_endpoint_counts(way: Callable[..., str], user: Any, aud: Any) -> None:
    assert caller(way(aud=aud)).authenticated


@pytest.mark.parametrize("aud", [None, "", [], 5, "http://testserver", "http://testserver/mcp/billing", "editor"])
def test_a_token_for_another_audience_does_not(way: Callable[..., str], user: Any, aud: Any) -> None:
    assert refusal(way(aud=aud)) == "The access token was issued for another resource."


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"iss": "https://other.example"}, "another issuer"),
        ({"exp": 1}, "has expired"),
        ({"exp": "soon"}, "exp is no number"),
        ({"exp": True}, "exp is no number"),
        ({"nbf": 4102444800}, "not good yet"),
        ({"cnf": {"jkt": "x"}}, "bound to a key"),
        ({"token_type": "DPoP"}, "bound to a key"),
        ({"token_use": "refresh_token"}, "no access token"),
    ],
)
def test_what_is_not_for_now_and_us_is_refused(
    way: Callable[..., str], user: Any, claims: dict[str, Any], reason: str
) -> None:
    assert reason in refusal(way(**claims))


def test_a_jwt_says_its_issuer_and_its_end(settings: Any, issuer: Issuer, user: Any) -> None:
    trust(settings, issuer.by_keys)
    assert "another issuer" in refusal(issuer.token(iss=None))
    assert "says no end" in refusal(issuer.token(exp=None))


def test_an_introspection_may_leave_both_out(settings: Any, issuer: Issuer, user: Any) -> None:
    trust(settings, issuer.by_asking)
    issuer.tokens["t"] = {"active": True, "aud": "http://testserver/mcp", "username": "ada", "scope": "mcp:tools"}
    assert caller("t").user == user


@pytest.mark.parametrize(
    ("alg", "key"), [("RS256", {"kty": "RSA", "size": 2048}), ("EdDSA", {"kty": "OKP", "crv": "Ed25519"})]
)
def test_other_algorithms_of_the_list_are_verified(
    settings: Any, issuer: Issuer, user: Any, alg: str, key: dict[str, Any]
) -> None:
    trust(settings, issuer.by_keys)
    issuer.keys = [jwk.JWK.generate(**key, kid="other")]
    token = issuer.token(header={"alg": alg})
    assert caller(token).user == user
    amend(settings, ALGORITHMS=["ES256"])
    assert "algorithm" in refusal(token)


def test_no_signature_and_a_shared_secret_prove_nothing(settings: Any, issuer: Issuer, user: Any) -> None:
    trust(settings, issuer.by_keys)
    head, body, _signature = issuer.token().split(".")
    none = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    public = json.dumps(issuer.keys[0].export_public(as_dict=True)).encode()
    secret = jwk.JWK(kty="oct", kid="one", k=base64.urlsafe_b64encode(public).decode().rstrip("="))
    assert "algorithm" in refusal(f"{none}.{body}.")
    assert "algorithm" in refusal(issuer.token(secret, {"alg": "HS256"}))
    assert "not signed by the issuer" in refusal(f"{head}.{body}.AAAA")
    assert "not signed by the issuer" in refusal(issuer.token(new_key("one")))


def test_a_secret_among_the_keys_signs_nothing(settings: Any, issuer: Issuer, user: Any) -> None:
    trust(settings, issuer.by_keys)
    secret = jwk.JWK.generate(kty="oct", size=256, kid="secret")
    issuer.body = json.dumps({"keys": [json.loads(secret.export())]}).encode()
    assert "algorithm" in refusal(issuer.token(secret, {"alg": "HS256"}))


@pytest.mark.parametrize("typ", ["at+jwt", "AT+JWT", "application/at+jwt", None])
def test_an_access_token_says_so_or_nothing(settings: Any, issuer: Issuer, user: Any, typ: str | None) -> None:
    trust(settings, issuer.by_keys)
    assert caller(issuer.token(header={"typ": typ})).user == user


@pytest.mark.parametrize("typ", ["JWT", "id+jwt", "logout+jwt", "", 5])
def test_another_kind_of_jwt_is_refused_unless_the_site_takes_it(
    settings: Any, issuer: Issuer, user: Any, typ: Any
) -> None:
    trust(settings, issuer.by_keys)
    token = issuer.token(header={"typ": typ})
    assert "typ is not" in refusal(token)
    if typ == "JWT":
        amend(settings, TYPES=["at+jwt", "JWT"])
        assert caller(token).user == user


@pytest.mark.parametrize("token", ["t", "a.b.c", "e30.e30.", "W10.W10.AAAA", "a.b.c.d.e", "a" * 20000 + ".b.c"])
def test_what_is_no_jwt_is_refused_without_asking(settings: Any, issuer: Issuer, token: str) -> None:
    trust(settings, issuer.by_keys)
    assert refusal(token)
    assert issuer.asked == []


def test_a_critical_header_is_refused(settings: Any, issuer: Issuer) -> None:
    trust(settings, issuer.by_keys)
    _head, body, signature = issuer.token().split(".")
    head = base64.urlsafe_b64encode(b'{"alg":"ES256","crit":["b64"],"b64":false}').decode().rstrip("=")
    assert "not known here" in refusal(f"{head}.{body}.{signature}")


# Keys that change


def test_keys_are_fetched_once_and_again_when_they_are_old(
    settings: Any, issuer: Issuer, user: Any, clock: list[float]
) -> None:
    trust(settings, issuer.by_keys)
    issuer.headers = {"Cache-Control": "max-age=600"}
    caller(issuer.token())
    caller(issuer.token())
    assert issuer.asked == ["/keys"]
    clock[0] += 600
    caller(issuer.token())
    assert issuer.asked == ["/keys", "/keys"]


def test_a_new_key_is_found_and_a_withdrawn_one_forgotten(
    settings: Any, issuer: Issuer, user: Any, clock: list[float]
) -> None:
    trust(settings, issuer.by_keys)
    old, new = issuer.keys[0], new_key("two")
    caller(issuer.token(old))
    issuer.keys = [new]
    clock[0] += 30
    assert caller(issuer.token(new)).user == user
    assert "not signed by the issuer" in refusal(issuer.token(old))


def test_made_up_keys_make_us_ask_no_oftener_than_the_setting_says(
    settings: Any, issuer: Issuer, user: Any, clock: list[float]
) -> None:
    trust(settings, issuer.by_keys, KEYS_SECONDS=60)
    caller(issuer.token())
    for number in range(5):
        assert "not signed by the issuer" in refusal(issuer.token(new_key(f"made up {number}")))
        assert "not signed by the issuer" in refusal(issuer.token(new_key(), {"kid": None}))
    assert len(issuer.asked) == 1
    clock[0] += 60
    refusal(issuer.token(new_key("made up")))
    refusal(issuer.token(new_key("made up")))
    assert len(issuer.asked) == 2


def test_a_token_that_names_no_key_is_tried_with_all_and_with_new_ones(
    settings: Any, issuer: Issuer, user: Any, clock: list[float]
) -> None:
    trust(settings, issuer.by_keys)
    issuer.keys = [new_key("one"), new_key("two")]
    assert caller(issuer.token(issuer.keys[1], {"kid": None})).user == user
    issuer.keys = [new_key("three")]
    clock[0] += 30
    assert caller(issuer.token(issuer.keys[0], {"kid": None})).user == user


def test_many_at_once_ask_for_the_keys_once(settings: Any, issuer: Issuer) -> None:
    trust(settings, issuer.by_keys)
    issuer.hold = True
    held = keys.keys_of(gateway_settings.issuers[""])
    with ThreadPoolExecutor(5) as pool:
        found = [pool.submit(held.find, "one") for _ in range(5)]
        issuer.released.set()
        assert [[key["kid"] for key in one.result()] for one in found] == [["one"]] * 5
    assert issuer.asked == ["/keys"]


# Asking what a token is worth


def test_the_introspection_is_asked_as_the_client_of_the_settings(settings: Any, issuer: Issuer, user: Any) -> None:
    trust(settings, issuer.by_asking)
    issuer.tokens["opaque"] = {"active": True, **issuer.claims(username="ada")}
    caller("opaque")
    login = base64.b64encode(f"{quote_plus('gate way')}:{quote_plus('s3cret:%')}".encode()).decode()
    assert issuer.logins == [f"Basic {login}"]
    assert issuer.forms == [{"token": ["opaque"], "token_type_hint": ["access_token"]}]
    assert issuer.asked == ["/introspect?tenant=1"]


def test_what_it_said_is_believed_for_some_seconds(
    settings: Any, issuer: Issuer, user: Any, clock: list[float]
) -> None:
    trust(settings, issuer.by_asking, CACHE_SECONDS=20)
    issuer.tokens["opaque"] = {"active": True, **issuer.claims(username="ada")}
    caller("opaque")
    issuer.tokens.clear()
    clock[0] += 19
    caller("opaque")
    assert len(issuer.asked) == 1
    clock[0] += 1
    assert "not active" in refusal("opaque")
    refusal("opaque")
    assert len(issuer.asked) == 2


def test_a_token_is_never_believed_beyond_its_end(
    settings: Any, issuer: Issuer, user: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    trust(settings, issuer.by_asking)
    issuer.tokens["opaque"] = {"active": True, **issuer.claims(username="ada", exp=2_000_000_000)}
    caller("opaque")
    monkeypatch.setattr("mcp_gateway.oauth.issuers.judge.time.time", lambda: 2_000_000_031.0)
    assert "has expired" in refusal("opaque")
    assert len(issuer.asked) == 1


def test_without_a_cache_it_is_asked_each_time(settings: Any, issuer: Issuer, user: Any) -> None:
    trust(settings, issuer.by_asking, CACHE_SECONDS=0)
    issuer.tokens["opaque"] = {"active": True, **issuer.claims(username="ada")}
    caller("opaque")
    del issuer.tokens["opaque"]
    refusal("opaque")
    refusal("opaque")
    assert len(issuer.asked) == 3


@pytest.mark.parametrize("active", ["true", 1, None, "yes"])
def test_only_true_is_active(settings: Any, issuer: Issuer, user: Any, active: Any) -> None:
    trust(settings, issuer.by_asking)
    issuer.tokens["opaque"] = {**issuer.claims(username="ada"), "active": active}
    with pytest.raises(IssuerUnavailable):
        caller("opaque")


# When nobody can say


@pytest.fixture(params=["error", "redirect", "html", "long", "list", "refused"])
def broken(request: pytest.FixtureRequest, issuer: Issuer) -> None:
    """Runs a test once for each way in which an issuer fails."""
    match request.param:
        case "error":
            issuer.status = 500
        case "redirect":
            issuer.status, issuer.headers = 302, {"Location": f"{issuer.url}/elsewhere"}
        case "html":
            issuer.headers = {"Content-Type": "text/html"}
        case "long":
            issuer.body = b'{"active": true, "x": "' + b"x" * 70_000 + b'"}'
        case "list":
            issuer.body = b"[]"
        case "refused":
            issuer.status = 401


@pytest.mark.usefixtures("broken")
def test_an_issuer_that_fails_is_503_and_nobody_passes(way: Callable[..., str], user: Any, issuer: Issuer) -> None:
    token = way()
    with pytest.raises(IssuerUnavailable) as caught:
        caller(token)
    assert 1 <= caught.value.wait <= 5
    assert "/elsewhere" not in issuer.asked


def test_an_issuer_that_is_not_there_is_503(settings: Any, issuer: Issuer, user: Any) -> None:
    for entry in (issuer.by_keys, issuer.by_asking):
        nowhere = {key: "http://127.0.0.1:9/x" for key in entry if key.endswith("_URI")}
        trust(settings, entry, **nowhere)
        with pytest.raises(IssuerUnavailable):
            caller(issuer.token())


def test_an_issuer_that_hangs_is_left_alone_after_the_time_of_the_settings(
    way: Callable[..., str], user: Any, settings: Any, issuer: Issuer
) -> None:
    amend(settings, TIMEOUT_SECONDS=1)
    issuer.hold = True
    with pytest.raises(IssuerUnavailable):
        caller(way())


def test_keys_that_could_not_be_had_are_asked_for_again_soon_but_not_at_once(
    settings: Any, issuer: Issuer, user: Any, clock: list[float]
) -> None:
    trust(settings, issuer.by_keys)
    issuer.status = 500
    for _ in range(3):
        with pytest.raises(IssuerUnavailable):
            caller(issuer.token())
    assert len(issuer.asked) == 1
    issuer.status = 200
    clock[0] += 5
    assert caller(issuer.token()).user == user


def test_held_keys_go_on_counting_until_they_are_old(
    settings: Any, issuer: Issuer, user: Any, clock: list[float]
) -> None:
    trust(settings, issuer.by_keys)
    issuer.headers = {"Cache-Control": "max-age=600"}
    caller(issuer.token())
    issuer.status = 500
    clock[0] += 599
    assert caller(issuer.token()).user == user
    clock[0] += 1
    with pytest.raises(IssuerUnavailable):
        caller(issuer.token())


def test_strangers_documents_do_not_keep_an_issuer_from_being_asked(
    way: Callable[..., str], user: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    while SafeFetcher.at_once.acquire(blocking=False):
        pass
    try:
        assert caller(way()).user == user
    finally:
        for _ in range(4):
            SafeFetcher.at_once.release()


# Ours and theirs


def test_our_tokens_are_no_good_there_and_are_not_shown_to_the_issuer(
    way: Callable[..., str], make_token: Callable[..., str], issuer: Issuer
) -> None:
    assert refusal(make_token())
    assert issuer.asked == []


def test_their_tokens_are_no_good_at_our_endpoints(way: Callable[..., str], user: Any, issuer: Issuer) -> None:
    Endpoint.objects.create(slug="billing")
    token = way(aud=["http://testserver/mcp", "http://testserver/mcp/billing"])
    assert caller(token).user == user
    assert refusal(token, "billing") == "The access token is unknown or was revoked."


def test_an_endpoint_that_is_not_there_asks_nobody(settings: Any, issuer: Issuer) -> None:
    trust(settings, issuer.by_asking, slug="billing")
    assert refusal("opaque", "billing")
    assert issuer.asked == []


def test_a_check_takes_two_statements(settings: Any, issuer: Issuer, user: Any, django_assert_num_queries: Any) -> None:
    trust(settings, issuer.by_keys)
    caller(issuer.token())
    with django_assert_num_queries(2):
        caller(issuer.token())


def test_anonymous_callers_cost_the_issuer_nothing(settings: Any, issuer: Issuer, db: None) -> None:
    trust(settings, issuer.by_asking)
    assert not check_request(None, "").principal.authenticated
    assert issuer.asked == []
