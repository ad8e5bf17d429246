"""``manage.py mcp_token``: an access token for a script."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.urls import NoReverseMatch
from oauthlib.common import generate_token

from mcp_gateway import registry
from mcp_gateway.conf import gateway_settings
from mcp_gateway.management.arguments import active_user
from mcp_gateway.management.database import usable_database
from mcp_gateway.oauth import audience, audit
from mcp_gateway.oauth.issuing import COMMAND_LINE, Disabled, builtin_application, issue
from mcp_gateway.rights import not_grantable

CLIENT_ID = COMMAND_LINE
DEFAULT_SECONDS = 3600
LONGEST_SECONDS = 10 * 366 * 24 * 3600


class Command(BaseCommand):
    """Prints the token and nothing else, so that ``TOKEN=$(manage.py mcp_token …)`` works."""

    help = (
        "Print an access token for a script: TOKEN=$(manage.py mcp_token --user ada --scope mcp:tools). It belongs "
        "to the application “Command line”, acts as the user, is good at one endpoint, and is shown only this once."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The command's options."""
        parser.add_argument("--user", required=True, help="Whom the token acts as, by user name.")
        parser.add_argument(
            "--scope", default=None, help="Its scopes, with spaces between. Default: the endpoint's baseline."
        )
        parser.add_argument("--endpoint", default="", metavar="SLUG", help="The endpoint. Default: /mcp.")
        parser.add_argument(
            "--expires",
            type=int,
            default=DEFAULT_SECONDS,
            metavar="SECONDS",
            help="How long it lives. Default: %(default)s, an hour.",
        )

    @usable_database()
    def handle(self, *args: Any, **options: Any) -> None:
        """Store the token as the toolkit does, hashed where tokens are."""
        snapshot = registry.snapshot()
        slug: str = options["endpoint"]
        if slug not in snapshot.endpoints:
            known = ", ".join(f"“{name}”" if name else "“” (the default one)" for name in sorted(snapshot.endpoints))
            raise CommandError(f"There is no endpoint “{slug}”. There are: {known or 'none that is enabled'}.")
        if slug in gateway_settings.issuers:
            raise CommandError(
                f"Tokens for the endpoint “{slug}” come from {gateway_settings.issuers[slug].issuer} "
                '(ZOLINGA["ISSUERS"]); ask for one there.'
            )
        try:
            resource = audience.canonical_url(slug)
        except NoReverseMatch:
            raise CommandError(
                'The endpoint has no URL. Add to urlpatterns: path("", include("mcp_gateway.urls"))'
            ) from None
        user = active_user(options["user"])
        scopes = self._scopes(options["scope"], snapshot, slug)
        refused = not_grantable(user, scopes, snapshot)
        if refused:
            raise CommandError(
                f"The user “{user.get_username()}” may not grant: {', '.join(sorted(refused))}. "
                "It takes a member of another group."
            )
        seconds: int = options["expires"]
        if not 0 < seconds <= LONGEST_SECONDS:
            raise CommandError(f"--expires {seconds}: between 1 second and ten years ({LONGEST_SECONDS} seconds).")

        token = generate_token()
        try:
            application = builtin_application(CLIENT_ID, "Command line")
        except Disabled:
            raise CommandError(
                "The application “Command line” is disabled. An administrator can enable its client."
            ) from None
        issue(
            token,
            user=user,
            application=application,
            scopes=scopes,
            slug=slug,
            lifetime=timedelta(seconds=seconds),
        )
        audit.record(
            audit.Kind.TOKEN_ISSUED,
            user=user,
            application=application,
            resource=resource,
            scopes=scopes,
            detail=f"By manage.py mcp_token, for {seconds} seconds.",
        )
        self.stdout.write(token)
        self.stderr.write(f"It is good at {resource}, and there alone, for {seconds} seconds.", str)
        lacking = [name for name in snapshot.endpoints[slug].baseline if name not in snapshot.close(frozenset(scopes))]
        if lacking:
            self.stderr.write(_without(lacking, snapshot, slug), str)

    def _scopes(self, text: str | None, snapshot: registry.Snapshot, slug: str) -> list[str]:
        if text is None:
            return [name for name in snapshot.endpoints[slug].baseline if name in snapshot.scopes]
        scopes = list(dict.fromkeys(text.split()))
        unknown = [name for name in scopes if name not in snapshot.scopes]
        if unknown:
            known = ", ".join(sorted(snapshot.scopes)) or "none that is enabled"
            raise CommandError(f"There is no scope “{unknown[0]}”. There are: {known}.")
        return scopes


def _without(lacking: list[str], snapshot: registry.Snapshot, slug: str) -> str:
    """What a token is not good for that lacks scopes of its endpoint's baseline."""
    needs = "every request" if snapshot.endpoints[slug].token_required else "a call whose right names no scope"
    off = [name for name in lacking if name not in snapshot.scopes]
    mend = f"No token has {', '.join(off)} while that is disabled." if off else "Name it in --scope."
    return f"It lacks {', '.join(lacking)}, which {needs} needs at this endpoint. {mend}"
