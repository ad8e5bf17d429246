"""What an error of OAuth means where oauthlib gives its code alone (RFC 6749 sections 4.1.2.1 and 5.2)."""

from __future__ import annotations

_TEXTS = {
    "invalid_client": "The client is not known here, is disabled, or did not prove that it is the one it names.",
    "invalid_grant": (
        "The code or refresh token is unknown, used, expired, revoked or another client's, or redirect_uri or "
        "code_verifier do not fit it."
    ),
    "invalid_scope": "The request names a scope that does not exist, is disabled, or is not for this client.",
    "unauthorized_client": "The client may not ask in this way.",
    "unsupported_grant_type": "The grant type is none that this server knows.",
    "unsupported_response_type": "The response type is none that this server knows.",
}


def of(error: str) -> str:
    """The description of an error code; empty for one that needs none."""
    return _TEXTS.get(error, "")
