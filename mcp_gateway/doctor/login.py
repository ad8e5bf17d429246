"""Steps at the authorization server: ask people, get a token, give it back."""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY

from mcp_gateway.doctor.pages import Form
from mcp_gateway.doctor.registering import CALLBACK
from mcp_gateway.doctor.report import Level
from mcp_gateway.doctor.visit import Visit
from mcp_gateway.doctor.web import Reply
from mcp_gateway.oauth.scopes import self_service

_MOST_REDIRECTS = 6


def login_page(visit: Visit) -> None:
    """Where a person who is not logged in comes to."""
    reply = _follow(visit, authorize_url(visit))
    if reply is None:
        return
    if urlsplit(reply.url).netloc != urlsplit(visit.issuer).netloc:
        visit.say("login", Level.NOTE, f"People log in at {urlsplit(reply.url).netloc}; that was not looked at.")
        return
    form = Form(reply.body)
    if not form.asks_password:
        visit.say("login", Level.NOTE, f"People log in at {reply.url.partition('?')[0]}, without a password there.")
        return
    # Without name and password: the form is judged, and nobody's login is tried.
    fields = dict.fromkeys(form.fields, "") | {
        name: value for name, value in form.fields.items() if name == "csrfmiddlewaretoken"
    }
    sent = visit.web.post_form(reply.url, fields, as_browser=True)
    if sent.status == 403:
        visit.say(
            "login",
            Level.FAULT,
            f"The form at {reply.url.partition('?')[0]} is refused with 403 as forged.",
            "opens the browser, and nobody can log in.",
            'Behind a TLS proxy set SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") or '
            f'CSRF_TRUSTED_ORIGINS = ["{visit.origin}"], and let the proxy pass Host and cookies.',
            "mcp_gateway.I002",
        )
    elif sent.status >= 500:
        visit.say(
            "login",
            Level.FAULT,
            f"The form at {reply.url.partition('?')[0]} is answered {sent.shown}.",
            "opens the browser, and nobody can log in.",
            "The site's log says what broke.",
        )
    else:
        visit.say("login", Level.OK, f"People log in at {reply.url.partition('?')[0]}, and the form is accepted.")


def _follow(visit: Visit, url: str) -> Reply | None:
    """Go on to the first page, as a browser does; None with a finding where there is none."""
    reply = visit.web.ask("GET", url, with_cookies=True)
    for _ in range(_MOST_REDIRECTS):
        if not reply.location:
            break
        answer = _answer(reply)
        if answer:
            said = ": ".join(filter(None, (answer.get("error", "a code"), answer.get("error_description"))))
            visit.say(
                "authorize",
                Level.FAULT,
                f"The authorization endpoint sent the client back at once with {said}",
                "shows this error, and nobody is asked.",
                _cure_of(visit, answer.get("error", "")),
            )
            return None
        if urlsplit(url).scheme == "https" and reply.location.startswith("http:"):
            visit.say(
                "authorize",
                Level.FAULT,
                f"{url.partition('?')[0]} redirects from https to {reply.location.partition('?')[0]}.",
                "opens the browser, which leaves TLS, or runs in a circle.",
                'Set SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https").',
                "mcp_gateway.I002",
            )
            return None
        if urlsplit(reply.location).netloc != urlsplit(url).netloc:
            return Reply(reply.location, reply.status, reply.headers, b"")
        reply = visit.web.ask("GET", reply.location, with_cookies=True)
    if reply.status == 200 and reply.is_page:
        return reply
    visit.say(
        "authorize",
        Level.FAULT,
        f"The way from the authorization endpoint ends at {reply.url.partition('?')[0]}: {reply.shown}.",
        "opens the browser, and the person sees no login.",
        'Set LOGIN_URL to your login page, or LOGIN_URL = "oauth2_provider:login".',
        "mcp_gateway.W005",
    )
    return None


def _cure_of(visit: Visit, error: str) -> str:
    """How to mend that the authorization endpoint asks nobody."""
    asked = visit.scopes.split()
    cures = []
    if visit.snapshot is not None and visit.slug is not None:
        enabled, mine = visit.snapshot.scopes.keys(), self_service()
        gone = sorted({*asked, *visit.snapshot.endpoints[visit.slug].baseline} - enabled)
        kept = [name for name in asked if name in enabled and name not in mine]
        if gone:
            cures.append(
                f"A client needs {' and '.join(gone)}, which no enabled scope is: enable it in admin, under Scopes, or "
                "take it from the endpoint's baseline and the tools."
            )
        if kept:
            cures.append(f"Tick self-service on {' and '.join(kept)} in admin, under Scopes.")
    if not cures and error == "access_denied":
        cures.append(
            f"In admin, under Scopes, see to which groups {' and '.join(asked) or 'the scopes'} are kept, or name a "
            "--user who may grant them."
        )
    return " ".join(cures) or "Mend what the error names; scopes must be enabled and self-service in admin."


_VERIFIER = secrets.token_urlsafe(48)
_STATE = secrets.token_urlsafe(16)


def authorize_url(visit: Visit, **changed: str) -> str:
    """An authorization request of the client that was registered, with other parameters."""
    digest = hashlib.sha256(_VERIFIER.encode()).digest()
    query = {
        "response_type": "code",
        "client_id": str(visit.client.get("client_id", "")),
        "redirect_uri": CALLBACK,
        "state": _STATE,
        "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
        "resource": visit.url,
        **({"scope": visit.scopes} if visit.scopes else {}),
        **changed,
    }
    where = str(visit.server["authorization_endpoint"])
    return f"{where}{'&' if '?' in where else '?'}{urlencode(query)}"


def _answer(reply: Reply) -> dict[str, str]:
    """What the client reads from the redirect to its callback; empty for any other answer."""
    if not reply.location.startswith(CALLBACK):
        return {}
    return {name: values[0] for name, values in parse_qs(urlsplit(reply.location).query).items()}


def token_endpoint(visit: Visit) -> None:
    """It answers errors as clients can read them."""
    reply = _exchange(visit, {"grant_type": "authorization_code", "code": "mcp-doctor-no-such-code"})
    error = (reply.document or {}).get("error")
    if reply.status in (400, 401) and error == "invalid_grant":
        visit.say("token endpoint", Level.OK, "A code that nobody issued is refused with invalid_grant, in JSON.")
        return
    visit.say(
        "token endpoint",
        Level.FAULT,
        f"A code that nobody issued was answered {reply.shown} {error or ''}; 400 invalid_grant was expected.",
        "reports a broken server when it brings its code.",
        "Let the proxy pass POST with its body on to the token endpoint, without redirects.",
    )


def _exchange(visit: Visit, fields: dict[str, str]) -> Reply:
    sent = {
        "client_id": str(visit.client["client_id"]),
        "redirect_uri": CALLBACK,
        "code_verifier": _VERIFIER,
        "resource": visit.url,
        **fields,
    }
    return visit.web.post_form(str(visit.server["token_endpoint"]), sent, {"Accept": "application/json"})


def consent(visit: Visit) -> bool:
    """Log the user in by a session of our own, press “Allow”, exchange the code; False where there is no token."""
    if visit.options.user is None or visit.slug is None:
        visit.say(
            "token",
            Level.SKIPPED,
            "No token was asked for: name a user of this site with --user, in whose name the doctor may log in."
            if visit.slug is not None
            else "No token was asked for: the address is none of this site's endpoints.",
        )
        return False
    with _session(visit):
        _unknown_resource(visit)
        page = _follow(visit, authorize_url(visit))
        if page is None:
            return False
        form = Form(page.body)
        allow = [button for button in form.buttons if button[0] == "allow"]
        if not allow:
            visit.say(
                "consent",
                Level.FAULT,
                f"A logged-in person does not see the consent page but {page.url.partition('?')[0]}.",
                "waits for an answer that nobody can give.",
                "Give the server and this command the same database, SECRET_KEY and SESSION_ENGINE, and let the proxy "
                "pass cookies.",
            )
            return False
        answered = visit.web.post_form(page.url, {**form.fields, **dict(allow[:1])}, as_browser=True)
    answer = _answer(answered)
    policy = answered.header("Content-Security-Policy") or page.header("Content-Security-Policy")
    if "form-action" in policy and urlsplit(CALLBACK).netloc not in policy and "form-action *" not in policy:
        visit.say(
            "consent",
            Level.FAULT,
            f"The consent page is sent with the policy “{policy}”.",
            "in Chromium never gets its answer: the browser stops at the redirect.",
            "Let no proxy or middleware replace the Content-Security-Policy of the consent page.",
        )
        return False
    if "code" not in answer:
        said = answer.get("error_description") or answer.get("error") or answered.shown
        visit.say(
            "consent",
            Level.FAULT,
            f"Pressing “Allow” gave no code: {said}",
            "reports that the login failed.",
            "403 means that the form was taken for a forged one: see SECURE_PROXY_SSL_HEADER and CSRF_TRUSTED_ORIGINS.",
            "mcp_gateway.I002",
        )
        return False
    if answer.get("iss") != visit.issuer or answer.get("state") != _STATE:
        visit.say(
            "consent",
            Level.FAULT,
            f"The answer carries iss={answer.get('iss')}; {visit.issuer} was expected.",
            "refuses it as a mix-up attack (RFC 9207).",
            'Set ZOLINGA["PUBLIC_URL"] to the address that clients use.',
        )
        return False
    visit.say(
        "consent", Level.OK, f"{visit.options.user} was asked, and the answer went back with code, state and iss."
    )
    reply = _exchange(visit, {"grant_type": "authorization_code", "code": answer["code"]})
    document = reply.document or {}
    if reply.status != 200 or not isinstance(document.get("access_token"), str):
        visit.say(
            "token",
            Level.FAULT,
            f"The code was answered {reply.shown} {document.get('error', '')}.",
            "reports that the login failed.",
            "The OAuth events in admin and the site's log say why.",
        )
        return False
    visit.token = document
    visit.say(
        "token",
        Level.OK,
        f"A token for {document.get('expires_in')} seconds, scopes {document.get('scope')}, "
        f"{'with' if document.get('refresh_token') else 'without'} a refresh token.",
    )
    return True


def _unknown_resource(visit: Visit) -> None:
    """RFC 8707 section 2: no token is promised for an endpoint that is not there."""
    url = authorize_url(visit, resource=f"{visit.origin}/mcp-doctor-no-such-endpoint")
    reply = visit.web.ask("GET", url, with_cookies=True)
    if _answer(reply).get("error") == "invalid_target":
        visit.say("resource", Level.OK, "A token for another resource is refused with invalid_target.")
    elif reply.location and not _answer(reply):
        # To the login page: the session does not count, which the next step says.
        return
    else:
        visit.say(
            "resource",
            Level.FAULT,
            f"An authorization for a resource that is not there was answered {reply.status}.",
            "gets a token that is good nowhere.",
            'Serve the authorization server by path("oauth/", include("mcp_gateway.oauth.urls")).',
            "mcp_gateway.W003",
        )


@contextmanager
def _session(visit: Visit) -> Iterator[None]:
    """A session in which the user is logged in, for as long as it is needed."""
    user: Any = visit.options.user
    session: Any = import_module(settings.SESSION_ENGINE).SessionStore()
    session[SESSION_KEY] = user._meta.pk.value_to_string(user)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.create()
    visit.web.cookies = {settings.SESSION_COOKIE_NAME: session.session_key}
    try:
        yield
    finally:
        visit.web.cookies = {}
        session.delete()


def refresh(visit: Visit) -> None:
    """A refresh token is good once, and keeps the scopes."""
    old = visit.token.get("refresh_token")
    if not old:
        return
    reply = _exchange(visit, {"grant_type": "refresh_token", "refresh_token": str(old)})
    document = reply.document or {}
    if reply.status == 200 and document.get("scope") == visit.token.get("scope"):
        visit.token = document
        visit.say("refresh", Level.OK, "The token was renewed with the same scopes.")
        return
    visit.say(
        "refresh",
        Level.FAULT,
        f"Renewing the token was answered {reply.shown} {document.get('error', '')}.",
        "makes people log in again every few minutes.",
        "The OAuth events in admin and the site's log say why.",
    )


def revoke(visit: Visit) -> None:
    """A token that is given back is good nowhere, at once and in every worker."""
    where, token = visit.server.get("revocation_endpoint"), str(visit.token["access_token"])
    if not where:
        return
    fields = {"token": token, "client_id": str(visit.client["client_id"])}
    reply = visit.web.post_form(str(where), fields)
    after = [visit.send("tools/list", token=token).status for _ in range(4)]
    if reply.status == 200 and set(after) == {401}:
        visit.say("revocation", Level.OK, "The token was given back, and is refused from then on.")
        return
    visit.say(
        "revocation",
        Level.FAULT,
        f"Giving the token back was answered {reply.shown}; afterwards it was answered {after}.",
        "that was thrown out goes on.",
        "All workers must use the same database.",
    )
