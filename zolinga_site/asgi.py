"""The ASGI application."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

from mcp_gateway.hosting import served_by_asgi

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "zolinga_site.settings")

application = served_by_asgi(get_asgi_application())
