"""Where people log in before they allow a client something: the project's page, or ours where it has none."""

from __future__ import annotations

from typing import Any
from urllib.parse import SplitResult, urlencode, urlsplit

from django.conf import settings
from django.contrib.auth.views import LoginView as DjangoLoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import resolve_url
from django.urls import NoReverseMatch, Resolver404, get_script_prefix, resolve, reverse
from django.utils.decorators import method_decorator
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from mcp_gateway.conf import gateway_settings
from mcp_gateway.oauth import consent
from mcp_gateway.oauth.stale_form import own_forms

_PURPOSES = {
    "mcp_gateway:question": _("A program that acts for you needs an answer of yours. Sign in to see the question."),
    "oauth2_provider:authorize": _("A program wants to act for you here. Sign in, and decide what it may do."),
    "oauth2_provider:connections": _("Sign in to see the programs that act for you, and your tokens."),
}


def _after_login(request: HttpRequest) -> str:
    """Where somebody wanted to go who has signed in meanwhile; for anybody else the form anew."""
    view = LoginView()
    view.setup(request)
    target = view.get_redirect_url()
    if request.user.is_authenticated:
        return target or view.get_default_redirect_url()
    return f"{request.path}?{urlencode({'next': target})}" if target else request.path


@method_decorator(own_forms(_after_login), name="dispatch")
class LoginView(DjangoLoginView):
    """A login page for projects without one."""

    template_name = "mcp_gateway/oauth/login.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """With the host people should see in their browser's address bar, and why they are asked to sign in."""
        site = urlsplit(gateway_settings.public_url).netloc
        return super().get_context_data(site=site, purpose=purpose_of(self.get_redirect_url()), **kwargs)

    def get_default_redirect_url(self) -> str:
        """Where to go without ``next``: Django's default leads nowhere in most projects."""
        url = super().get_default_redirect_url()
        return url if leads_somewhere(url) else get_script_prefix()

    def render_to_response(self, context: dict[str, Any], **kwargs: Any) -> HttpResponse:
        """With the headers of our pages."""
        response: HttpResponse = super().render_to_response(context, **kwargs)
        for name, value in consent.headers("").items():
            response[name] = value
        return response


def purpose_of(url: str) -> str | Promise:
    """What somebody is going to do at a page of ours that they must log in for; empty for any other."""
    try:
        view = resolve(_below_prefix(urlsplit(url))).view_name
    except Resolver404:
        return ""
    return _PURPOSES.get(view, "")


def login_url() -> str:
    """Where people log in: ``LOGIN_URL`` if it leads to a view or to another site, else our own page."""
    try:
        url = resolve_url(settings.LOGIN_URL)
    except NoReverseMatch:
        url = ""
    return url if url and leads_somewhere(url) else reverse("oauth2_provider:login")


def leads_somewhere(url: str) -> bool:
    """Whether a URL is another site's or one that this project answers."""
    parts = urlsplit(url)
    if parts.netloc:
        return True
    try:
        resolve(_below_prefix(parts))
    except Resolver404:
        return False
    return True


def _below_prefix(parts: SplitResult) -> str:
    return "/" + parts.path.removeprefix(get_script_prefix()).lstrip("/")
