"""Models that share nothing with Django's and the toolkit's but their base classes."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models
from oauth2_provider.models import (
    AbstractAccessToken,
    AbstractApplication,
    AbstractGrant,
    AbstractIDToken,
    AbstractRefreshToken,
)


class Contact(models.Model):
    """What a person is by: the user inherits its table."""

    key = models.UUIDField(primary_key=True, default=uuid.uuid4)
    email = models.EmailField(unique=True)

    def __str__(self) -> str:
        return self.email


class Person(Contact, AbstractBaseUser):
    """A user in two tables, with a UUID for a key and no ``is_active`` column."""

    preferences = models.JSONField(default=dict)

    USERNAME_FIELD = "email"
    objects = BaseUserManager()

    def __str__(self) -> str:
        return self.email


class Application(AbstractApplication):  # type: ignore[misc]
    """An application that somebody can suspend, by a column the toolkit knows nothing of."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    suspended = models.BooleanField(default=False)

    def is_usable(self, request: Any) -> bool:
        return not self.suspended


class Grant(AbstractGrant):  # type: ignore[misc]
    pass


class AccessToken(AbstractAccessToken):  # type: ignore[misc]
    """A token that can be frozen; asking for it reads a column that the gateway does not."""

    frozen = models.BooleanField(default=False)

    def is_expired(self) -> bool:
        return self.frozen or bool(super().is_expired())


class RefreshToken(AbstractRefreshToken):  # type: ignore[misc]
    pass


class IDToken(AbstractIDToken):  # type: ignore[misc]
    pass
