"""django-mcpz: one endpoint without authentication, one with its own bearer tokens.

``python django_mcpz_site.py`` migrates the database named by ``BENCHMARK_DATABASE`` and prints a token.
"""

from __future__ import annotations

import os

import django
import msgspec
from django.conf import settings
from django.http import HttpRequest

from tests.benchmarks.workload import description, tool_names

if not settings.configured:
    settings.configure(
        SECRET_KEY="x" * 50,
        ALLOWED_HOSTS=["127.0.0.1"],
        ROOT_URLCONF=__name__,
        MIDDLEWARE=[],
        USE_TZ=True,
        INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django_mcpz.bearer_tokens"],
        DATABASES={
            "default": {
                "ENGINE": "django.db.backends.sqlite3",
                "NAME": os.environ["BENCHMARK_DATABASE"],
                "CONN_MAX_AGE": None,
                "OPTIONS": {"init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"},
            }
        },
    )
    django.setup()

from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.urls import path
from django_mcpz.bearer_tokens.auth import token_auth
from django_mcpz.bearer_tokens.models import Token
from django_mcpz.server import MCPServer, public


class Params(msgspec.Struct):  # type: ignore[misc]
    message: str


class Echoed(msgspec.Struct):  # type: ignore[misc]
    echo: str


def echo(request: HttpRequest, params: Params) -> Echoed:
    return Echoed(params.message)


open_server = MCPServer(name="benchmark", version="1", auth=public)
token_server = MCPServer(name="benchmark", version="1", auth=token_auth)
for name in tool_names(int(os.environ["BENCHMARK_TOOLS"])):
    for server in (open_server, token_server):
        server.tool(name=name, description=description(name))(echo)

urlpatterns = [path("mcp", open_server), path("token", token_server)]
application = get_wsgi_application()


def main() -> None:
    from django.contrib.auth.models import User

    call_command("migrate", verbosity=0)
    print(Token.create(name="benchmark", user=User.objects.create_user("benchmark"))[1])


if __name__ == "__main__":
    main()
