"""The page of what differs, and what a module declares beside its listeners."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.test import Client, override_settings
from django.urls import reverse

from mcp_gateway.models import Module, Resource, Tool
from tests.manifest.samples import FILES, tool

Write = Callable[..., Path]
Import = Callable[..., dict[str, Any]]


@override_settings(ROOT_URLCONF="zolinga_site.urls")
def test_the_admin_shows_drift_and_what_a_module_declares(write_module: Write, import_manifests: Import) -> None:
    manifest = {
        "listen": [tool("a")],
        "emit": [{"event": "demo:*"}],
        "config": {"# x": "y", "mailer": {"retries": 3}},
        "webComponents": [{"tag": "demo-box", "module": "box.js"}],
        "dependencies": ["absent@main"],
    }
    write_module(manifest, FILES)
    import_manifests()
    client = Client()
    assert client.get("/admin/mcp_gateway/module/drift/").status_code == 302
    client.force_login(get_user_model()._default_manager.create_superuser("root", password="x"))
    listing = client.get("/admin/mcp_gateway/module/").content.decode()
    assert 'href="/admin/mcp_gateway/module/drift/"' in listing
    page = client.get("/admin/mcp_gateway/module/drift/").content.decode()
    assert "Tools that anyone may call" in page
    assert "tool a" in page
    address = f"/admin/mcp_gateway/module/{Tool.objects.get(name='a').listener.module_id}/change/"  # type: ignore[union-attr]
    shown = client.get(address).content.decode()
    for text in ("demo:*", "retries", "demo-box", "absent@main"):
        assert text in shown
    clerk = get_user_model()._default_manager.create_user("clerk", password="x", is_staff=True)
    client.force_login(clerk)
    assert client.get("/admin/mcp_gateway/module/drift/").status_code == 403


def test_the_right_of_a_file_that_is_gone_is_nobodys_concern(module: Module, admin_client: Client) -> None:
    Resource.objects.create(
        uri="mcp-system:shop:x", module=module, name="x", right="member of nobodies", available=True
    )
    assert "Rights that nobody holds" in admin_client.get(reverse("admin:mcp_gateway_drift")).content.decode()
    Resource.objects.update(available=False)
    assert "Rights that nobody holds" not in admin_client.get(reverse("admin:mcp_gateway_drift")).content.decode()
