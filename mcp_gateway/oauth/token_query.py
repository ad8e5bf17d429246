"""The one statement of a request: access token, user, application, client row and generation.

The statement is a queryset's, compiled once per process and alias by Django's own compiler with a marker in place
of the checksum (`statement`). Compiling is what costs: the same queryset evaluated anew takes some seventeen times
as long. It reads where the models are written (``db_for_write``): a replica that lags would accept a token that was
just revoked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from django.contrib.auth import get_user_model
from django.core.signals import setting_changed
from django.db import models, router
from django.db.models import Subquery
from oauth2_provider.models import AbstractApplication, get_access_token_model, get_application_model

from mcp_gateway import registry
from mcp_gateway.models import Client, Generation
from mcp_gateway.models.generation import GENERATION_PK
from mcp_gateway.oauth.statement import Statement

_MARKER = "0" * 63 + "?"

# What the database says of a token, as its driver has it.
Row: TypeAlias = tuple[Any, ...]

# What judging a token needs of its row; a swapped model that reads more in is_expired() has it fetched.
_TOKEN_FIELDS = ("expires", "scope", "resource", "application_id", "user_id")


@dataclass(frozen=True, slots=True)
class Found:
    """What the statement says: ``token`` is None for one that does not exist.

    ``user`` is the token's user, or the client's service user where the token has none. ``client_enabled`` is True
    for a token without an application or client row, ``owner_enabled`` for an application that is nobody's. ``row`` is
    what all that was made of, None where it was not one statement that told it.
    """

    generation: int
    token: Any = None
    user: Any = None
    application: Any = None
    client_enabled: bool = True
    owner_enabled: bool = True
    row: Row | None = None


class TokenStatement:
    """The columns of the joined statement, and how rows of them become instances.

    ``with_service_user``: join the user that a client without one of its own acts as. Most sites have none, and
    the columns of one more user are a seventh of what the statement costs.
    """

    def __init__(self, token_alias: str, gateway_alias: str, with_service_user: bool) -> None:
        self.alias = token_alias
        self.joined = token_alias == gateway_alias
        self.with_service_user = with_service_user
        token, application, user = get_access_token_model(), get_application_model(), get_user_model()
        self._parts: list[tuple[str, type[models.Model], list[str]]] = [
            ("", token, _present(token, token._meta.pk.attname, *_TOKEN_FIELDS)),
            ("user__", user, _concrete(user)),
            (
                "application__",
                application,
                _concrete(application)
                if overrides_is_usable()
                else _present(application, application._meta.pk.attname, "client_id", "registration_source"),
            ),
        ]
        # A project's users may have no such column: then all are active.
        self._has_owner = bool(_present(user, "is_active"))
        loose = ["application__user__is_active"] if self._has_owner else []
        annotations: dict[str, Any] = {}
        if self.joined:
            side = f"application__{Client._meta.get_field('application').related_query_name()}__"
            if with_service_user:
                self._parts.append((f"{side}service_user__", user, _concrete(user)))
            loose += [f"{side}enabled", f"{side}service_user_id"]
            annotations["mcp_generation"] = Subquery(_generation_rows())
        self._rows = token.objects
        self._columns = [f"{path}{name}" for path, _model, names in self._parts for name in names] + loose
        self._annotations = annotations
        # A manager of the project's own may filter by what holds now: then its queryset is asked each time.
        self._compiled = self._compile() if type(token.objects).get_queryset is models.Manager.get_queryset else None

    def _compile(self) -> Statement:
        rows = self._rows.annotate(**self._annotations).filter(token_checksum=_MARKER).order_by()
        return Statement(rows.values_list(*self._columns, *self._annotations), self.alias, _MARKER)

    def row(self, checksum: str) -> Row | None:
        """The row of a token, None where there is none."""
        return self._statement().row(checksum)

    def _statement(self) -> Statement:
        return self._compiled or self._compile()

    def instances(self, raw: Row) -> tuple[list[Any], list[Any], bool]:
        """The instances of a row (None where a join found nothing), the gateway's own columns (none where they are
        in another database), and whether the application's owner is active.
        """
        row = self._statement().converted(raw)
        made: list[Any] = []
        start = 0
        for _path, model, names in self._parts:
            values = row[start : start + len(names)]
            start += len(names)
            key = values[names.index(model._meta.pk.attname)]
            made.append(None if key is None else model.from_db(self.alias, names, values))
        owner_enabled = not self._has_owner or row[start] is not False
        return made, row[start + self._has_owner :], owner_enabled


def find(token: str) -> Found:
    """Look up an access token by its SHA-256, as the toolkit stores it (hashed or legacy plain text alike)."""
    statement, row = look_up(checksum_of(token))
    return Found(generation()) if row is None else found(statement, row)


def checksum_of(token: str) -> str:
    """What the toolkit finds a token by."""
    return hashlib.sha256(token.encode()).hexdigest()


def look_up(checksum: str) -> tuple[TokenStatement, Row | None]:
    """The row of a token, None where there is none, and the statement that read it."""
    aliases = _aliases() if router.routers else _only_aliases()
    statement = _token_statement(*aliases, _has_service_users())
    return statement, statement.row(checksum)


def _aliases() -> tuple[str, str]:
    """Where tokens and the generation are written."""
    return router.db_for_write(get_access_token_model()), router.db_for_write(Generation)


# Routers may choose anew each time; without them there is nothing to choose.
_only_aliases = cache(_aliases)


def found(statement: TokenStatement, row: Row) -> Found:
    """What a row says. Where the OAuth tables are in another database, a statement there tells the rest."""
    (access_token, user, application, *service_users), loose, owner_enabled = statement.instances(row)
    told_all = bool(loose)
    enabled, service_user_id, number = loose or _client_beside(access_token.application_id)
    if user is None and service_user_id is not None:
        # The snapshot may be older than the client's service user, or users be where clients are not.
        told_all = told_all and bool(service_users)
        user = service_users[0] if service_users else _user(service_user_id)
    return Found(
        generation=number or 0,
        token=access_token,
        user=user,
        application=application,
        client_enabled=enabled is not False,
        owner_enabled=owner_enabled,
        row=row if told_all else None,
    )


def user_of(statement: TokenStatement, row: Row) -> Any:
    """The user of a row that told all, a new instance each time."""
    _token, user, _application, *service_users = statement.instances(row)[0]
    return service_users[0] if user is None else user


def _user(pk: Any) -> Any:
    return get_user_model()._default_manager.filter(pk=pk).first()


def generation() -> int:
    """The generation now, with the precompiled statement; 0 where there is no row yet."""
    _, alias = _aliases() if router.routers else _only_aliases()
    row = _generation_statement(alias).first()
    return row[0] if row else 0


@cache
def overrides_is_usable() -> bool:
    """Whether the project's application has something of its own to say about being usable."""
    return get_application_model().is_usable is not AbstractApplication.is_usable


@cache
def _token_statement(token_alias: str, gateway_alias: str, with_service_user: bool) -> TokenStatement:
    return TokenStatement(token_alias, gateway_alias, with_service_user)


def _has_service_users() -> bool:
    snapshot = registry.latest()
    return snapshot.derived(
        _has_service_users, lambda: any(client.service_user_id is not None for client in snapshot.clients.values())
    )


@cache
def _generation_statement(alias: str) -> Statement:
    return Statement(_generation_rows(), alias)


def _generation_rows() -> models.QuerySet[Any, Any]:
    return Generation._base_manager.filter(pk=GENERATION_PK).values_list("number").order_by()


def _client_beside(application_id: Any) -> tuple[bool | None, Any, int]:
    """Client row and generation where the OAuth tables are in another database, in one statement."""
    alias = router.db_for_write(Generation)
    client = Client._base_manager.filter(application_id=application_id).order_by()
    row = (
        Generation._base_manager.using(alias)
        .filter(pk=GENERATION_PK)
        .values_list(Subquery(client.values("enabled")), Subquery(client.values("service_user_id")), "number")
        .first()
    )
    return row if row is not None else (None, None, 0)


def _concrete(model: type[models.Model]) -> list[str]:
    return [field.attname for field in model._meta.concrete_fields]


def _present(model: type[models.Model], *names: str) -> list[str]:
    # In the model's order: from_db() takes the values of a part of the fields in that order.
    return [name for name in _concrete(model) if name in names]


_caches: tuple[Callable[[], None], ...] = (
    _token_statement.cache_clear,
    _only_aliases.cache_clear,
    _generation_statement.cache_clear,
    overrides_is_usable.cache_clear,
)


def forget() -> None:
    """Drop the compiled statements (settings that decide about models or databases have changed)."""
    for clear in _caches:
        clear()


def _on_setting_changed(*, setting: str, **kwargs: Any) -> None:
    if setting in ("DATABASES", "DATABASE_ROUTERS", "AUTH_USER_MODEL", "USE_TZ", "TIME_ZONE"):
        forget()


setting_changed.connect(_on_setting_changed, dispatch_uid="mcp_gateway.oauth.token_query")
