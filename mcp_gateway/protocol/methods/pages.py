"""Elicitation in URL mode: questions that wait for their user on a page of this site."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.urls import reverse
from oauth2_provider.models import get_application_model

from mcp_gateway.events.questions import Page
from mcp_gateway.models import PageQuestion
from mcp_gateway.oauth import audience
from mcp_gateway.protocol import request_state
from mcp_gateway.protocol.methods.call import Call


def put(call: Call, title: str, question: Page) -> str:
    """Put a question on a page for the call's user; gives the page's key. ``title`` is that of what asks."""
    application = get_application_model()._default_manager.filter(pk=call.principal.application_id).first()
    return PageQuestion.ask(
        call.principal.user,
        request_state.LIFETIME,
        client="" if application is None else str(application.name or application.client_id),
        subject=title,
        message=question.message,
        schema=json.dumps(question.schema, ensure_ascii=False),
    )


def url(key: str) -> str:
    """The page's address. It says nothing and opens nothing: the page wants its user logged in."""
    return audience.public(reverse("mcp_gateway:question", args=[key]))


def answers(pages: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """What has been answered on pages, as ``ElicitResult`` objects.

    Parameters: the page's key of each question's. Gives the results by the questions' keys.
    """
    if not pages:
        return {}
    found = PageQuestion.answers(list(pages.values()))
    return {key: request_state.unseal(found[page]) for key, page in pages.items() if page in found}
