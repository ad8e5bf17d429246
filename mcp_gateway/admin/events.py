"""The audit trail of the authorization server, to read."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from mcp_gateway.admin.display import BAD, GOOD, QUIET, WARN, ReadOnlyAdmin, code, lines, mark
from mcp_gateway.models import OAuthEvent

if TYPE_CHECKING:
    from django.utils.safestring import SafeString

Kind = OAuthEvent.Kind

LEVELS = {
    Kind.REGISTRATION_REFUSED: WARN,
    Kind.DOCUMENT_REFUSED: WARN,
    Kind.CONSENT_DENIED: WARN,
    Kind.INSUFFICIENT_SCOPE: WARN,
    Kind.REFUSED: WARN,
    Kind.THROTTLED: BAD,
    Kind.REUSE_DETECTED: BAD,
    Kind.CONSENT_GRANTED: GOOD,
    Kind.TOKEN_ISSUED: GOOD,
}


@admin.register(OAuthEvent)
class OAuthEventAdmin(ReadOnlyAdmin):
    """Who registered, agreed, got a token or was refused."""

    list_display = ("at", "kind_shown", "user", "client_shown", "asked_shown", "address", "detail")
    list_filter = ("kind", "at")
    search_fields = ("user", "client_id", "client_name", "scopes", "address", "detail")
    date_hierarchy = "at"
    show_full_result_count = False
    fields = ("at", "kind_shown", "user", "client_name", "client_id", "resource", "scopes", "address", "detail")
    readonly_fields = ("kind_shown",)

    @admin.display(description=_("what"), ordering="kind")
    def kind_shown(self, event: OAuthEvent) -> SafeString:
        return mark(LEVELS.get(Kind(event.kind), QUIET), event.get_kind_display())

    @admin.display(description=_("client"), ordering="client_name")
    def client_shown(self, event: OAuthEvent) -> str:
        return event.client_name or event.client_id

    @admin.display(description=_("endpoint and scopes"), ordering="resource")
    def asked_shown(self, event: OAuthEvent) -> SafeString:
        return lines([code(urlsplit(event.resource).path), event.scopes] if event.resource else [event.scopes])
