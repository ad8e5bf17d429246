"""How the tokens of our endpoints are stored, renewed and revoked: as families (`mcp_gateway.oauth.families`)."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.utils import timezone
from oauth2_provider.models import get_grant_model
from oauthlib.oauth2.rfc6749 import errors

from mcp_gateway.models import Client
from mcp_gateway.oauth import audit, families, machines
from mcp_gateway.oauth.binding import endpoint


class FamilyValidator:
    """Mixin before an ``oauth2_provider.oauth2_validators.OAuth2Validator``; requests of other clients pass through.

    The toolkit deletes a code after it stored the tokens, and lets two requests that show the same code or refresh
    token at one moment both through, or fails. Here each takes what it shows within the transaction that stores.
    """

    # Authorization endpoint

    def save_authorization_code(self, client_id: str, code: Any, request: Any, *args: Any, **kwargs: Any) -> None:
        """Store the code, for our endpoints only its hash, and tell what was agreed to."""
        ours = endpoint(request) is not None
        kept = {**code, "code": families.stored(code["code"])} if ours else code
        super().save_authorization_code(client_id, kept, request, *args, **kwargs)  # type: ignore[misc]
        if ours:
            _tell(audit.Kind.CONSENT_GRANTED, request, request.scopes)

    # Token endpoint

    def confirm_redirect_uri(
        self, client_id: str, code: str, redirect_uri: str, client: Any, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        """The same address as at the authorization endpoint. Raises ``InvalidGrantError`` for another one at our
        endpoints (RFC 6749 section 5.2), and where another request has just used the code.
        """
        try:
            same = bool(super().confirm_redirect_uri(client_id, code, redirect_uri, client, request, *args, **kwargs))  # type: ignore[misc]
        except get_grant_model().DoesNotExist:
            raise self.used_twice(code, request) from None
        if not same and endpoint(request) is not None:
            description = "The redirect_uri is not that of the authorization request."
            raise errors.InvalidGrantError(description=description, request=request)
        return same

    def get_code_challenge(self, code: str, request: Any) -> str | None:
        """RFC 7636 section 4.6. Raises as above."""
        try:
            challenge: str | None = super().get_code_challenge(code, request)  # type: ignore[misc]
        except get_grant_model().DoesNotExist:
            raise self.used_twice(code, request) from None
        return challenge

    def get_code_challenge_method(self, code: str, request: Any) -> str | None:
        """RFC 7636 section 4.6. Raises as above."""
        try:
            method: str | None = super().get_code_challenge_method(code, request)  # type: ignore[misc]
        except get_grant_model().DoesNotExist:
            raise self.used_twice(code, request) from None
        return method

    def rotate_refresh_token(self, request: Any) -> bool:
        """Always, at our endpoints (OAuth 2.1 section 4.3.1)."""
        return endpoint(request) is not None or bool(super().rotate_refresh_token(request))  # type: ignore[misc]

    def save_bearer_token(self, token: Any, request: Any, *args: Any, **kwargs: Any) -> None:
        """Store the tokens; what turns out to have been used twice meanwhile ends its family."""
        try:
            super().save_bearer_token(token, request, *args, **kwargs)  # type: ignore[misc]
        except families.Reused as reuse:
            # After the transaction, which is rolled back.
            self.end_family(reuse.family, request)
            raise errors.InvalidGrantError(request=request) from None
        if endpoint(request) is not None:
            refreshed = request.grant_type == "refresh_token"
            Client.was_used(request.client.pk)
            _tell(audit.Kind.TOKEN_REFRESHED if refreshed else audit.Kind.TOKEN_ISSUED, request, token["scope"].split())

    def _save_bearer_token(self, token: Any, request: Any, *args: Any, **kwargs: Any) -> None:
        if endpoint(request) is not None:
            if request.grant_type == "authorization_code":
                families.spend(request.code, request.client)
                request.mcp_code_is_spent = True
            elif request.grant_type == "refresh_token":
                row = families.lock(request.refresh_token_instance)
                if row is None:
                    raise families.Reused(request.refresh_token_instance.token_family)
                if row.revoked is not None:
                    if not families.is_in_grace(row):
                        raise families.Reused(row.token_family)
                    self._save_beside(token, request, row)
                    return
        super()._save_bearer_token(token, request, *args, **kwargs)  # type: ignore[misc]

    def _save_beside(self, token: Any, request: Any, row: Any) -> None:
        """Tokens for the second of two windows: beside those of the first, in the same family."""
        self._check_and_set_request_resource(request)  # type: ignore[attr-defined]
        expires = timezone.now() + timedelta(seconds=token["expires_in"])
        access_token = self._create_access_token(expires, request, token)  # type: ignore[attr-defined]
        self._create_refresh_token(request, token["refresh_token"], access_token, row)

    def _create_refresh_token(self, request: Any, refresh_token_code: str, access_token: Any, previous: Any) -> Any:
        if previous is None and endpoint(request) is not None and request.grant_type == "authorization_code":
            previous = families.Origin(families.family_of(request.code))
        return super()._create_refresh_token(request, refresh_token_code, access_token, previous)  # type: ignore[misc]

    def invalidate_authorization_code(self, client_id: str, code: str, request: Any, *args: Any, **kwargs: Any) -> None:
        """Nothing, where the code went with the transaction that stored its tokens."""
        if not vars(request).get("mcp_code_is_spent"):
            super().invalidate_authorization_code(client_id, code, request, *args, **kwargs)  # type: ignore[misc]

    def used_twice(self, code: str, request: Any) -> errors.OAuth2Error:
        """What to raise for a code that another request has used meanwhile; it ends what was issued from it."""
        self.end_family(families.family_of(code), request)
        return errors.InvalidGrantError(request=request)

    def end_family(self, family: uuid.UUID | None, request: Any) -> None:
        """End what a client's code or refresh token led to, because it came twice."""
        if families.revoke_family(family, request.client.pk):
            _tell(audit.Kind.REUSE_DETECTED, request, detail="All tokens of the same consent were revoked.")

    # Revocation endpoint

    def revoke_token(self, token: str, token_type_hint: str, request: Any, *args: Any, **kwargs: Any) -> None:
        """RFC 7009 section 2.1: with a token for one of our endpoints goes all that came from the same consent."""
        family = families.family_of_token(token, getattr(request.client, "pk", None))
        if family is None or not families.revoke_family(family):
            super().revoke_token(token, token_type_hint, request, *args, **kwargs)  # type: ignore[misc]
        else:
            _tell(audit.Kind.REVOKED, request, detail="By the client.")


def _tell(kind: audit.Kind, request: Any, scopes: Iterable[str] = (), detail: str = "") -> None:
    by_itself = request.grant_type == "client_credentials"
    audit.record(
        kind,
        request.headers,
        user=machines.service_user(request.client) if by_itself else request.user,
        application=request.client,
        resource=" ".join(request.resource or ()) if isinstance(request.resource, list) else "",
        scopes=scopes,
        detail=detail or ("By itself, as its service user." if by_itself else ""),
    )
