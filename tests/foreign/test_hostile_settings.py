"""A project whose settings stand in the way of every view that does not look after itself."""

from __future__ import annotations

from tests.foreign import shop
from tests.foreign.project import Project

SETTINGS = """
DEBUG = False
ALLOWED_HOSTS = ["shop.example.com"]
REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.BrowsableAPIRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.FormParser"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.SessionAuthentication"],
    "DEFAULT_THROTTLE_CLASSES": [
        "rest_framework.throttling.AnonRateThrottle",
        "rest_framework.throttling.UserRateThrottle",
    ],
    "DEFAULT_THROTTLE_RATES": {"anon": "1/day", "user": "1/day"},
    "DEFAULT_VERSIONING_CLASS": "rest_framework.versioning.AcceptHeaderVersioning",
    "ALLOWED_VERSIONS": ["7"],
    "EXCEPTION_HANDLER": "shop.nowhere.handler",
}
MIDDLEWARE += [
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.middleware.locale.LocaleMiddleware",
]
SECURE_SSL_REDIRECT = True
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
DATABASES["default"]["ATOMIC_REQUESTS"] = True
APPEND_SLASH = True
LANGUAGE_CODE = "de"
"""

URLS = """
from django.conf.urls.i18n import i18n_patterns
urlpatterns = i18n_patterns(*urlpatterns)
"""


def test_they_do_not_stand_in_the_gateways_way(project: Project) -> None:
    project.write(shop.files(shop.HELLO, shop.PROTECTED))
    project.settings(SETTINGS)
    project.urls(URLS)
    project.install()
    project.protect("https://shop.example.com")
    project.manage("migrate")
    project.manage("import_manifests")
    project.add_user("ada")
    token = project.manage("mcp_token", "--user", "ada", "--scope", "mcp:tools").strip()
    with project.serve(**{"Host": "shop.example.com", "X-Forwarded-Proto": "https"}) as site:
        for _time in range(3):
            assert site.tools() == ["hello", "whoAmI"]
        assert site.tools(path="/mcp/") == ["hello", "whoAmI"]
        assert site.call("hello", name="x" * 5000).json()["result"]["isError"] is False
        refused = site.call("whoAmI")
        assert refused.status_code == 401
        assert "resource_metadata=" in refused.headers["WWW-Authenticate"]
        assert refused.headers["Content-Type"] == "application/json"
        assert site.client.get("/.well-known/oauth-protected-resource/mcp").status_code == 200
        assert site.client.get("/.well-known/oauth-authorization-server").status_code == 200
        assert site.call("whoAmI", token=token).json()["result"]["structuredContent"]["user"] == "ada"

        answered = site.client.post("/oauth/token/", data={"grant_type": "authorization_code", "code": "x"})
        assert answered.status_code in (400, 401)
        assert answered.json()["error"] in ("invalid_client", "invalid_request", "invalid_grant")

        uris = ["https://client.example/callback", "http://localhost:3000/" + "x" * 1500]
        registered = site.client.post("/oauth/register/", json={"redirect_uris": uris})
        assert registered.status_code == 201, registered.text
        made = registered.json()
        assert made["registration_client_uri"].startswith("https://shop.example.com/oauth/register/")
        header = {"Authorization": f"Bearer {made['registration_access_token']}"}
        assert site.client.get(f"/oauth/register/{made['client_id']}/", headers=header).json()["redirect_uris"] == uris

        # The project's own pages are as strict as before.
        assert site.client.get("/de/admin/").status_code == 302
        plain = site.client.post("/mcp", headers={"X-Forwarded-Proto": "http"})
        assert plain.status_code == 301
        assert plain.headers["Location"] == "https://shop.example.com/mcp"
