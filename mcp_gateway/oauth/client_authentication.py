"""How clients are found and prove themselves at the token endpoint, beyond what the toolkit knows."""

from __future__ import annotations

import base64
from typing import Any

from oauthlib.oauth2.rfc6749 import errors

from mcp_gateway.models import Client
from mcp_gateway.oauth import assertions, documents
from mcp_gateway.oauth.registration import TooMany


class TooManyRequests(errors.FatalClientError):  # type: ignore[misc]
    """429, with ``Retry-After: seconds`` (RFC 6585 section 4)."""

    error = "too_many_requests"
    status_code = 429

    def __init__(self, seconds: int, **options: Any) -> None:
        super().__init__(**options)
        self.seconds = seconds


class ClientValidator:
    """Mixin before an ``oauth2_provider.oauth2_validators.OAuth2Validator``: documents and signatures."""

    def client_authentication_required(self, request: Any, *args: Any, **kwargs: Any) -> bool:
        """Always for a client that sends a signature."""
        if _assertion(request):
            return True
        return bool(super().client_authentication_required(request, *args, **kwargs))  # type: ignore[misc]

    def authenticate_client(self, request: Any, *args: Any, **kwargs: Any) -> bool:
        """By signature where one is sent; a client with keys has no other way."""
        if _assertion(request):
            return self._authenticate_assertion(request)
        if not super().authenticate_client(request, *args, **kwargs):  # type: ignore[misc]
            return False
        return _side_row(request).auth_method != Client.AuthMethod.PRIVATE_KEY

    def _authenticate_basic_auth(self, request: Any) -> bool:
        if not super()._authenticate_basic_auth(request):  # type: ignore[misc]
            return False
        shown = base64.b64decode(self._extract_basic_auth(request)).partition(b":")[2]  # type: ignore[attr-defined]
        return bool(shown) or not _acts_as_somebody(request)

    def _authenticate_request_body(self, request: Any) -> bool:
        if not super()._authenticate_request_body(request):  # type: ignore[misc]
            return False
        return bool(getattr(request, "client_secret", None)) or not _acts_as_somebody(request)

    def _authenticate_assertion(self, request: Any) -> bool:
        """Raises ``InvalidClientError`` with what is wrong (RFC 7521 section 4.2.1)."""
        assertion = _assertion(request)
        if getattr(request, "client_assertion_type", None) != assertions.ASSERTION_TYPE:
            raise _invalid_client(f"client_assertion_type must be {assertions.ASSERTION_TYPE}.", request)
        if getattr(request, "client_secret", None) or "HTTP_AUTHORIZATION" in request.headers:
            # RFC 6749 section 2.3.
            raise _invalid_client("A client must prove itself in one way only.", request)
        named = assertions.subject(assertion)
        client_id = request.client_id or named
        if not client_id or client_id != named or self._load_application(client_id, request) is None:
            raise _invalid_client("The assertion's sub is not the client.", request)
        try:
            assertions.verify(assertion, _side_row(request), client_id)
        except assertions.InvalidAssertion as error:
            raise _invalid_client(str(error), request) from None
        return True

    def _load_application(self, client_id: str, request: Any) -> Any:
        if "\0" in (client_id or ""):
            # No client has it in its name, and PostgreSQL fails where it is asked for one.
            return None
        if client_id and not _is_loaded(client_id, request) and documents.is_document_url(client_id):
            try:
                documents.resolve(client_id, request.headers, is_new=bool(request.response_type))
            except TooMany as error:
                raise TooManyRequests(error.seconds, description=str(error), request=request) from None
            except documents.DocumentRefused as refusal:
                text = f"The client's metadata document was refused. {refusal}"
                raise errors.InvalidClientIdError(text, request=request) from None
        return super()._load_application(client_id, request)  # type: ignore[misc]


def _is_loaded(client_id: str, request: Any) -> bool:
    return getattr(request.client, "client_id", None) == client_id


def _assertion(request: Any) -> str:
    return getattr(request, "client_assertion", None) or ""


def _side_row(request: Any) -> Client:
    """The client's row; where it has none, one with the defaults."""
    return Client.objects.filter(application_id=request.client.pk).first() or Client()


def _acts_as_somebody(request: Any) -> bool:
    """Whether nothing is no proof: where somebody empties a secret, the toolkit takes who sends none for the client."""
    return _side_row(request).service_user_id is not None


def _invalid_client(description: str, request: Any) -> errors.OAuth2Error:
    """RFC 6749 section 5.2: 401."""
    return errors.InvalidClientError(description=description, request=request)
