"""What was issued: nobody becomes more than they are by rewriting the row of a token, a code or a silent client."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin import AdminSite, ModelAdmin
from django.contrib.auth.models import Permission, User
from django.core.checks import CheckMessage, run_checks
from django.core.exceptions import PermissionDenied
from django.test import Client as Browser
from django.urls import reverse
from django.utils import timezone
from oauth2_provider.models import (
    get_access_token_model,
    get_application_model,
    get_grant_model,
    get_id_token_model,
    get_refresh_token_model,
)

from mcp_gateway.admin.applications import ActingGuard, GuardedApplicationAdmin
from mcp_gateway.models import Client
from tests.admin.test_pages import text_of

Staff = Callable[..., Browser]

MINE = hashlib.sha256(b"known-to-ada").hexdigest()


@pytest.fixture
def root(db: None) -> User:
    return User.objects.create_superuser("root")


@pytest.fixture
def application(root: User) -> Any:
    return get_application_model().objects.create(
        name="Editor",
        client_id="editor",
        client_secret="s3cret",
        hash_client_secret=False,
        client_type="confidential",
        authorization_grant_type="authorization-code",
        redirect_uris="https://editor.example/callback",
        user=root,
    )


@pytest.fixture
def operator(staff: Staff) -> Browser:
    """Staff with every permission on what the toolkit stores, and no superuser."""
    browser = staff("add_personaltoken")
    user = User.objects.get(username="operator")
    user.user_permissions.add(*Permission.objects.filter(content_type__app_label="oauth2_provider"))
    return browser


def issued(name: str, application: Any, user: User) -> Any:
    """A row of one kind, which acts as a user."""
    own = {"user": user, "application": application, "expires": timezone.now() + timedelta(hours=1)}
    made: dict[str, Callable[[], Any]] = {
        "accesstoken": lambda: get_access_token_model().objects.create(token="t0ken", scope="mcp:tools", **own),
        "refreshtoken": lambda: get_refresh_token_model().objects.create(
            token="t0ken", user=user, application=application
        ),
        "grant": lambda: get_grant_model().objects.create(
            code="c0de", redirect_uri="https://editor.example/callback", scope="mcp:tools", **own
        ),
        "idtoken": lambda: get_id_token_model().objects.create(**own),
    }
    return made[name]()


@pytest.mark.parametrize("name", ["accesstoken", "refreshtoken", "grant", "idtoken"])
def test_what_was_issued_is_looked_at_and_not_rewritten(
    operator: Browser, admin_client: Browser, application: Any, root: User, name: str
) -> None:
    row = issued(name, application, root)
    address = reverse(f"admin:oauth2_provider_{name}_change", args=[row.pk])
    text = text_of(operator.get(address))
    assert "root" in text
    assert 'name="user"' not in text
    assert operator.post(address, {"user": root.pk, "token_checksum": MINE}).status_code == 403
    assert operator.get(reverse(f"admin:oauth2_provider_{name}_changelist")).status_code == 200
    assert 'name="user"' in text_of(admin_client.get(address))


def test_staff_revoke_what_was_issued(operator: Browser, application: Any, root: User) -> None:
    row = issued("accesstoken", application, root)
    listed = reverse("admin:oauth2_provider_accesstoken_changelist")
    operator.post(listed, {"action": "revoke_tokens", "_selected_action": [row.pk]})
    assert not get_access_token_model().objects.exists()


@pytest.fixture
def reader(db: None) -> Browser:
    """Staff that may look at everything, and do nothing."""
    user = User.objects.create_user("reader", is_staff=True)
    user.user_permissions.add(*Permission.objects.filter(codename__startswith="view_"))
    browser = Browser()
    browser.force_login(user)
    return browser


@pytest.mark.parametrize("name", ["accesstoken", "refreshtoken"])
def test_whoever_may_only_look_revokes_nothing(reader: Browser, application: Any, root: User, name: str) -> None:
    row = issued(name, application, root)
    listed = reverse(f"admin:oauth2_provider_{name}_changelist")
    assert "revoke_tokens" not in text_of(reader.get(listed))
    reader.post(listed, {"action": "revoke_tokens", "_selected_action": [row.pk]})
    assert "root" in text_of(reader.get(reverse(f"admin:oauth2_provider_{name}_change", args=[row.pk])))
    row.refresh_from_db()
    assert getattr(row, "revoked", None) is None


def test_whoever_may_only_look_reads_no_secret(reader: Browser, admin_client: Browser, application: Any) -> None:
    address = reverse("admin:oauth2_provider_application_change", args=[application.pk])
    text = text_of(reader.get(address))
    assert "Editor" in text
    assert "s3cret" not in text
    assert "s3cret" in text_of(admin_client.get(address))


def test_a_revoked_refresh_token_is_told_from_one_that_works(operator: Browser, application: Any, root: User) -> None:
    row = issued("refreshtoken", application, root)
    listed = reverse("admin:oauth2_provider_refreshtoken_changelist")
    works = 'field-revoked nowrap">-<'
    assert works in text_of(operator.get(listed))
    operator.post(listed, {"action": "revoke_tokens", "_selected_action": [row.pk]})
    assert works not in text_of(operator.get(listed))


@pytest.mark.parametrize("who", ["admin_client", "operator"])
@pytest.mark.parametrize("name", ["accesstoken", "refreshtoken", "grant", "idtoken"])
def test_an_application_goes_with_what_was_issued_to_it(
    request: pytest.FixtureRequest, application: Any, root: User, name: str, who: str
) -> None:
    browser = request.getfixturevalue(who)
    row = issued(name, application, root)
    address = reverse("admin:oauth2_provider_application_delete", args=[application.pk])
    assert "permission to delete" not in text_of(browser.get(address))
    assert browser.post(address, {"post": "yes"}).status_code == 302
    assert not get_application_model().objects.exists()
    assert not type(row).objects.exists()


def test_a_user_goes_with_the_tokens_that_act_as_them(admin_client: Browser, application: Any) -> None:
    user = User.objects.create_user("gone")
    for name in ("accesstoken", "refreshtoken"):
        issued(name, application, user)
    assert admin_client.post(reverse("admin:auth_user_delete", args=[user.pk]), {"post": "yes"}).status_code == 302
    assert not User.objects.filter(username="gone").exists()
    assert not get_access_token_model().objects.exists()


def test_a_token_alone_is_revoked_and_not_deleted(admin_client: Browser, application: Any, root: User) -> None:
    row = issued("accesstoken", application, root)
    assert "deletelink" not in text_of(
        admin_client.get(reverse("admin:oauth2_provider_accesstoken_change", args=[row.pk]))
    )
    address = reverse("admin:oauth2_provider_accesstoken_delete", args=[row.pk])
    assert admin_client.post(address, {"post": "yes"}).status_code == 403
    listed = reverse("admin:oauth2_provider_accesstoken_changelist")
    admin_client.post(listed, {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"})
    assert get_access_token_model().objects.exists()


@pytest.mark.parametrize("count", [3, 60])
def test_tokens_are_filtered_by_a_few_clients_and_searched_among_many(admin_client: Browser, count: int) -> None:
    model = get_application_model()
    model.objects.bulk_create(
        model(
            name=f"Agent {number}",
            client_id=f"agent-{number}",
            client_type="public",
            authorization_grant_type="authorization-code",
        )
        for number in range(count)
    )
    text = text_of(admin_client.get(reverse("admin:oauth2_provider_accesstoken_changelist")))
    assert ("Agent 2" in text) is (count == 3)
    first = model.objects.order_by("pk").first()
    assert first is not None
    address = reverse("admin:oauth2_provider_accesstoken_changelist")
    assert admin_client.get(address, {"application__id__exact": first.pk}).status_code == 200


def test_no_page_of_an_application_leads_to_one_that_is_not_there(admin_client: Browser, application: Any) -> None:
    text = text_of(admin_client.get(reverse("admin:oauth2_provider_application_change", args=[application.pk])))
    assert "viewsitelink" not in text


@pytest.mark.parametrize(
    ("model", "lookup"),
    [
        ("application", "client_secret__startswith=s"),
        ("accesstoken", "token__startswith=t"),
        ("refreshtoken", "token__startswith=t"),
        ("grant", "code__startswith=c"),
    ],
)
def test_no_list_tells_a_secret_letter_by_letter(
    operator: Browser, application: Any, root: User, model: str, lookup: str
) -> None:
    if model != "application":
        issued(model, application, root)
    listed = reverse(f"admin:oauth2_provider_{model}_changelist")
    answer = operator.get(f"{listed}?{lookup}")
    assert answer.status_code == 400


FORM = {
    "name": "Editor",
    "client_id": "editor",
    "client_secret": "known-to-ada",
    "client_type": "confidential",
    "authorization_grant_type": "authorization-code",
    "redirect_uris": "https://ada.example/callback",
    "algorithm": "",
}


def test_only_a_superuser_says_that_people_are_not_asked(
    operator: Browser, admin_client: Browser, application: Any
) -> None:
    address = reverse("admin:oauth2_provider_application_change", args=[application.pk])
    for browser, silent in ((operator, False), (admin_client, True)):
        assert browser.post(address, {**FORM, "skip_authorization": "on"}).status_code == 302
        application.refresh_from_db()
        assert application.skip_authorization is silent
    add = reverse("admin:oauth2_provider_application_add")
    assert operator.post(add, {**FORM, "client_id": "another", "skip_authorization": "on"}).status_code == 302
    assert not get_application_model().objects.get(client_id="another").skip_authorization


def test_a_client_for_which_people_are_not_asked_is_changed_by_superusers(
    operator: Browser, admin_client: Browser, application: Any
) -> None:
    get_application_model().objects.update(skip_authorization=True, user=User.objects.get(username="operator"))
    for address in (
        reverse("admin:oauth2_provider_application_change", args=[application.pk]),
        reverse("oauth2_provider:update", args=[application.pk]),
    ):
        assert operator.get(reverse("oauth2_provider:detail", args=[application.pk])).status_code == 200
        assert operator.post(address, FORM).status_code == 403
    application.refresh_from_db()
    assert application.redirect_uris == "https://editor.example/callback"
    address = reverse("admin:oauth2_provider_application_change", args=[application.pk])
    assert admin_client.post(address, FORM).status_code == 302


def test_the_owner_of_a_client_that_acts_as_a_superuser_does_not_read_its_secret(
    operator: Browser, application: Any, root: User
) -> None:
    get_application_model().objects.update(user=User.objects.get(username="operator"))
    address = reverse("oauth2_provider:detail", args=[application.pk])
    assert "s3cret" in text_of(operator.get(address))
    Client.objects.create(application=application, service_user=root)
    assert "s3cret" not in text_of(operator.get(address))


class Editable(ActingGuard, ModelAdmin):  # type: ignore[type-arg]
    """A project's own page, whose list can be edited, and which says what it shows."""

    list_display = ("name", "authorization_grant_type", "skip_authorization")
    list_editable = ("authorization_grant_type", "skip_authorization")
    fieldsets = ((None, {"fields": ("name", ("client_id", "client_secret"))}),)


@pytest.fixture
def own_page(rf: Any, operator: Browser, application: Any) -> Callable[..., Any]:
    """POST the list of such a page as the operator; gives the application after it."""
    page = Editable(get_application_model(), AdminSite())

    def post(**changed: str) -> Any:
        sent = {
            "form-TOTAL_FORMS": "1",
            "form-INITIAL_FORMS": "1",
            "form-0-id": application.pk,
            "form-0-authorization_grant_type": "client-credentials",
            "_save": "Save",
            **changed,
        }
        request = rf.post("/", sent)
        request.user = User.objects.get(username="operator")
        request.session, request._messages, request._dont_enforce_csrf_checks = {}, Messages(), True
        # Newer versions of Django leave such a row as it is, older ones ask nobody.
        with suppress(PermissionDenied):
            page.changelist_view(request)
        application.refresh_from_db()
        return application

    return post


class Messages:
    def add(self, *args: Any) -> None: ...


def test_nor_is_such_a_client_changed_in_a_list_that_can_be_edited(
    own_page: Callable[..., Any], application: Any, root: User
) -> None:
    row = Client.objects.create(application=application, service_user=root)
    assert own_page().authorization_grant_type == "authorization-code"
    row.delete()
    assert not own_page(**{"form-0-skip_authorization": "on"}).skip_authorization
    assert own_page().authorization_grant_type == "client-credentials"


def test_a_page_that_says_what_it_shows_shows_no_secret(
    rf: Any, operator: Browser, application: Any, root: User
) -> None:
    Client.objects.create(application=application, service_user=root)
    page, request = Editable(get_application_model(), AdminSite()), rf.get("/")
    request.user = User.objects.get(username="operator")
    assert "client_secret" not in str(page.get_fieldsets(request, application))
    request.user = root
    assert "client_secret" in str(page.get_fieldsets(request, application))


def test_a_project_with_pages_of_its_own_is_told_what_guards_them(monkeypatch: pytest.MonkeyPatch, db: None) -> None:
    def told() -> list[CheckMessage]:
        return [message for message in run_checks() if message.id == "mcp_gateway.W020"]

    assert not told()
    model = get_access_token_model()
    monkeypatch.setitem(admin.site._registry, model, ModelAdmin(model, admin.site))
    (message,) = told()
    assert "ModelAdmin" in message.msg
    assert "mcp_gateway.admin.issued.IssuedGuard" in str(message.hint)
    monkeypatch.setattr("mcp_gateway.checks.guards.names_scopes", lambda: False)
    assert not told()


class Bare(ModelAdmin):  # type: ignore[type-arg]
    """A project's own page of applications, without the guard."""


@pytest.mark.parametrize(("page", "is_told"), [(GuardedApplicationAdmin, False), (Editable, False), (Bare, True)])
def test_a_project_with_a_page_of_applications_of_its_own_is_told_what_guards_it(
    monkeypatch: pytest.MonkeyPatch, db: None, page: type[Any], is_told: bool
) -> None:
    model = get_application_model()
    monkeypatch.setitem(admin.site._registry, model, page(model, admin.site))
    told = [message for message in run_checks() if message.id == "mcp_gateway.W020"]
    assert ["Bare" in message.msg for message in told] == [True] * is_told
    assert all("mcp_gateway.admin.applications.ActingGuard" in str(message.hint) for message in told)
