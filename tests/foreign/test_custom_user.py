"""A project whose users log in by e-mail, have UUIDs for keys and no user name."""

from __future__ import annotations

from tests.foreign import shop
from tests.foreign.project import Project

MODELS = """
import uuid

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.db import models


class PersonManager(BaseUserManager):
    def create_superuser(self, email, password=None):
        person = self.model(email=email, is_superuser=True)
        person.set_password(password)
        person.save()
        return person


class Person(AbstractBaseUser, PermissionsMixin):
    uuid = models.UUIDField(primary_key=True, default=uuid.uuid4)
    email = models.EmailField(unique=True)
    objects = PersonManager()
    USERNAME_FIELD = "email"
    is_staff = True
"""


def test_tokens_are_issued_to_and_checked_for_its_users(project: Project) -> None:
    project.write(
        {
            **shop.files(shop.HELLO, shop.PROTECTED),
            "people/__init__.py": "",
            "people/models.py": MODELS,
            "people/migrations/__init__.py": "",
        }
    )
    project.settings('INSTALLED_APPS += ["people"]', 'AUTH_USER_MODEL = "people.Person"')
    project.install()
    project.protect("https://shop.example.com")
    project.manage("makemigrations", "people")
    project.manage("migrate")
    project.manage("import_manifests")
    assert project.issues() == {"mcp_gateway.W005"}
    project.manage(
        "createsuperuser", "--noinput", "--email", "ada@example.com", DJANGO_SUPERUSER_PASSWORD="only-for-tests"
    )
    token = project.manage("mcp_token", "--user", "ada@example.com", "--scope", "mcp:tools").strip()
    with project.serve() as site:
        assert site.call("whoAmI").status_code == 401
        result = site.call("whoAmI", token=token).json()["result"]
        assert result["structuredContent"] == {"user": "ada@example.com", "users": 1}
