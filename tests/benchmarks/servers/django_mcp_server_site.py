"""django-mcp-server: stateless, without authentication or middleware."""

from __future__ import annotations

import os
from dataclasses import dataclass

import django
from django.conf import settings

from tests.benchmarks.workload import description, tool_names

if not settings.configured:
    settings.configure(
        SECRET_KEY="x" * 50,
        ALLOWED_HOSTS=["127.0.0.1"],
        ROOT_URLCONF="mcp_server.urls",
        MIDDLEWARE=[],
        USE_TZ=True,
        INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "rest_framework", "mcp_server"],
        DJANGO_MCP_GLOBAL_SERVER_CONFIG={"name": "benchmark", "stateless": True},
        DJANGO_MCP_GET_SERVER_INSTRUCTIONS_TOOL=False,
        LOGGING_CONFIG=None,
    )
    django.setup()

from django.core.wsgi import get_wsgi_application
from mcp_server import mcp_server


@dataclass
class Echoed:
    echo: str


def echo(message: str) -> Echoed:
    return Echoed(message)


for name in tool_names(int(os.environ["BENCHMARK_TOOLS"])):
    mcp_server.add_tool(echo, name=name, description=description(name))

application = get_wsgi_application()
