"""Why a tool is, or is not, served: the answer an operator looks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from mcp_gateway.admin.display import BAD, GOOD, QUIET, WARN
from mcp_gateway.models import Offered, Published, Tool
from mcp_gateway.registry import Snapshot, ToolEntry
from mcp_gateway.resources.listeners import answer_event, is_unanswered
from mcp_gateway.rights.grammar import parse
from mcp_gateway.rights.providers import problem

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class ToolState:
    """One word with its level, and the reasons behind it."""

    level: str
    word: str
    reasons: tuple[str, ...] = ()


def tool_state(tool: Tool, snapshot: Snapshot) -> ToolState:
    """Judge a tool as the endpoint would at this snapshot."""
    if not tool.available:
        reasons = [tool.problem] if tool.problem else [_("No manifest offers it at present.")]
        return ToolState(BAD if tool.problem else QUIET, _("refused") if tool.problem else _("retired"), tuple(reasons))
    if not tool.enabled:
        return ToolState(QUIET, _("off"), (_("It is switched off here: neither listed nor callable."),))
    if tool.effective_visibility == Tool.Visibility.OFF:
        return ToolState(QUIET, _("off"), (_("Its visibility is “off”: neither listed nor callable."),))
    entry = snapshot.tools.get(tool.name)
    if tool.name in snapshot.left_out:
        reason = _('It needs no right, and ZOLINGA["REFUSE_OPEN_TOOLS"] leaves such tools out. Require a scope below.')
        return ToolState(BAD, _("refused"), (reason,))
    if entry is None:
        return ToolState(BAD, _("unreachable"), (_("No sound listener is left for it: the listeners below say why."),))
    closed = tuple(closed_by(entry.rights, snapshot))
    if closed:
        return ToolState(BAD, _("closed"), closed)
    if tool.problem:
        return ToolState(WARN, _("served"), (tool.problem,))
    return ToolState(GOOD, _("served"))


def published_state(row: Published, snapshot: Snapshot) -> ToolState:
    """Judge a resource or a prompt as the endpoint would at this snapshot."""
    if not row.available:
        if row.problem:
            return ToolState(BAD, _("refused"), (row.problem,))
        reason = _(
            "No file publishes it at present. A listener answers in its place only if it needs the same rights; delete "
            "this entry, and the listener decides alone."
        )
        return ToolState(QUIET, _("retired"), (reason,))
    if not row.module.present:
        return ToolState(QUIET, _("retired"), (_("Its module is gone."),))
    if row.effective_visibility == Offered.Visibility.OFF:
        return ToolState(QUIET, _("off"), (_("It is switched off: no listener lists it or answers for it either."),))
    if is_unanswered(row, snapshot):
        reason = _("No sound listener answers for it: one to the event %(event)s is needed.")
        return ToolState(BAD, _("unreachable"), (reason % {"event": answer_event(row)},))
    closed = tuple(
        closed_by(row.effective_right([row.right], (scope.name for scope in row.required_scopes.all())), snapshot)
    )
    return ToolState(BAD, _("closed"), closed) if closed else ToolState(GOOD, _("served"))


def closed_by(rights: Iterable[str], snapshot: Snapshot) -> Iterable[str]:
    """Why nobody at all can hold these rights, as sentences; none where somebody might."""
    for text in rights:
        right = parse(text)
        reason = problem(right, snapshot)
        if reason:
            yield _("Nobody holds the right “%(right)s”: %(problem)s.") % {"right": text, "problem": reason}
        if not right.names_scopes:
            continue
        for clause in right.clauses:
            if not any(word in snapshot.scopes for word in clause):
                yield _("No token can carry the scope %(scope)s: it is disabled or does not exist.") % {
                    "scope": _(" or ").join(clause)
                }


def needs(rights: Iterable[str]) -> list[str]:
    """Rights in words, one per right."""
    shown = []
    for text in rights:
        right = parse(text)
        if not right.problem and right.names_scopes:
            shown.append(
                _("scope %(scopes)s") % {"scopes": _(" and ").join("|".join(clause) for clause in right.clauses)}
            )
        else:
            shown.append(text)
    return shown


def rights_of(tool: Tool, entry: ToolEntry | None) -> tuple[str, ...]:
    """The rights a call needs; for a tool that is not served, those it would need."""
    if entry is not None:
        return entry.rights
    manifest = [tool.listener.right] if tool.listener is not None else []
    return tool.effective_right(manifest, (scope.name for scope in tool.required_scopes.all()))
