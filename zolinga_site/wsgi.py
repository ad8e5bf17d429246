"""The WSGI application."""

from __future__ import annotations

import os

from zolinga_site.loading import loading

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "zolinga_site.settings")

with loading():
    from django.core.wsgi import get_wsgi_application

    from mcp_gateway.hosting import served_by_wsgi

    application = served_by_wsgi(get_wsgi_application())
