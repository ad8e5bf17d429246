"""The ASGI application."""

from __future__ import annotations

import os

from zolinga_site.loading import loading

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "zolinga_site.settings")

with loading():
    from django.core.asgi import get_asgi_application

    from mcp_gateway.hosting import served_by_asgi

    application = served_by_asgi(get_asgi_application())
