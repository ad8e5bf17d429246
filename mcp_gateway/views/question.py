"""The page of a question that only the user of the call may answer (elicitation, URL mode).

Its address is no credential: whoever opens it must be logged in as that user, and anybody else learns nothing
(Elicitation, “Phishing”).
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import redirect_to_login
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.generic import View

from mcp_gateway.conf import gateway_settings
from mcp_gateway.events.questions import AnswerProblem, Page
from mcp_gateway.models import PageQuestion
from mcp_gateway.oauth import consent
from mcp_gateway.oauth.login import login_url
from mcp_gateway.oauth.stale_form import own_forms
from mcp_gateway.protocol import request_state
from mcp_gateway.tasks import store
from mcp_gateway.views.question_form import content, form_class


@method_decorator([own_forms(), never_cache, login_not_required], name="dispatch")
class QuestionView(View):
    """Shows the form, and takes the answer once."""

    http_method_names = ("get", "head", "post")

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Let nobody see it but the user it is for."""
        user = getattr(request, "user", None)
        if user is None or not user.is_authenticated:
            return redirect_to_login(request.path, login_url())
        question = PageQuestion.open_for(kwargs["key"])
        if question is None:
            return _page(request, "closed", HTTPStatus.NOT_FOUND)
        if question.user_id != user.pk:
            again = redirect_to_login(request.get_full_path(), login_url()).url
            return _page(request, "other", HTTPStatus.FORBIDDEN, switch_user_url=again)
        if question.answer:
            return _page(request, "answered", HTTPStatus.OK)
        self.question = question
        self.asked = Page(question.message, json.loads(question.schema))
        return super().dispatch(request, *args, **kwargs)

    def get(self, request: HttpRequest, key: str) -> HttpResponse:
        """The form."""
        return self._form(request, form_class(self.asked.schema)())

    def post(self, request: HttpRequest, key: str) -> HttpResponse:
        """The answer: the form, or a no."""
        if "decline" in request.POST:
            return self._close(request, {"action": "decline"})
        form = form_class(self.asked.schema)(request.POST)
        if not form.is_valid():
            return self._form(request, form, HTTPStatus.UNPROCESSABLE_ENTITY)
        answer = {"action": "accept", "content": content(self.asked.schema, form)}
        try:
            self.asked.read(answer)
        except AnswerProblem as problem:
            form.add_error(None, str(problem))
            return self._form(request, form, HTTPStatus.UNPROCESSABLE_ENTITY)
        return self._close(request, answer)

    def _form(self, request: HttpRequest, form: Any, status: HTTPStatus = HTTPStatus.OK) -> HttpResponse:
        return _page(request, "form", status, question=self.question, form=form)

    def _close(self, request: HttpRequest, answer: dict[str, Any]) -> HttpResponse:
        # It may have been answered in another window meanwhile; then that answer holds.
        key = self.question.key
        PageQuestion.close(key, request_state.seal(answer))
        transaction.on_commit(lambda: store.page_answered(key), using=PageQuestion.rows().db, robust=True)
        return _page(request, "answered", HTTPStatus.OK)


def _page(request: HttpRequest, name: str, status: HTTPStatus, **context: Any) -> HttpResponse:
    site = urlsplit(gateway_settings.public_url).netloc
    response = render(request, f"mcp_gateway/question/{name}.html", {"site": site, **context}, status=status)
    for header, value in consent.headers("").items():
        response[header] = value
    return response
