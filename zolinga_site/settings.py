"""Settings of the deployable site, read from the environment.

=========================  ============================================================================
``DATABASE_URL``           ``postgres://user:password@host:5432/name``. Default: SQLite in the data folder.
``CACHE_URL``              ``redis://host:6379/0`` and the like. Default: memory of each process.
``SECRET_KEY``             Default: made once and kept in the data folder, mode 0600.
``DEBUG``                  ``on`` shows Django's error pages. Default off.
``ALLOWED_HOSTS``          Host names the site answers to, with ``,`` between. Default: the loopback names
                           and the host of ``PUBLIC_URL``.
``PUBLIC_URL``             The address clients use. Default: where ``manage.py up`` last served.
``ALLOWED_ORIGINS``        Web origins whose pages may call the endpoint and the authorization server, with ``,``
                           between (``https://app.example.com``). Default: the site's own.
``DYNAMIC_REGISTRATION``   Whether clients may register themselves: ``open``, ``approval`` (each waits for an
                           administrator) or ``off``. Default ``open``.
``CLIENT_DOCUMENTS``       The same for clients that a document at their own URL describes.
``ISSUERS``                Endpoints that trust an authorization server elsewhere, as JSON: see
                           ``mcp_gateway/conf/issuers.py``.
``PROXIES``                How many proxies in front add to ``X-Forwarded-For``. Default 1 where ``PUBLIC_URL`` is
                           https, else 0.
``ZOLINGA_MODULE_DIRS``    Folders of modules, with ``:`` between. Default ``modules``.
``ZOLINGA_DATA_DIR``       Where the SQLite file, the secret key and ``log/`` live. Default ``var``.
``ZOLINGA_SERVER_THREADS`` Requests that a worker process handles at a time; ``manage.py up`` sets it itself.
``HSTS_SECONDS``           How long browsers remember that the site is https only, where ``PUBLIC_URL`` is
                           https. Default 3600; raise it to a year once https works for good.
=========================  ============================================================================

Relative folders count from the folder of ``manage.py``.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mcp_gateway.conf import RFC_9700, oauth2_provider
from zolinga_site.data import DataDirectory
from zolinga_site.environment import Environment

BASE_DIR = Path(__file__).resolve().parent.parent

env = Environment()

DATA = DataDirectory(BASE_DIR / env.str("ZOLINGA_DATA_DIR", "var"))

DEBUG = env.switch("DEBUG")
SECRET_KEY = env.str("SECRET_KEY", None) or DATA.secret_key()

# What clients type. A path in it is the prefix a proxy takes off before it hands requests on.
PUBLIC_URL = env.site("PUBLIC_URL", DATA.served_url)
_public = urlsplit(PUBLIC_URL)
_https = _public.scheme == "https"
_host = _public.hostname or ""
FORCE_SCRIPT_NAME = _public.path or None

ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=[]) or [
    "127.0.0.1",
    "localhost",
    "[::1]",
    *([f"[{_host}]" if ":" in _host else _host] if _host else []),
]
CSRF_TRUSTED_ORIGINS = [f"{_public.scheme}://{_public.netloc}"] if _host else []

ZOLINGA: dict[str, Any] = {
    "PUBLIC_URL": PUBLIC_URL,
    "SERVER_THREADS": env.whole("ZOLINGA_SERVER_THREADS", 0),
    "ALLOWED_ORIGINS": env.list("ALLOWED_ORIGINS", default=[]),
    "REGISTRATION": {
        "DYNAMIC": env.str("DYNAMIC_REGISTRATION", "open"),
        "DOCUMENTS": env.str("CLIENT_DOCUMENTS", "open"),
    },
    "ISSUERS": env.json_object("ISSUERS"),
    "PROXIES": env.whole("PROXIES", 1 if _https else 0),
    "MODULE_DIRS": [BASE_DIR / folder for folder in env.str("ZOLINGA_MODULE_DIRS", "modules").split(":") if folder],
}

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "oauth2_provider",
    "mcp_gateway",
    "zolinga_site",
    "modules.example",
]

# With the extra ``tasks``: tools that go on in the background, in the worker that ``up`` starts.
if find_spec("django_tasks_db"):
    INSTALLED_APPS += ["django_tasks_db"]
    TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}

MIDDLEWARE = [
    # First: what any other middleware refuses is JSON on the endpoint's paths.
    "mcp_gateway.middleware.JsonErrors",
    "django.middleware.security.SecurityMiddleware",
    # What follows is for browsers.
    "mcp_gateway.middleware.DirectAnswers",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "zolinga_site.urls"
WSGI_APPLICATION = "zolinga_site.wsgi.application"

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

DATABASES: dict[str, dict[str, Any]] = {
    "default": env.database("DATABASE_URL", {"ENGINE": "django.db.backends.sqlite3", "NAME": str(DATA.database)})
}
# Without a lasting connection a request to PostgreSQL takes about ten times as long.
DATABASES["default"].setdefault("CONN_MAX_AGE", 60)
DATABASES["default"].setdefault("CONN_HEALTH_CHECKS", True)
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # IMMEDIATE: a transaction that reads and then writes waits for its turn, where the default fails at once
    # with “database is locked”.
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        **DATABASES["default"].get("OPTIONS", {}),
    }

CACHES = {"default": env.cache("CACHE_URL", "locmemcache://")}

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]

# Of the toolkit's deployment checks one stays: desktop clients listen at http://127.0.0.1 (RFC 8252 section 7.3).
OAUTH2_PROVIDER = oauth2_provider(public_url=PUBLIC_URL, **RFC_9700)
# People without a place in admin log in too, to let a client act for them.
LOGIN_URL = "oauth2_provider:login"

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = "static/"
# Files are served straight from the apps: there is no step to forget between an update and a restart.
WHITENOISE_USE_FINDERS = True

# The server speaks plain http; https is a proxy's, which says so in X-Forwarded-Proto.
_hsts_seconds = env.seconds("HSTS_SECONDS", 3600)
SECURE_SSL_REDIRECT = _https
# A client cannot follow a redirect with its message, and a proxy that forgets the header would send it in circles.
_below = re.escape(f"{_public.path.strip('/')}/") if _public.path.strip("/") else ""
SECURE_REDIRECT_EXEMPT = [rf"^{_below}(mcp(/|$)|\.well-known/|oauth/(token|revoke_token|register)/)"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _https else None
SECURE_HSTS_SECONDS = _hsts_seconds if _https else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = _https
SECURE_HSTS_PRELOAD = _https
SESSION_COOKIE_SECURE = _https
CSRF_COOKIE_SECURE = _https

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "filters": {
        # What an import refuses stands in its report, on the same screen.
        "unreported": {
            "()": "django.utils.log.CallbackFilter",
            "callback": lambda record: record.name != "mcp_gateway.imports",
        },
    },
    "handlers": {
        "console": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["unreported"]},
        # Watched, not rotating: several worker processes write it, and logrotate may move it away.
        "file": {
            "class": "logging.handlers.WatchedFileHandler",
            "filename": str(DATA.log / "zolinga.log"),
            "encoding": "utf-8",
            "delay": True,
            "formatter": "line",
        },
    },
    "root": {"handlers": ["console", "file"], "level": "WARNING"},
    "loggers": {
        # Django's own handlers stay out: they mail administrators and print everything twice.
        "django": {"handlers": [], "level": "WARNING", "propagate": True},
        # A 401 is how a client learns where to log in; it is not worth a line.
        "django.request": {"handlers": [], "level": "ERROR", "propagate": True},
        "mcp_gateway": {"level": "INFO"},
    },
}
