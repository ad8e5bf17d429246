"""Whether what was sent can be read at all: Django answers what cannot with a page, and the log with a trace."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.core.exceptions import BadRequest, RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.http import HttpRequest, UnreadablePostError
from django.http.multipartparser import MultiPartParserError

# RFC 6749 sections 3.1 and 3.2 let none of them stand twice; RFC 8707 section 2 lets ``resource``.
_ONCE = frozenset(
    (
        *("client_id", "client_secret", "client_assertion", "client_assertion_type", "grant_type", "response_type"),
        *("code", "code_challenge", "code_challenge_method", "code_verifier", "device_code", "redirect_uri"),
        *("refresh_token", "scope", "state", "token", "token_type_hint"),
    )
)


def unreadable(request: HttpRequest) -> tuple[str, int] | None:
    """What is wrong with query or form, as a sentence, and the status that says so; None where both can be read."""
    try:
        sent = (request.GET, request.POST)
    except RequestDataTooBig:
        return "The body is too long.", 413
    except (TooManyFieldsSent, TooManyFilesSent):
        return "There are too many parameters.", 400
    except (MultiPartParserError, BadRequest, UnreadablePostError):
        return "The body cannot be read.", 400
    for parameters in sent:
        if any("\0" in text for key, values in parameters.lists() for text in (key, *values)):
            return "A parameter holds a NUL character.", 400
    return None


def repeated(request: HttpRequest) -> str:
    """The name of a parameter that must not stand twice in the query, or twice in the form, and does; else empty."""
    for parameters in (request.GET, request.POST):
        for name, values in parameters.lists():
            if len(values) > 1 and name in _ONCE:
                return str(name)
    return ""


def no_url(request: HttpRequest) -> str:
    """The name of a parameter that must be a URL and that Python cannot take apart, for which the toolkit is not
    prepared; else empty.
    """
    for parameters in (request.GET, request.POST):
        for name in ("resource", "redirect_uri"):
            for value in parameters.getlist(name):
                try:
                    urlsplit(value)
                except ValueError:
                    return name
    return ""
