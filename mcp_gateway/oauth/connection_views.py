"""The page “Connected applications”: what a person allowed clients, and their personal access tokens.

The toolkit's own page of tokens is kept for a project's other clients; what it revokes of ours goes as it goes here.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.mixins import LoginRequiredMixin
from django.contrib.auth.views import redirect_to_login
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext
from django.views.decorators.debug import sensitive_post_parameters
from django.views.generic import TemplateView
from oauth2_provider.views import AuthorizedTokenDeleteView

from mcp_gateway.models import PersonalToken
from mcp_gateway.oauth import connections, consent, personal
from mcp_gateway.oauth.issuing import Disabled
from mcp_gateway.oauth.login import login_url
from mcp_gateway.oauth.personal_form import OwnTokenForm
from mcp_gateway.oauth.rows import RowPage
from mcp_gateway.oauth.stale_form import own_forms

#: The parameter with which the page says that something was revoked.
REVOKED = "revoked"


@method_decorator([own_forms(), sensitive_post_parameters()], name="dispatch")
class ConnectionsView(LoginRequiredMixin, TemplateView):
    """GET shows the page; POST disconnects a client, makes a token or revokes one, by its ``action``."""

    template_name = "mcp_gateway/oauth/connections.html"
    http_method_names = ("get", "head", "post", "options")

    def get_login_url(self) -> str:
        """The project's login page, ours where ``LOGIN_URL`` leads nowhere."""
        return login_url()

    def handle_no_permission(self) -> HttpResponseRedirect:
        """To the login, and back to the page alone: its query says only what was just done."""
        return redirect_to_login(self.request.path, self.get_login_url())

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Everything on the page."""
        user: Any = self.request.user
        tokens = PersonalToken.objects.filter(user=user).select_related("access_token")
        form = kwargs.pop("form", None) or OwnTokenForm(user=user)
        return super().get_context_data(
            connections=connections.of(user),
            tokens=tokens,
            form=form,
            now=timezone.now(),
            was_revoked=REVOKED in self.request.GET,
            **kwargs,
        )

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Do what one of the page's forms asks for."""
        action = request.POST.get("action", "")
        if action == "make":
            return self._make(request)
        revoke = {"revoke-token": self._revoke_token, "disconnect": self._disconnect}.get(action)
        done = revoke is not None and revoke(request)
        return HttpResponseRedirect(f"{request.path}?{REVOKED}=" if done else request.path)

    def render_to_response(self, context: dict[str, Any], **kwargs: Any) -> HttpResponse:
        """With the headers of our pages: the answer may hold a token."""
        response: HttpResponse = super().render_to_response(context, **kwargs)
        for name, value in consent.headers("", own_forms_only=True).items():
            response[name] = value
        return response

    def _make(self, request: HttpRequest) -> HttpResponse:
        """Answer with the page that shows the new token, this once: nobody else's cache or history may keep it."""
        form = OwnTokenForm(request.POST, user=request.user)
        if not form.is_valid():
            return self.render_to_response(self.get_context_data(form=form), status=400)
        data = form.cleaned_data
        try:
            token, text = personal.make(
                user=request.user,
                name=data["name"],
                slug=data["endpoint"],
                scopes=data["scopes"],
                days=data["days"],
                made_by=request.user,
                meta=request.META,
            )
        except Disabled:
            form.add_error(None, gettext("An administrator has switched personal access tokens off."))
        except IntegrityError:
            form.add_error("name", gettext("You have a token of this name already."))
        else:
            return self.render_to_response(self.get_context_data(made=token, text=text))
        return self.render_to_response(self.get_context_data(form=form), status=400)

    @staticmethod
    def _revoke_token(request: HttpRequest) -> bool:
        """The token named by the form, if it is one of the user's; whether it was."""
        number = request.POST.get("token", "")
        user: Any = request.user
        mine = PersonalToken.objects.filter(user=user).select_related("access_token", "user")
        token = next((token for token in mine if str(token.pk) == number), None)
        if token is not None:
            personal.revoke(token, revoked_by=request.user, meta=request.META)
        return token is not None

    @staticmethod
    def _disconnect(request: HttpRequest) -> bool:
        """The client named by the form, if it is one that the user has connected; whether it was."""
        key, resource = request.POST.get("application", ""), request.POST.get("resource", "")
        for connection in connections.of(request.user):
            if (str(connection.application.pk), connection.resource) == (key, resource):
                return connections.revoke(request.user, connection.application.pk, resource, request.META)
        return False


class RevokeTokenPage(RowPage, AuthorizedTokenDeleteView):  # type: ignore[misc]
    """The toolkit's page that revokes one token: for an endpoint, all that the client has there."""

    def form_valid(self, form: Any) -> HttpResponseBase:
        """Tokens that were left of the same consent would get the client new ones."""
        if connections.revoke_all_of(self.object, self.request.META):
            return HttpResponseRedirect(self.get_success_url())
        theirs: HttpResponseBase = super().form_valid(form)
        return theirs
