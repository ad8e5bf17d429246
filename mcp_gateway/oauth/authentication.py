"""Who sends a request: its ``Authorization`` header judged with one statement.

django-oauth-toolkit stores the tokens; `check_request` reads them with a statement of its own (`token_query`) and
comes to the toolkit's verdicts, plus those the toolkit leaves out: the token's user and client must be enabled, a
scope counts only while its client may ask for it and its user grant it, and the token must be bound to the endpoint
it is sent to (RFC 8707; MCP specification, authorization, token audience binding).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import AnonymousUser
from django.utils.functional import SimpleLazyObject
from oauth2_provider.settings import oauth2_settings
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed

from mcp_gateway import registry
from mcp_gateway.conf import gateway_settings
from mcp_gateway.oauth import audience, issuers, personal, token_query, verdicts
from mcp_gateway.oauth.challenge import INVALID_TOKEN, challenge
from mcp_gateway.oauth.scopes import requestable, still_allowed
from mcp_gateway.rights import ANONYMOUS, Principal, not_grantable

if TYPE_CHECKING:
    from rest_framework.request import Request

# RFC 6750 section 2.1: credentials = "Bearer" 1*SP b64token; RFC 9110 section 11.1: a scheme has no case.
_CREDENTIALS = re.compile(r"bearer +([A-Za-z0-9\-._~+/]+=*)", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Checked:
    """A request that may go on: the generation it saw, and who sends it."""

    generation: int
    principal: Principal


class InvalidToken(Exception):
    """The header is not one valid token for this endpoint: answer 401 ``invalid_token`` (RFC 6750 section 3.1).

    ``description`` may be shown to the client; ``generation`` is the one the request saw.
    """

    def __init__(self, description: str, generation: int) -> None:
        super().__init__(description)
        self.description = description
        self.generation = generation


def check_request(authorization: str | None, slug: str) -> Checked:
    """Judge the ``Authorization`` header of a request to an endpoint.

    Parameters: the header's value as the server hands it over, None where there is no header; the endpoint's slug.
    Without a header the caller is anonymous. Raises `InvalidToken` for every header that is not exactly one valid
    Bearer token bound to the endpoint; scopes are judged later. One statement, two where the OAuth tables live in
    another database, one more for a token that does not exist, one for a
    scope that is kept to groups, and once an hour one that notes the use of a personal access token.

    An endpoint may trust another issuer: then its tokens count and ours do not, and `mcp_gateway.oauth.issuers` judges
    them, with one statement for the generation and one for the user. Raises its `IssuerUnavailable` where that issuer
    cannot be asked.
    """
    if authorization is None:
        return Checked(token_query.generation(), ANONYMOUS)
    credentials = _CREDENTIALS.fullmatch(authorization.strip(" \t"))
    if credentials is None:
        raise InvalidToken("The Authorization header must hold exactly one Bearer token.", token_query.generation())
    if slug in gateway_settings.issuers:
        return _issued_elsewhere(credentials[1], slug)
    checksum = token_query.checksum_of(credentials[1])
    statement, row = token_query.look_up(checksum)
    if row is None:
        raise InvalidToken("The access token is unknown or was revoked.", token_query.generation())
    verdict, user = verdicts.known(checksum, slug, row), None
    if verdict is None:
        found = token_query.found(statement, row)
        verdict, user = _judge(found, authorization, slug), found.user
        verdicts.keep(checksum, slug, verdict)
    else:
        # As Django's own request.user: most handlers do not look at it. What a log says of it has nothing of the row,
        # where a user's password is.
        user = SimpleLazyObject(lambda: token_query.user_of(statement, row))
    principal, snapshot = verdict.principal, verdict.snapshot
    scopes = principal.scopes
    if snapshot.restricted:
        scopes -= not_grantable(user, scopes, snapshot)
    if principal.fixed_scopes:
        personal.note_use(verdict.token_pk)
    return Checked(snapshot.generation, principal.of(user, scopes))


def _judge(found: token_query.Found, authorization: str, slug: str) -> verdicts.Verdict:
    """What a token that exists is good for. Raises `InvalidToken` for one that does not count here."""
    token: Any = found.token
    problem = _problem(found, authorization, slug)
    if problem:
        raise InvalidToken(problem, found.generation)
    snapshot = registry.snapshot(found.generation)
    may_request = requestable(found.application, snapshot)
    client_id = found.application.client_id if found.application is not None else ""
    principal = Principal(
        scopes=still_allowed(token.scope.split(), may_request, snapshot),
        client_id=client_id,
        application_id=token.application_id,
        may_request=may_request,
        authenticated=True,
        acts_for_itself=token.user_id is None,
        fixed_scopes=client_id == personal.CLIENT_ID,
    )
    return verdicts.Verdict(found.row, snapshot, token.expires, token.pk, principal)


def _issued_elsewhere(token: str, slug: str) -> Checked:
    trusted = gateway_settings.issuers[slug]
    if trusted.introspection_uri:
        # A token of ours that somebody brings to the wrong endpoint is nobody else's business.
        found = token_query.find(token)
        if found.token is not None:
            raise InvalidToken("The access token was issued for another resource.", found.generation)
        generation = found.generation
    else:
        generation = token_query.generation()
    snapshot = registry.snapshot(generation)
    if slug not in snapshot.endpoints:
        raise InvalidToken("There is no such endpoint.", generation)
    try:
        return Checked(generation, issuers.principal_of(token, slug, trusted, snapshot))
    except issuers.Untrusted as error:
        raise InvalidToken(str(error), generation) from None


def _problem(found: token_query.Found, authorization: str, slug: str) -> str:
    """Why the token does not count here, or an empty string; validity first, then audience."""
    token: Any = found.token
    if token.is_expired():
        return "The access token has expired."
    if found.user is not None and not getattr(found.user, "is_active", True):
        return "The access token's user is disabled."
    if token.user_id is None and not found.owner_enabled:
        # Nobody else answers for what a client does by itself.
        return "The owner of the access token's client is disabled."
    if found.user is None:
        return "The access token is nobody's, and its client has no service user."
    if not found.client_enabled:
        return "The access token's client is disabled."
    if found.application is not None and not is_usable(found.application, authorization, slug):
        return "The access token's client may not be used."
    if oauth2_settings.DCR_REGISTRATION_SCOPE in token.scope.split():
        return "The token manages a client registration; it is no access token."
    if token.resource:
        if not audience.is_for(token.resource, slug):
            return "The access token was issued for another resource."
    elif not gateway_settings.allow_tokens_without_audience:
        return "The access token is bound to no resource; ask for one with the resource parameter."
    return ""


def is_usable(application: Any, authorization: str, slug: str) -> bool:
    """The project's own word on its application, asked as the toolkit asks it.

    ``authorization`` is empty where nobody sends a token: a task is run after its request.
    """
    if not token_query.overrides_is_usable():
        return True
    from oauthlib.common import Request as OAuthlibRequest

    headers = {"Authorization": authorization} if authorization else {}
    request = OAuthlibRequest(audience.resource_url(slug), http_method="POST", headers=headers)
    return bool(application.is_usable(request))


class BearerAuthentication(BaseAuthentication):
    """The same check as a Django REST framework authenticator.

    ``request.user`` is the token's user (`AnonymousUser` for a client that acts for itself), ``request.auth`` the
    `Checked`. The endpoint is the one the URL's ``slug`` names, else ``slug`` of the class.
    """

    slug = ""

    def authenticate(self, request: Request) -> tuple[Any, Checked] | None:
        """The caller, or None for a request without an ``Authorization`` header."""
        authorization = request.META.get("HTTP_AUTHORIZATION")
        if authorization is None:
            return None
        try:
            checked = check_request(authorization, self.endpoint_slug(request))
        except InvalidToken as error:
            failed = AuthenticationFailed(error.description, code=INVALID_TOKEN)
            raise failed from None
        return checked.principal.user or AnonymousUser(), checked

    def authenticate_header(self, request: Request) -> str:
        """The challenge of a 401: the endpoint's baseline scopes, ``invalid_token`` only where a token was sent."""
        slug = self.endpoint_slug(request)
        endpoint = registry.latest().endpoints.get(slug)
        sent = "HTTP_AUTHORIZATION" in request.META
        return challenge(
            slug,
            trailing_slash=bool(request.path.endswith("/")),
            scopes=endpoint.baseline if endpoint else (),
            error=INVALID_TOKEN if sent else "",
        )

    def endpoint_slug(self, request: Request) -> str:
        """Which endpoint a request came to."""
        match = request.resolver_match
        return str(match.kwargs.get("slug", self.slug)) if match else self.slug
