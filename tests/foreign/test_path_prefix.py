"""A project that does not live at the root: under a prefix of its own, and under one that a proxy takes off."""

from __future__ import annotations

from tests.foreign import shop
from tests.foreign.project import Project


def test_the_gateway_can_be_included_under_a_prefix(project: Project) -> None:
    project.write(shop.files(shop.HELLO, shop.PROTECTED))
    project.settings('INSTALLED_APPS += ["rest_framework", "oauth2_provider", "mcp_gateway"]')
    project.urls('urlpatterns += [path("agents/", include("mcp_gateway.urls"))]')
    project.protect("https://shop.example.com")
    project.manage("migrate")
    project.manage("import_manifests")
    project.add_user("ada")
    token = project.manage("mcp_token", "--user", "ada", "--scope", "mcp:tools").strip()
    with project.serve() as site:
        assert site.rpc("tools/list").status_code == 404
        assert site.tools(path="/agents/mcp") == ["hello", "whoAmI"]
        refused = site.call("whoAmI", path="/agents/mcp")
        assert refused.status_code == 401
        metadata = "/.well-known/oauth-protected-resource/agents/mcp"
        assert f'resource_metadata="https://shop.example.com{metadata}"' in refused.headers["WWW-Authenticate"]
        assert site.client.get(metadata).json()["resource"] == "https://shop.example.com/agents/mcp"
        assert site.client.get("/.well-known/oauth-protected-resource/mcp").status_code == 404
        assert site.call("whoAmI", path="/agents/mcp", token=token).status_code == 200


def test_the_site_can_live_under_a_prefix_that_a_proxy_takes_off(project: Project) -> None:
    project.write(shop.files(shop.HELLO, shop.PROTECTED))
    project.settings('FORCE_SCRIPT_NAME = "/shop"')
    project.install()
    project.protect("https://example.com/shop")
    project.manage("migrate")
    project.manage("import_manifests")
    project.add_user("ada")
    token = project.manage("mcp_token", "--user", "ada", "--scope", "mcp:tools").strip()
    with project.serve() as site:
        refused = site.call("whoAmI")
        assert refused.status_code == 401
        (metadata,) = [
            part.partition('"')[2].rstrip('",')
            for part in refused.headers["WWW-Authenticate"].split()
            if part.startswith("resource_metadata=")
        ]
        assert metadata.startswith("https://example.com/")
        # The proxy hands on what follows the prefix.
        document = site.client.get(metadata.removeprefix("https://example.com").removeprefix("/shop")).json()
        assert document["resource"] == "https://example.com/shop/mcp"
        assert document["authorization_servers"] == ["https://example.com/shop"]
        assert site.call("whoAmI", token=token).json()["result"]["structuredContent"]["user"] == "ada"
