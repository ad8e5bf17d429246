"""What the authorization server asks of a request that concerns one of our endpoints.

`GatewayValidator` is put before the project's own validator class on our views alone. Requests that do not concern
the gateway go through it to the project's class untouched, but for one rule: a client that an administrator
disabled gets nothing.
"""

from __future__ import annotations

import re
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

from django.utils import timezone
from oauth2_provider.models import get_device_grant_model, get_grant_model
from oauth2_provider.settings import oauth2_settings
from oauthlib.oauth2.rfc6749 import errors
from oauthlib.oauth2.rfc8628.grant_types import DeviceCodeGrant

from mcp_gateway import registry
from mcp_gateway.oauth import audience, families, machines, scopes
from mcp_gateway.oauth.binding import InvalidTarget, bind, endpoint, narrow
from mcp_gateway.oauth.client_authentication import ClientValidator
from mcp_gateway.oauth.registration import awaits_approval, registered_itself
from mcp_gateway.oauth.rotation import FamilyValidator
from mcp_gateway.rights import not_grantable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Seconds an access token for an endpoint lives where the project does not say ``ACCESS_TOKEN_EXPIRE_SECONDS``
#: (OAuth 2.1 section 7.1.3.4 and the MCP specification want them short).
ACCESS_TOKEN_SECONDS = 900

#: How long after its access token a refresh token for an endpoint may lie unused, where the project does not say
#: ``REFRESH_TOKEN_EXPIRE_SECONDS`` (RFC 9700 section 4.14.2).
REFRESH_TOKEN_IDLE = timedelta(days=30)

# RFC 7636 section 4.2; the toolkit's column ends at 128 characters.
_CODE_CHALLENGE = re.compile(r"[A-Za-z0-9\-._~]{43,128}")


class GatewayValidator(FamilyValidator, ClientValidator):
    """Mixin before an ``oauth2_provider.oauth2_validators.OAuth2Validator``.

    The endpoint of a request, once found, is kept in its ``mcp_endpoint``: set by us as an attribute, never read
    from its parameters.
    """

    # Authorization endpoint

    def validate_response_type(
        self, client_id: str, response_type: str, client: Any, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        """The first step after client and redirect URI are known: find the endpoint, and allow only ``code``."""
        if self._bind(request) is not None and response_type != "code":
            raise errors.UnsupportedResponseTypeError(request=request)
        return bool(super().validate_response_type(client_id, response_type, client, request, *args, **kwargs))  # type: ignore[misc]

    def is_pkce_required(self, client_id: str, request: Any) -> bool:
        """Always, and only with S256 (MCP specification, authorization, authorization code protection)."""
        if endpoint(request) is None:
            return bool(super().is_pkce_required(client_id, request))  # type: ignore[misc]
        challenge = request.code_challenge
        if challenge is not None:
            if request.code_challenge_method != "S256":
                raise errors.UnsupportedCodeChallengeMethodError(request=request)
            if not _CODE_CHALLENGE.fullmatch(challenge):
                raise errors.InvalidRequestError("The code_challenge is not one of RFC 7636.", request=request)
        return True

    def validate_scopes(
        self, client_id: str, scopes_: list[str], client: Any, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        """Every scope must be one that this client may ask for.

        A client that registered itself asks for what the metadata list, for want of knowing better: what it cannot
        have is left out, as RFC 6749 section 3.3 allows, unless nothing would be left.
        """
        if endpoint(request) is None:
            return bool(super().validate_scopes(client_id, scopes_, client, request, *args, **kwargs))  # type: ignore[misc]
        may = set(scopes.available(client, request, registry.snapshot()))
        if not scopes.is_manual(client) and not may.isdisjoint(scopes_):
            scopes_[:] = [scope for scope in scopes_ if scope in may]
        return may.issuperset(scopes_) and not self._withheld(request, scopes_)

    def get_default_scopes(self, client_id: str, request: Any, *args: Any, **kwargs: Any) -> list[str]:
        """What a client gets that names no scope."""
        slug = endpoint(request)
        if slug is None:
            return list(super().get_default_scopes(client_id, request, *args, **kwargs))  # type: ignore[misc]
        names = scopes.defaults(request.client, registry.snapshot(), slug)
        withheld = self._withheld(request, names)
        return [name for name in names if name not in withheld]

    # Token endpoint

    def validate_grant_type(
        self, client_id: str, grant_type: str, client: Any, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        """For our endpoints a code, its refreshes, and clients that an administrator lets act for themselves.

        RFC 9700 section 2.4 rules out the password grant; with a device code nobody agreed to an endpoint. Raises
        ``UnauthorizedClientError`` with what an administrator can do.
        """
        ours = grant_type not in ("authorization_code", "refresh_token") and self._bind(request) is not None
        if ours and grant_type != "client_credentials":
            description = "For an MCP endpoint use the authorization code flow."
            raise errors.UnauthorizedClientError(description=description, request=request)
        allowed = bool(super().validate_grant_type(client_id, grant_type, client, request, *args, **kwargs))  # type: ignore[misc]
        problem = machines.problem(client, machines.service_user(client)) if ours and allowed else ""
        if problem:
            raise errors.UnauthorizedClientError(description=problem, request=request)
        return allowed

    def validate_device_code(self, client_id: str, code: str, request: Any, *args: Any, **kwargs: Any) -> str | None:
        """RFC 8628 section 3.5, for a project's own clients: oauthlib 4 asks it, and the toolkit has no answer.

        The toolkit's view has answered for codes that nobody agreed to yet, and taken user and scopes from the code.
        """
        own = getattr(super(), "validate_device_code", None)
        if own is not None:
            theirs: str | None = own(client_id, code, request, *args, **kwargs)
            return theirs
        device = get_device_grant_model().objects.filter(device_code=code, client_id=client_id).first()
        if device is None:
            return None
        return str(
            DeviceCodeGrant.DEVICE_CODE_EXPIRED if device.is_expired() else DeviceCodeGrant.DEVICE_CODE_AUTHORIZED
        )

    def validate_code(self, client_id: str, code: str, client: Any, request: Any, *args: Any, **kwargs: Any) -> bool:
        """The code's owner must still be enabled, and the exchange must not reach for another endpoint.

        From here on the request holds the code as it is stored, and what of its scopes can still be had.
        """
        request.code = code = families.shown(code)
        if not super().validate_code(client_id, code, client, request, *args, **kwargs):  # type: ignore[misc]
            self.end_family(families.family_of(code), request)
            return False
        if not getattr(request.user, "is_active", True):
            return False
        grant = get_grant_model().objects.filter(code=code, application=client).first()
        if grant is None:
            raise self.used_twice(code, request)
        self._narrow(request, grant.resource)
        if endpoint(request) is not None:
            request.scopes = self._still_to_be_had(request, request.scopes)
        return True

    def get_authorization_code_scopes(self, client_id: str, code: str, redirect_uri: str, request: Any) -> list[str]:
        """What a project with OpenID Connect asks first, to tell its kinds of code apart."""
        shown = families.shown(code) if code else code
        return list(super().get_authorization_code_scopes(client_id, shown, redirect_uri, request))  # type: ignore[misc]

    def validate_refresh_token(self, refresh_token: str, client: Any, request: Any, *args: Any, **kwargs: Any) -> bool:
        """As for a code. A token that was used before ends its family, but for the moment in which another window
        of the same client may have used it (`mcp_gateway.oauth.families`).
        """
        found = families.find(refresh_token, client.pk)
        if found is None:
            valid = bool(super().validate_refresh_token(refresh_token, client, request, *args, **kwargs))  # type: ignore[misc]
        else:
            # Held, because the toolkit reads it anew, and takes one that was used in between for a stolen one.
            with families.held(found) as row:
                if row is not None and row.revoked is None:
                    valid = not _lay_unused(row) and bool(
                        super().validate_refresh_token(refresh_token, client, request, *args, **kwargs)  # type: ignore[misc]
                    )
                else:
                    valid = row is not None and families.is_in_grace(row)
                    request.user, request.refresh_token, request.refresh_token_instance = found.user, refresh_token, row
            if row is not None and row.revoked is not None and not valid:
                self.end_family(row.token_family, request)
        if not valid or not getattr(request.user, "is_active", True):
            return False
        self._narrow(request, request.refresh_token_instance.resource)
        return True

    def get_original_scopes(self, refresh_token: str, request: Any, *args: Any, **kwargs: Any) -> list[str]:
        """What a refresh may ask for, and gets without asking: what was granted, the client may still have and the user
        still grant.
        """
        granted = super().get_original_scopes(refresh_token, request, *args, **kwargs)  # type: ignore[misc]
        words = granted.split() if isinstance(granted, str) else list(granted)
        return words if endpoint(request) is None else self._still_to_be_had(request, words)

    def lifetime(self, request: Any) -> int:
        """Seconds an access token lives: the project's word, else ours at our endpoints."""
        configured: Any = oauth2_settings.ACCESS_TOKEN_EXPIRE_SECONDS
        if endpoint(request) is not None and "ACCESS_TOKEN_EXPIRE_SECONDS" not in oauth2_settings.user_settings:
            return ACCESS_TOKEN_SECONDS
        if callable(configured):
            configured = configured(request)
        return int(configured.total_seconds() if isinstance(configured, timedelta) else configured)

    # All

    def _load_application(self, client_id: str, request: Any) -> Any:
        application = super()._load_application(client_id, request)
        if application is not None:
            client = registry.snapshot().clients.get(application.pk)
            if client is not None and not client.enabled:
                request.client = None
                if not request.grant_type and awaits_approval(application):
                    text = "The client has not been approved yet."
                    raise errors.InvalidClientIdError(text, request=request)
                if not request.grant_type and request.response_type:
                    text = "An administrator has disabled the client."
                    raise errors.InvalidClientIdError(text, request=request)
                return None
        return application

    def _still_to_be_had(self, request: Any, granted: Iterable[str]) -> list[str]:
        """Of the scopes that were agreed to, those that exist, the client may have and the user may grant.

        Raises ``InvalidGrantError`` where none is left: the client has to ask anew.
        """
        words = [name for name in dict.fromkeys(granted) if name]
        snapshot = registry.snapshot()
        may = set(scopes.available(request.client, request, snapshot)) - not_grantable(request.user, words, snapshot)
        left = [name for name in words if name in may]
        if words and not left:
            description = "None of the scopes that were agreed to can be had any more."
            raise errors.InvalidGrantError(description=description, request=request)
        return left

    def _withheld(self, request: Any, names: Iterable[str]) -> frozenset[str]:
        """The scopes that the user a client acts as by itself may not grant. People are asked on the consent page."""
        if request.grant_type != "client_credentials":
            return frozenset()
        return not_grantable(machines.service_user(request.client), names, registry.snapshot())

    def _bind(self, request: Any) -> str | None:
        try:
            ours = registered_itself(request.client)
            slug = bind(_resources(request), _scopes(request), registry.snapshot(), ours=ours)
        except InvalidTarget as error:
            raise _invalid_target(error, request) from None
        if slug is not None:
            _mark(request, slug, [audience.canonical_url(slug)])
        return slug

    def _narrow(self, request: Any, granted: Sequence[str]) -> None:
        try:
            slug = narrow(granted, _resources(request), registry.snapshot())
        except InvalidTarget as error:
            raise _invalid_target(error, request) from None
        if slug is not None:
            # As stored: the toolkit compares by the letter what it keeps and what it is asked for.
            _mark(request, slug, list(granted))


@cache
def validator_class(own: type[Any]) -> type[Any]:
    """The project's validator class with ours before it."""
    return own if issubclass(own, GatewayValidator) else type("GatewayValidator", (GatewayValidator, own), {})


def _lay_unused(row: Any) -> bool:
    if "REFRESH_TOKEN_EXPIRE_SECONDS" in oauth2_settings.user_settings or row.access_token is None:
        return False
    return bool(row.access_token.expires + REFRESH_TOKEN_IDLE <= timezone.now())


def _mark(request: Any, slug: str, resources: list[str]) -> None:
    request.mcp_endpoint = slug
    request.resource = resources


def _scopes(request: Any) -> list[str]:
    return list(request.scopes or (request.scope or "").split())


def _resources(request: Any) -> list[str]:
    """Every ``resource`` of a request: oauthlib keeps only the last of several."""
    if "resource" in vars(request):
        value = request.resource or []
        return [value] if isinstance(value, str) else [str(entry) for entry in value]
    try:
        sent = [*request.uri_query_params, *(request.decoded_body or [])]
    except ValueError:
        raise errors.InvalidRequestError("The query string cannot be read.", request=request) from None
    return [value for key, value in sent if key == "resource" and value]


def _invalid_target(error: InvalidTarget, request: Any) -> errors.OAuth2Error:
    """RFC 8707 section 2."""
    return errors.CustomOAuth2Error("invalid_target", description=str(error), request=request)
