"""The tests' settings as a hostile project would have them: nothing here may reach the gateway's own paths.

``pytest --ds=tests.hostile_settings tests/protocol tests/views tests/hostile_controls.py`` runs the wire tests under
them, unchanged.
"""

from __future__ import annotations

from tests.settings import *  # noqa: F403
from tests.settings import DATABASES, MIDDLEWARE

REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.BrowsableAPIRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.FormParser"],
    "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.SessionAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_THROTTLE_CLASSES": [
        "rest_framework.throttling.AnonRateThrottle",
        "rest_framework.throttling.UserRateThrottle",
    ],
    "DEFAULT_THROTTLE_RATES": {"anon": "1/day", "user": "1/day"},
    "DEFAULT_VERSIONING_CLASS": "rest_framework.versioning.AcceptHeaderVersioning",
    "ALLOWED_VERSIONS": ["7"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "rest_framework.negotiation.DefaultContentNegotiation",
    "EXCEPTION_HANDLER": "tests.hostile_project.handle_nothing",
}
MIDDLEWARE = [
    # The tests' client speaks http; the proxy in front of a real site says what the outside spoke.
    "tests.hostile_project.TlsProxy",
    *(name for name in MIDDLEWARE if name != "mcp_gateway.middleware.DirectAnswers"),
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.middleware.locale.LocaleMiddleware",
]
SECURE_SSL_REDIRECT = True
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
APPEND_SLASH = True
DATABASES["default"]["ATOMIC_REQUESTS"] = True
ROOT_URLCONF = "tests.hostile_project"
