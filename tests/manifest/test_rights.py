"""Rights that nobody can hold, or nobody holds yet, are pointed out where they are imported and as drift."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group

from mcp_gateway.admin.status import closed_by
from mcp_gateway.manifest.drift import findings
from mcp_gateway.models import Scope
from mcp_gateway.registry import snapshot
from tests.manifest.samples import FILES, tool

Write = Callable[..., Path]
Import = Callable[..., dict[str, Any]]


def shop(right: str) -> dict[str, Any]:
    keys = {"class": "\\Shop\\Handler", "schema": {"response": {"type": "object"}}, "right": right}
    return {"name": "Shop", "listen": [tool("shop-tool", **keys)]}


def warnings(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [entry for entry in report["warnings"] if entry["pointer"].endswith("/right")]


def provider(**changes: Any) -> dict[str, Any]:
    entry = {"event": "system:authorize", "class": "\\Demo\\Handler", "method": "on", "origin": ["internal"], **changes}
    return {"name": "Demo", "listen": [entry]}


def test_a_right_that_no_provider_knows_is_a_warning_with_the_cure(
    write_module: Write, import_manifests: Import
) -> None:
    write_module(shop("owner of shop"), FILES, module="shop")
    (warning,) = warnings(import_manifests())
    assert "nothing answers for “owner”" in warning["message"]
    assert "system:authorize" in warning["message"]
    assert any("owner" in reason for reason in closed_by(("owner of shop",), snapshot()))


@pytest.mark.parametrize("only", [(), ("--module", "shop")])
@pytest.mark.parametrize("changes", [{}, {"origin": "*"}, {"event": "system:*"}])
def test_it_is_none_where_a_module_answers_for_rights(
    write_module: Write, import_manifests: Import, only: tuple[str, ...], changes: dict[str, Any]
) -> None:
    write_module(shop("owner of shop"), FILES, module="shop")
    write_module(provider(**changes), FILES)
    import_manifests()
    assert warnings(import_manifests(*only)) == []
    assert list(closed_by(("owner of shop",), snapshot())) == []


@pytest.mark.parametrize("changes", [{"origin": ["remote"]}, {"event": "system:authorise"}, {"priority": "high"}])
def test_a_listener_that_is_not_asked_answers_for_nothing(
    write_module: Write, import_manifests: Import, changes: dict[str, Any]
) -> None:
    write_module(shop("owner of shop"), FILES, module="shop")
    write_module(provider(**changes), FILES)
    assert len(warnings(import_manifests())) == 1


def test_a_right_that_cannot_be_read_is_pointed_out_all_the_same(write_module: Write, import_manifests: Import) -> None:
    write_module(shop("owner |"), FILES, module="shop")
    write_module(provider(), FILES)
    (warning,) = warnings(import_manifests())
    assert "without a word" in warning["message"]


def test_a_right_that_only_a_module_can_know_is_told_while_its_entry_is_new(
    write_module: Write, import_manifests: Import
) -> None:
    write_module(provider(), FILES)
    write_module(shop("owner of shop"), FILES, module="shop")
    (warning,) = warnings(import_manifests())
    assert 'only a listener of system:authorize can answer for "owner"' in warning["message"]
    assert warnings(import_manifests()) == []
    write_module(shop("owner of house"), FILES, module="shop")
    assert len(warnings(import_manifests("--dry-run"))) == 1


@pytest.mark.parametrize(
    ("right", "meant"),
    [
        ("authentcated", "authenticated"),
        ("Staff", "staff"),
        ("oauth2:scopes mcp:tools", "oauth2:scope"),
        ("permission shop.view", "perm"),
        ("group users", "member of"),
    ],
)
def test_a_mistyped_provider_is_pointed_out_as_long_as_it_stands(
    write_module: Write, import_manifests: Import, right: str, meant: str
) -> None:
    write_module(provider(), FILES)
    write_module(shop(right), FILES, module="shop")
    import_manifests()
    (warning,) = warnings(import_manifests())
    assert f'If "{meant}" is meant, write that.' in warning["message"]


@pytest.mark.parametrize(
    ("right", "said"),
    [
        ("member of clerks", ['the group "clerks", which does not exist']),
        ('member of users|"night clerks"', ['the group "night clerks"']),
        ("member of users", []),
        ("perm example.add_pricealert", []),
        ("perm example.add_pricealert|example.fly", ['the permission "example.fly", which does not exist']),
        ("perm add_pricealert", ['write "app.add_pricealert"']),
        ("perm no.one member", ['the permission "no.one"', 'the permission "member"']),
        ("oauth2:scope mcp:tools", []),
        ("staff", []),
    ],
)
def test_groups_and_permissions_that_do_not_exist_are_told_at_import_and_as_drift(
    write_module: Write, import_manifests: Import, right: str, said: list[str]
) -> None:
    Group.objects.get_or_create(name="users")
    write_module(shop(right), FILES, module="shop")
    import_manifests()
    told = [warning["message"] for warning in warnings(import_manifests())]
    drift = [finding.message for finding in findings() if finding.kind.number == 28 and "shop" in finding.subject]
    for messages in (told, drift):
        assert len(messages) == len(said)
        assert all(part in message for part, message in zip(said, messages, strict=True))


def test_a_scope_that_an_import_made_and_no_right_names_any_more_is_drift(
    write_module: Write, import_manifests: Import
) -> None:
    def told() -> list[str]:
        return [finding.subject for finding in findings() if finding.kind.number == 29]

    write_module(shop("oauth2:scope shop:reed"), FILES, module="shop")
    import_manifests()
    assert told() == []
    write_module(shop("oauth2:scope shop:read"), FILES, module="shop")
    import_manifests()
    assert told() == ["scope shop:reed"]
    scope = Scope.objects.get(name="shop:reed")
    scope.description = "Read the shop"
    scope.save()
    assert told() == []


@pytest.mark.parametrize(
    ("right", "told"),
    [
        ("mcp:tools", 'If a scope is meant, write "oauth2:scope mcp:tools".'),
        ("orders:read orders:write", 'write "oauth2:scope orders:read orders:write".'),
        ("oauth2:scopes mcp:tools", 'If "oauth2:scope" is meant, write that.'),
        ("oauth2:scope mcp:tools, orders:read", 'The scope "mcp:tools," has a comma in its name.'),
    ],
)
def test_scopes_that_are_written_wrongly_are_told_with_the_cure(
    right: str, told: str, write_module: Write, import_manifests: Import
) -> None:
    write_module(shop(right), FILES, module="shop")
    assert told in "\n".join(warning["message"] for warning in warnings(import_manifests()))
