"""The WSGI application."""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

from mcp_gateway.hosting import served_by_wsgi

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "zolinga_site.settings")

application = served_by_wsgi(get_wsgi_application())
