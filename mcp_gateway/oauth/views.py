"""The authorization endpoint: the toolkit's view, with a consent page for what concerns one of our endpoints."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import DisallowedRedirect
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.utils.decorators import method_decorator
from oauth2_provider import views as toolkit
from oauth2_provider.exceptions import OAuthToolkitError
from oauth2_provider.http import OAuth2ResponseRedirect
from oauth2_provider.models import get_application_model
from oauth2_provider.settings import oauth2_settings
from oauthlib.oauth2.rfc6749 import errors

from mcp_gateway import registry
from mcp_gateway.conf import gateway_settings
from mcp_gateway.oauth import audit, consent, descriptions, metadata, refused_requests
from mcp_gateway.oauth.binding import endpoint
from mcp_gateway.oauth.client_authentication import TooManyRequests
from mcp_gateway.oauth.gateway_view import GatewayView, concerns_gateway
from mcp_gateway.oauth.login import login_url
from mcp_gateway.oauth.stale_form import own_forms
from mcp_gateway.rights import not_grantable

#: The parameter with which the page says that nothing was ticked.
NOTHING_CHOSEN = "nothing-chosen"


def _is_ours(request: HttpRequest) -> bool:
    return concerns_gateway(request.POST if request.method == "POST" else request.GET)


@method_decorator([own_forms(concerned=_is_ours), login_not_required], name="dispatch")
class AuthorizationView(GatewayView, toolkit.AuthorizationView):  # type: ignore[misc]
    """RFC 6749 section 3.1: the toolkit's view, and for requests that concern us a consent page of our own.

    Consent is asked for each time, whatever the client or ``REQUEST_APPROVAL_PROMPT`` say; only an administrator
    can waive it, for one application (``skip_authorization``).
    """

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Find out first whether the request concerns us: what answers an error depends on it."""
        self.concerned = _is_ours(request)
        try:
            response: HttpResponseBase = super().dispatch(request, *args, **kwargs)
        except DisallowedRedirect as error:
            return self._malformed(f"No redirect can answer this request. {error}")
        return response

    def _malformed(self, description: str, status: int = 400) -> HttpResponse:
        """The error page: a person is there to read it."""
        self.concerned = True
        self.oauth2_data: dict[str, Any] = {}
        error = errors.InvalidRequestFatalError(description)
        return self.render_to_response({"error": error}, status=status)

    def _gone(self, description: str) -> HttpResponse:
        """The same: a client that is gone has no address to send the person back to."""
        return self._malformed(description)

    def error_response(self, error: OAuthToolkitError, application: Any, **kwargs: Any) -> HttpResponseBase:
        """With a description, to the client or on the page."""
        told = error.oauthlib_error
        if self.concerned and not told.description:
            told.description = descriptions.of(told.error)
        response: HttpResponseBase = super().error_response(error, application, **kwargs)
        return response

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Show the consent page."""
        if not self.concerned:
            response: HttpResponseBase = super().get(request, *args, **kwargs)
            return response
        try:
            scopes, credentials = self.validate_authorization_request(request)
        except OAuthToolkitError as error:
            return self._refuse(error, None)
        application = get_application_model().objects.get(client_id=credentials["client_id"])
        oauthlib_request = credentials.pop("request")
        credentials["resource"] = oauthlib_request.resource

        prompt = set(request.GET.get("prompt", "").split())
        detour: HttpResponseBase | None = None
        if "create" in prompt:
            detour = self.handle_prompt_create()
        if detour is None and "login" in prompt:
            detour = self.handle_prompt_login()
        if detour is not None:
            return detour
        asked, snapshot = scopes, registry.snapshot()
        withheld = not_grantable(request.user, asked, snapshot)
        scopes = [name for name in asked if name not in withheld]
        if not scopes:
            refusal = errors.AccessDeniedError(
                "The user may not grant any of these scopes.", state=credentials["state"]
            )
            return self._refuse(OAuthToolkitError(error=refusal, redirect_uri=credentials["redirect_uri"]), application)
        if application.skip_authorization:
            return self._grant(request, scopes, credentials, application)
        if "none" in prompt:
            # OpenID Connect Core section 3.1.2.6: nothing may be shown, and nobody has agreed yet.
            refusal = errors.CustomOAuth2Error("consent_required", state=credentials["state"])
            return self._refuse(OAuthToolkitError(error=refusal, redirect_uri=credentials["redirect_uri"]), application)
        # The form carries the request to its POST; the toolkit reads these names.
        self.oauth2_data = {**credentials, "scopes": scopes, "resource": " ".join(credentials["resource"])}
        page = consent.page(
            application=application,
            redirect_uri=credentials["redirect_uri"],
            scopes=scopes,
            withheld=[name for name in asked if name in withheld],
            slug=endpoint(oauthlib_request) or "",
            snapshot=snapshot,
        )
        self._tell(audit.Kind.CONSENT_SHOWN, application, self.oauth2_data["resource"], scopes, once_in=60)
        return self.render_to_response(
            self.get_context_data(
                page=page, switch_user_url=self._query(prompt="login"), nothing_chosen=NOTHING_CHOSEN in request.GET
            )
        )

    def form_valid(self, form: Any) -> HttpResponseBase:
        """The answer: of what was asked for, what is ticked and this person may grant. Ticking nothing is none."""
        if not self.concerned:
            theirs: HttpResponseBase = super().form_valid(form)
            return theirs
        data = form.cleaned_data
        application = get_application_model()._default_manager.filter(client_id=data["client_id"]).first()
        if application is None:
            return self.form_invalid(form)
        asked = data["scope"].split()
        if data["allow"]:
            chosen = consent.chosen(self.request.POST, asked)
            withheld = not_grantable(self.request.user, chosen, registry.snapshot())
            chosen = [name for name in chosen if name not in withheld]
            if not chosen and self.request.META["QUERY_STRING"]:
                return HttpResponseRedirect(self._query(**{NOTHING_CHOSEN: ""}))
            if not chosen:
                return self.form_invalid(form)
            data["scope"] = " ".join(chosen)
        else:
            self._tell(audit.Kind.CONSENT_DENIED, application, data["resource"], asked)
        response: HttpResponseBase = super().form_valid(form)
        return response

    def form_invalid(self, form: Any) -> HttpResponse:
        """A form that is not the one we showed."""
        if not self.concerned:
            response: HttpResponse = super().form_invalid(form)
            return response
        error = errors.InvalidRequestError("The form is incomplete.")
        return self.render_to_response({"error": error}, status=error.status_code)

    def _grant(self, request: HttpRequest, scopes: list[str], credentials: Any, application: Any) -> HttpResponseBase:
        try:
            uri, _headers, _body, _status = self.create_authorization_response(
                request=request, scopes=" ".join(scopes), credentials=credentials, allow=True
            )
        except OAuthToolkitError as error:
            return self._refuse(error, application)
        return self.redirect(uri, application)

    def _refuse(self, error: OAuthToolkitError, application: Any) -> HttpResponseBase:
        """The answer to a request that nobody is asked about; the trail tells who had logged in for it."""
        if self.request.user.is_authenticated:
            self._tell_refused(error.oauthlib_error, application)
        response: HttpResponseBase = self.error_response(error, application)
        return response

    def redirect(self, redirect_to: str, application: Any) -> HttpResponseBase:
        """Send the browser back to the client, with ``iss`` on success and error alike (RFC 9207 section 2)."""
        if not self.concerned:
            theirs: HttpResponseBase = super().redirect(redirect_to, application)
            return theirs
        # The URI is one the client registered, and oauthlib has compared it.
        allowed = oauth2_settings.ALLOWED_REDIRECT_URI_SCHEMES
        if application is not None:
            allowed = application.get_allowed_schemes()
        allowed = [*allowed, *gateway_settings.registration.redirect_schemes]
        ours: HttpResponseBase = OAuth2ResponseRedirect(with_issuer(redirect_to), allowed)
        return ours

    def render_to_response(self, context: dict[str, Any], **kwargs: Any) -> HttpResponse:
        """A page of ours comes with a content security policy that lets Chromium follow the answer's redirect."""
        response: HttpResponse = super().render_to_response(context, **kwargs)
        if self.concerned:
            page = context.get("page")
            for name, value in consent.headers(page.redirect_uri if page else "").items():
                response[name] = value
            if isinstance(context.get("error"), TooManyRequests):
                response["Retry-After"] = str(context["error"].seconds)
        return response

    def get_template_names(self) -> list[str]:
        """Our pages where the request concerns us, the project's else."""
        if self.concerned:
            page = "consent" if self.oauth2_data else "error"
            return [f"mcp_gateway/oauth/{page}.html"]
        return list(super().get_template_names())

    def get_login_url(self) -> str:
        """The project's login page, ours where ``LOGIN_URL`` leads nowhere."""
        return login_url()

    def _query(self, **changed: str) -> str:
        """This page's address with other parameters."""
        query = [(key, value) for key, value in parse_qsl(self.request.META["QUERY_STRING"]) if key not in changed]
        return f"?{urlencode([*query, *changed.items()])}"

    def _tell_refused(self, error: Any, application: Any) -> None:
        asked = self.request.GET
        client_id = asked.get("client_id", "")
        application = application or get_application_model()._default_manager.filter(client_id=client_id).first()
        if application is not None:
            refused_requests.write(
                self.request.META,
                ": ".join(text for text in (error.error, error.description) if text),
                user=self.request.user,
                application=application,
                resource=asked.get("resource", ""),
                scopes=asked.get("scope", "").split(),
            )

    def _tell(self, kind: audit.Kind, application: Any, resource: str, scopes: list[str], once_in: int = 0) -> None:
        audit.record(
            kind,
            self.request.META,
            user=self.request.user,
            application=application,
            resource=resource,
            scopes=scopes,
            once_in=once_in,
        )


def with_issuer(redirect_to: str) -> str:
    """A redirect URI with exactly one ``iss``, where the answer's other parameters are (RFC 9207 section 2)."""
    parts = urlsplit(redirect_to)
    query, fragment = (
        [(key, value) for key, value in parse_qsl(part, keep_blank_values=True) if key != "iss"]
        for part in (parts.query, parts.fragment)
    )
    (fragment if parts.fragment else query).append(("iss", metadata.issuer()))
    return urlunsplit(parts._replace(query=urlencode(query), fragment=urlencode(fragment)))
