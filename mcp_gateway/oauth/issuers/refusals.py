"""Why a token of another issuer does not count, or could not be judged."""

from __future__ import annotations

from rest_framework.exceptions import APIException


class Untrusted(Exception):
    """The token does not count here: 401 ``invalid_token``; the text may be shown to the client."""


class IssuerUnavailable(APIException):
    """Nobody can say whether the token counts: 503, and ``wait``, the seconds after which to try again."""

    status_code = 503
    default_code = "issuer_unavailable"
    default_detail = "The authorization server that this endpoint trusts cannot be asked at the moment; try again."

    def __init__(self, wait: float) -> None:
        super().__init__()
        self.wait = max(1.0, wait)
