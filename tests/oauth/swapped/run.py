"""Set the project up as the first argument says, check tokens, and print what came out as JSON.

``models``: the project's own models in one database. ``databases``: users and OAuth in a second database.
"""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from typing import Any

import django
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from django.test.utils import CaptureQueriesContext
from django.utils import timezone


class Router:
    """Users and OAuth live in ``oauth``, everything else in ``default``."""

    def _alias(self, label: str) -> str:
        return "oauth" if label in ("auth", "contenttypes", "oauth2_provider") else "default"

    def db_for_read(self, model: Any, **hints: Any) -> str:
        return self._alias(model._meta.app_label)

    db_for_write = db_for_read

    def allow_relation(self, *args: Any, **hints: Any) -> bool:
        return True

    def allow_migrate(self, alias: str, app_label: str, **hints: Any) -> bool:
        return alias == self._alias(app_label)


def configure(kind: str) -> None:
    own: dict[str, Any] = {}
    apps: list[str] = []
    memory = {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}
    databases = {"default": memory}
    if kind == "models":
        apps = ["tests.oauth.swapped"]
        own = {"AUTH_USER_MODEL": "swapped.Person"}
        for name, model in (
            ("APPLICATION", "Application"),
            ("GRANT", "Grant"),
            ("ACCESS_TOKEN", "AccessToken"),
            ("REFRESH_TOKEN", "RefreshToken"),
            ("ID_TOKEN", "IDToken"),
        ):
            own[f"OAUTH2_PROVIDER_{name}_MODEL"] = f"swapped.{model}"
    else:
        databases["oauth"] = {**memory}
        own = {"DATABASE_ROUTERS": ["tests.oauth.swapped.run.Router"]}
    settings.configure(
        SECRET_KEY="x",
        DATABASES=databases,
        INSTALLED_APPS=[
            "django.contrib.contenttypes",
            "django.contrib.auth",
            *apps,
            "rest_framework",
            "oauth2_provider",
            "mcp_gateway",
        ],
        MIGRATION_MODULES={"mcp_gateway": None, "oauth2_provider": None, "auth": None, "contenttypes": None},
        ROOT_URLCONF="tests.oauth.urls",
        ZOLINGA={"PUBLIC_URL": "http://testserver"},
        USE_TZ=True,
        **own,
    )
    django.setup()
    for alias in databases:
        call_command("migrate", run_syncdb=True, verbosity=0, database=alias)
        # Foreign keys into the other database's tables cannot hold.
        with connections[alias].cursor() as cursor:
            cursor.execute("PRAGMA foreign_keys = OFF")


def main(kind: str) -> dict[str, Any]:
    configure(kind)
    from django.contrib.auth import get_user_model
    from oauth2_provider.models import get_access_token_model, get_application_model, set_token_value

    from mcp_gateway import registry
    from mcp_gateway.models import Client
    from mcp_gateway.oauth import client_metadata, registration
    from mcp_gateway.oauth.authentication import InvalidToken, check_request

    users = get_user_model()
    fields = {"email": "ada@example.com", "preferences": {"a": [1]}} if kind == "models" else {"username": "ada"}
    user = users._default_manager.create(**fields)
    application = get_application_model().objects.create(client_id="robot")
    row = get_access_token_model()(
        user=user,
        application=application,
        scope="mcp:tools",
        expires=timezone.now() + timedelta(minutes=5),
        resource=["http://testserver/mcp"],
    )
    set_token_value(row, "t0ken")
    row.save()
    registry.snapshot()

    def verdict() -> str:
        try:
            check_request("Bearer t0ken", "")
        except InvalidToken as error:
            return error.description
        return "valid"

    def statements(header: str | None) -> int:
        captures = [CaptureQueriesContext(connection) for connection in connections.all()]
        for capture in captures:
            capture.__enter__()
        check_request(header, "")
        for capture in captures:
            capture.__exit__(None, None, None)
        return sum(len(capture) for capture in captures)

    principal = check_request("Bearer t0ken", "").principal
    out: dict[str, Any] = {
        "user": principal.user == user and type(principal.user) is users,
        "user_is_whole": principal.user.get_deferred_fields() == set(),
        "same_fields": all(
            getattr(principal.user, field.attname) == getattr(user, field.attname)
            for field in users._meta.concrete_fields
            if field.attname != "date_joined"
        ),
        "application": principal.application_id == application.pk,
        "statements": statements("Bearer t0ken"),
        "statements_without_token": statements(None),
        "first": verdict(),
    }
    said = client_metadata.read(
        {"redirect_uris": ["http://127.0.0.1/cb"]}, methods=list(Client.AuthMethod), default=Client.AuthMethod.NONE
    )
    registered = registration.register(said).application
    out["registers"] = (
        get_application_model().objects.filter(pk=registered.pk, redirect_uris="http://127.0.0.1/cb").exists()
    )
    if kind == "models":
        application.suspended = True
        application.save()
        out["suspended"] = verdict()
        application.suspended = False
        application.save()
        row.frozen = True
        row.save()
        out["frozen"] = verdict()
    else:
        client = Client.objects.create(application=application, service_user=user)
        out["with_client_row"] = verdict()
        row.user = None
        row.save()
        out["service_user"] = check_request("Bearer t0ken", "").principal.user == user
        client.enabled = False
        client.save()
        out["client_disabled"] = verdict()
    return out


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
