"""What a project's settings and URLs need for the endpoint to be there and to work."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage, Error, Info, Tags, Warning, register
from django.core.exceptions import ImproperlyConfigured
from django.urls import NoReverseMatch, reverse

from mcp_gateway.conf import GatewaySettings, gateway_settings
from mcp_gateway.tasks import framework

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.apps import AppConfig


@register()
def check_settings(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Keys of ``ZOLINGA`` that mean nothing, and values that cannot be used."""
    messages: list[CheckMessage] = []
    for name, attribute in vars(GatewaySettings).items():
        if name.startswith("_") or not hasattr(attribute, "func"):
            continue
        try:
            getattr(gateway_settings, name)
        except ImproperlyConfigured as error:
            if not any(message.msg == str(error) for message in messages):
                messages.append(Error(str(error), id="mcp_gateway.E001"))
    if messages:
        return messages
    return [
        Warning(
            f'ZOLINGA["{key}"] is not a setting of the gateway and does nothing.',
            hint="The settings are listed in mcp_gateway/conf/__init__.py.",
            id="mcp_gateway.W001",
        )
        for key in gateway_settings.unknown
    ]


@register()
def check_installed_apps(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """The apps that the gateway stands on."""
    return [
        Error(
            f"mcp_gateway needs {name}, which is not installed.",
            hint='INSTALLED_APPS += ["rest_framework", "oauth2_provider", "mcp_gateway"]',
            id="mcp_gateway.E002",
        )
        for name in ("rest_framework", "oauth2_provider")
        if not apps.is_installed(name)
    ]


@register()
def check_tasks(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Whether the backend that runs tools in the background can be used at all."""
    try:
        backend = framework.background()
    except ImproperlyConfigured as error:
        return [
            Error(
                str(error),
                hint='TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}',
                id="mcp_gateway.E010",
            )
        ]
    # Django asks backends itself only where something imported its framework before the checks began.
    return [
        Error(
            f"Tools that go on in the background fail: {problem.msg}.",
            hint=problem.hint or f"See TASKS[{gateway_settings.task_backend!r}].",
            id="mcp_gateway.E013",
        )
        for problem in (backend.check() if backend is not None else ())
        if problem.is_serious()
    ]


@register(Tags.urls)
def check_urls(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """The endpoint is somewhere."""
    if not getattr(settings, "ROOT_URLCONF", None) or path_of("mcp_gateway:endpoint") is not None:
        return []
    return [
        Warning(
            "The MCP endpoint has no URL: no client can reach a tool.",
            hint='Add to urlpatterns: path("", include("mcp_gateway.urls"))',
            id="mcp_gateway.W002",
        )
    ]


@register(Tags.urls)
def check_cors(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Nobody answers preflights for the endpoint before it does."""
    path = path_of("mcp_gateway:endpoint") if getattr(settings, "ROOT_URLCONF", None) else None
    if path is None or "corsheaders.middleware.CorsMiddleware" not in settings.MIDDLEWARE:
        return []
    if not re.match(getattr(settings, "CORS_URLS_REGEX", r"^.*$"), path):
        return []
    return [
        Warning(
            f"django-cors-headers answers the preflights for {path}, without the headers that MCP clients send: no "
            "client that is a web page can call a tool.",
            hint='Leave the paths to the gateway, for example: CORS_URLS_REGEX = r"^/api/"',
            id="mcp_gateway.W009",
        )
    ]


@register(deploy=True)
def check_subscriptions(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Why clients are not told of changes, where they are not."""
    try:
        threads, most = gateway_settings.server_threads, gateway_settings.max_subscriptions
        wanted = bool(gateway_settings.keep_alive_seconds and most and not gateway_settings.announces_changes)
    except ImproperlyConfigured:
        return []
    if not wanted:
        return []
    found = f"has {threads} threads a worker, and {most} streams would hold them" if threads else "does not say"
    return [
        Info(
            f"Clients are not told when tools, prompts and resources change: the server {found}"
            f"{'' if threads else ' how many requests a worker handles at a time'}.",
            hint='Set ZOLINGA["SERVER_THREADS"] to that number, more than ZOLINGA["MAX_SUBSCRIPTIONS"].',
            id="mcp_gateway.I001",
        )
    ]


def path_of(name: str) -> str | None:
    try:
        return reverse(name)
    except NoReverseMatch:
        return None
