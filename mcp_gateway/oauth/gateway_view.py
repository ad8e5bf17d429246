"""What our subclasses of the toolkit's views have in common: its server with our validator, and errors as JSON."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

from django.core.exceptions import ObjectDoesNotExist
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, QueryDict
from oauth2_provider.models import get_application_model
from oauth2_provider.settings import oauth2_settings

from mcp_gateway import registry
from mcp_gateway.oauth import documents
from mcp_gateway.oauth.binding import concerns
from mcp_gateway.oauth.cross_origin import CrossOriginView
from mcp_gateway.oauth.form_body import no_url, repeated, unreadable
from mcp_gateway.oauth.registration import registered_itself
from mcp_gateway.oauth.validator import validator_class

logger = logging.getLogger("mcp_gateway")

# oauthlib raises ValueError for it.
_BROKEN_HEX = re.compile(r"%(?![0-9A-Fa-f]{2})")


class GatewayView:
    """Mixin before a view of the toolkit: the project's server and backend classes, our validator before its own."""

    _cores: dict[Any, Any] = {}  # noqa: RUF012 (shared on purpose: one core per combination of classes)

    @classmethod
    def get_validator_class(cls) -> type[Any]:
        """The project's validator with ours before it."""
        return validator_class(super().get_validator_class())  # type: ignore[misc]

    @classmethod
    def get_server(cls) -> Any:
        """The project's server, which asks our validator how long a token lives."""
        validator = cls.get_validator_class()()
        extra = oauth2_settings.EXTRA_SERVER_KWARGS
        lifetime: dict[str, Callable[..., int]] = {"token_expires_in": validator.lifetime}
        return cls.get_server_class()(validator, **{**oauth2_settings.server_kwargs, **lifetime, **extra})  # type: ignore[attr-defined]

    @classmethod
    def get_oauthlib_core(cls) -> Any:
        """One core per view class and project classes; the toolkit's own cache would be shared with its views."""
        key = (cls, cls.get_validator_class(), cls.get_server_class(), cls.get_oauthlib_backend_class())  # type: ignore[attr-defined]
        if oauth2_settings.ALWAYS_RELOAD_OAUTHLIB_CORE:
            cls._cores.pop(key, None)
        if key not in cls._cores:
            cls._cores[key] = cls.get_oauthlib_backend_class()(cls.get_server())  # type: ignore[attr-defined]
        return cls._cores[key]

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer 400 or 413 where what was sent would make a server error of it, or a parameter stands twice."""
        problem = unreadable(request)
        if problem is not None:
            return self._malformed(*problem)
        name = repeated(request)
        if name:
            return self._malformed(f"The parameter {name} is there more than once.")
        try:
            response: HttpResponseBase = super().dispatch(request, *args, **kwargs)  # type: ignore[misc]
        except ValueError:
            if not _is_readable(request.META.get("QUERY_STRING", "")):
                return self._malformed("The query string cannot be read.")
            if not no_url(request):
                raise
            return self._malformed(f"The parameter {no_url(request)} is no URL.")
        except (IntegrityError, ObjectDoesNotExist) as error:
            # Whoever it is about was there when the request was judged.
            logger.warning("What a request to %s is about was deleted meanwhile. %s", request.path, error)
            return self._gone("The client or its user was deleted meanwhile.")
        return response

    def _malformed(self, description: str, status: int = 400) -> HttpResponseBase:
        """The answer to a request that cannot be read; JSON where the view has no page for it."""
        return refusal("invalid_request", description, status)

    def _gone(self, description: str) -> HttpResponseBase:
        """The answer where client or user are no more; RFC 6749 section 5.2 where the view has no page for it."""
        return refusal("invalid_grant", description)


def _is_readable(query: str) -> bool:
    if _BROKEN_HEX.search(query):
        return False
    try:
        parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        return False
    return True


class MachineView(CrossOriginView, GatewayView):
    """Mixin before a view of the toolkit that programs POST to: whatever the answer, it is no page."""

    def http_method_not_allowed(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """405 (RFC 6749 section 3.2: the client must use POST)."""
        return refusal("invalid_request", "Only POST is served here.", 405, Allow="POST")


def refusal(error: str, description: str, status: int = 400, **headers: str) -> HttpResponse:
    """An error of RFC 6749 section 5.2."""
    body = {"error": error, "error_description": description}
    return JsonResponse(body, status=status, headers={"Cache-Control": "no-store", "Pragma": "no-cache", **headers})


def concerns_gateway(sent: QueryDict) -> bool:
    """Whether our rules hold for a request with these parameters: by its resource, its scopes or its client."""
    resources = [word for value in sent.getlist("resource") for word in value.split()]
    if concerns(resources, sent.get("scope", "").split(), registry.snapshot()):
        return True
    client_id = sent.get("client_id", "")
    if not client_id or "\0" in client_id:
        return False
    if documents.may_be_ours(client_id):
        return True
    return registered_itself(get_application_model()._default_manager.filter(client_id=client_id).first())
