"""What uses a scope: rows that require it, files that name it in a right, and tokens that carry it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from django.db.models import Prefetch, QuerySet
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from oauth2_provider.models import get_access_token_model

from mcp_gateway.admin.display import QUIET, apart, lines, link, mark
from mcp_gateway.models import Client, Listener, Prompt, Resource, Scope
from mcp_gateway.rights.grammar import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from django.utils.safestring import SafeString

    Naming = Listener | Resource | Prompt

# What each relation of a scope says of the row at its other end.
_RELATIONS = {
    "tools": _("required by the tool {}"),
    "resources": _("required by the resource {}"),
    "prompts": _("required by the prompt {}"),
    "baseline_of": _("baseline of the endpoint {}"),
    "clients": _("allowed to the client {}"),
    "implied_by": _("implied by the scope {}"),
}
_RIGHTS = {
    Listener: _("named in the right of the listener {}"),
    Resource: _("named in the right of the resource {}"),
    Prompt: _("named in the right of the prompt {}"),
}

# Names in a cell of the list.
SHOWN = 6

# Lines of one kind on a scope's page: of clients that came by themselves there may be thousands.
LINES = 100


def with_users(scopes: QuerySet[Scope]) -> QuerySet[Scope]:
    """The scopes, with all that is related to them read at once; contents of resources and prompts are not."""
    rows = {
        "resources": Resource._base_manager.defer("content"),
        "prompts": Prompt._base_manager.defer("content"),
        # A client is called what its application is.
        "clients": Client._base_manager.select_related("application"),
    }
    return scopes.prefetch_related(*(Prefetch(name, rows.get(name)) for name in _RELATIONS))


def named_in_files() -> Mapping[str, Sequence[Naming]]:
    """What names a scope in its right, by the scope: listeners, resources and prompts of modules that are there."""
    naming: dict[str, list[Naming]] = defaultdict(list)
    rows: list[QuerySet[Any]] = [
        Listener.objects.all(),
        Resource.objects.defer("content"),
        Prompt.objects.defer("content"),
    ]
    for found in rows:
        for row in found.filter(module__present=True).exclude(right="").select_related("module"):
            for name in parse(row.right).scopes:
                naming[name].append(row)
    return naming


def names_of(rows: Iterable[Any]) -> str:
    """Rows in a sentence: listeners by their events, the others by their names."""
    return ", ".join(sorted({_name(row) for row in rows}))


def short(scope: Scope, naming: Sequence[Naming]) -> SafeString | str:
    """The names of what uses it, the first of them where there are many."""
    names = list(dict.fromkeys(_name(row) for row in (*scope.needed_by(), *naming)))
    if not names:
        return mark(QUIET, gettext("nothing"))
    shown = apart(names[:SHOWN])
    more = len(names) - SHOWN
    return shown if more <= 0 else format_html(gettext("{} and {} more"), shown, more)


def full(scope: Scope) -> SafeString:
    """Every use on a line of its own, linked."""
    rows = [*_related(scope), *_naming(scope), *_tokens(scope.name)]
    return lines(rows) if rows else mark(QUIET, gettext("nothing"))


def tokens_with(name: str) -> int:
    """How many access tokens that have not expired carry a scope, personal ones among them."""
    tokens = get_access_token_model().objects.filter(scope__contains=name, expires__gt=timezone.now())
    return sum(name in scope.split() for scope in tokens.values_list("scope", flat=True).iterator())


def _related(scope: Scope) -> Iterator[SafeString]:
    for relation, text in _RELATIONS.items():
        rows = getattr(scope, relation).all()
        yield from (format_html(str(text), link(row)) for row in rows[:LINES])
        yield from _more(len(rows))


def _naming(scope: Scope) -> Iterator[SafeString]:
    rows = named_in_files().get(scope.name, ())
    yield from (format_html(str(_RIGHTS[type(row)]), link(row)) for row in rows[:LINES])
    yield from _more(len(rows))


def _more(count: int) -> Iterator[SafeString]:
    if count > LINES:
        yield mark(QUIET, gettext("and %(count)d more") % {"count": count - LINES})


def _tokens(name: str) -> Iterator[str]:
    count = tokens_with(name)
    if count:
        yield ngettext(
            "carried by %(count)d access token that works", "carried by %(count)d access tokens that work", count
        ) % {"count": count}


def _name(row: Any) -> str:
    return row.event if isinstance(row, Listener) else str(row)
