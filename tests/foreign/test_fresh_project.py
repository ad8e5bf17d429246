"""A project that had nothing of the kind: line by line from installing to a protected call."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.foreign import shop
from tests.foreign.project import Project

PUBLIC_URL = "https://shop.example.com"


def test_an_open_tool_needs_two_lines_and_four_commands(new_project: Callable[[], Project]) -> None:
    project = new_project()
    project.manage("startapp", "shop")
    project.settings('INSTALLED_APPS += ["shop"]')
    project.install()
    project.manage("migrate")
    assert "shop/zolinga.json" in project.manage("mcp_add_tool", "shop", "hello")
    report = json.loads(project.manage("import_manifests", "--json"))
    assert report["refused"] == []
    assert "hello" in {entry["name"] for entry in report["added"]}
    assert json.loads(project.manage("mcp_call", "hello"))["structuredContent"] == {"greeting": "Hello, world!"}
    called = json.loads(project.manage("mcp_call", "hello", '{"name": "Ada"}'))
    assert called["structuredContent"] == {"greeting": "Hello, Ada!"}
    assert project.issues() == set()
    assert "/name" in project.refuses("mcp_call", "hello", '{"name": ""}')
    assert "nothing" in project.refuses("mcp_call", "nothing")

    with project.serve() as site:
        assert site.tools() == ["hello"]
        assert site.tools(path="/mcp/") == ["hello"]
        result = site.call("hello", name="Ada").json()["result"]
        assert result["structuredContent"] == {"greeting": "Hello, Ada!"}
        assert result["isError"] is False
        refused = site.call("hello", name="").json()["result"]
        assert refused["isError"] is True
        assert "/name" in refused["content"][0]["text"]


def test_what_its_team_wrote_is_never_overwritten(project: Project) -> None:
    project.install()
    project.manage("migrate")
    before = (project.folder / "shop/zolinga.json").read_bytes()
    assert "has a tool 'hello' already" in project.refuses("mcp_add_tool", "shop", "hello")
    assert "is installed from a package" in project.refuses("mcp_add_tool", "auth", "hello")
    assert "MODULE_DIRS" in project.refuses("startmodule", "stock")
    assert (project.folder / "shop/zolinga.json").read_bytes() == before


def test_a_protected_tool_needs_three_more_lines(project: Project) -> None:
    project.write(shop.files(shop.HELLO, shop.PROTECTED))
    project.install()
    project.protect(PUBLIC_URL)
    project.manage("migrate")
    assert json.loads(project.manage("import_manifests", "--json"))["refused"] == []
    # Nothing is missing; that a fresh project has no login page of its own is only said.
    assert project.issues() == {"mcp_gateway.W005"}
    project.add_user("ada")
    token = project.manage("mcp_token", "--user", "ada", "--scope", "mcp:tools").strip()

    with project.serve() as site:
        assert site.tools() == ["hello", "whoAmI"]
        assert site.call("hello").status_code == 200

        refused = site.call("whoAmI")
        metadata = f"{PUBLIC_URL}/.well-known/oauth-protected-resource/mcp"
        assert refused.status_code == 401
        assert refused.headers["WWW-Authenticate"] == f'Bearer resource_metadata="{metadata}", scope="mcp:tools"'
        assert refused.json()["error"]["code"] == 401

        document = site.client.get(metadata.removeprefix(PUBLIC_URL)).json()
        assert document["resource"] == f"{PUBLIC_URL}/mcp"
        assert document["authorization_servers"] == [PUBLIC_URL]
        server = site.client.get("/.well-known/oauth-authorization-server").json()
        assert server["issuer"] == PUBLIC_URL
        assert server["token_endpoint"] == f"{PUBLIC_URL}/oauth/token/"

        wrong = site.call("whoAmI", token="x" + token)
        assert wrong.status_code == 401
        assert 'error="invalid_token"' in wrong.headers["WWW-Authenticate"]

        result = site.call("whoAmI", token=token).json()["result"]
        assert result["structuredContent"] == {"user": "ada", "users": 1}
        assert site.call("whoAmI", token=token, path="/mcp/").status_code == 200


def test_what_was_forgotten_is_told_with_the_line_to_paste(project: Project) -> None:
    project.write(shop.files(shop.PROTECTED))
    project.install()
    project.manage("migrate")
    assert json.loads(project.manage("import_manifests", "--json"))["refused"] == []
    checked = project.refuses("check", "--fail-level", "WARNING")
    assert "oauth2_provider(public_url=" in checked
    assert 'include("mcp_gateway.urls.well_known")' in checked
    assert 'include("mcp_gateway.oauth.urls")' in checked
