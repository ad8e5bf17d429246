"""The order of the steps, and where it is no use going on."""

from __future__ import annotations

from collections.abc import Callable

from django.core import checks
from django.db import DEFAULT_DB_ALIAS
from django.urls import NoReverseMatch

from mcp_gateway import registry
from mcp_gateway.doctor import calling, discovery, documents, elsewhere, entering, login, proxy, registering, sharing
from mcp_gateway.doctor.report import Finding, Level, Report
from mcp_gateway.doctor.visit import Options, Visit
from mcp_gateway.doctor.web import Unreachable, Web
from mcp_gateway.oauth import audience

__all__ = ["Options", "examine"]

_LEVELS = ((checks.ERROR, Level.FAULT), (checks.WARNING, Level.WARNING), (checks.DEBUG, Level.NOTE))

# How many threads there are is known where the server runs, and this is another process.
_OF_THE_SERVER = ("mcp_gateway.I001",)


def examine(options: Options, told: Callable[[Finding], None] = lambda finding: None, web: Web | None = None) -> Report:
    """Walk the whole way and report.

    ``told`` hears of each finding at once; ``web`` is the road to the site. What was made on the way (a client, a
    session, tokens) is gone at the end.
    """
    report = Report(options.url, told=told)
    visit = Visit(options, report, web or Web())
    _where(visit)
    _system_checks(visit)
    _prefix(visit)
    try:
        _walk(visit)
    except Unreachable as error:
        visit.say(
            "reach",
            Level.FAULT,
            f"No answer: {error}.",
            "reports that it cannot connect.",
            "Look whether the site runs (manage.py up), whether the name leads to it and its certificate is one that "
            "this machine trusts.",
        )
    return report


def _where(visit: Visit) -> None:
    """Whether the URL is an endpoint of this site, so that its database says what to expect."""
    try:
        snapshot = registry.snapshot()
        slug = audience.resolve(visit.url, snapshot)
        known = [audience.resource_url(name) for name in snapshot.endpoints]
    except NoReverseMatch:
        slug, known = None, []
    visit.endpoints = tuple(known)
    if slug is not None:
        visit.slug, visit.snapshot = slug, snapshot.at(slug)
        visit.say("site", Level.OK, f"{visit.url} is the endpoint “{snapshot.endpoints[slug].title}” of this site.")
        return
    visit.say(
        "site",
        Level.NOTE,
        f"{visit.url} is none of this site's endpoints ({', '.join(known) or 'it has none'}): it is looked at from "
        "outside alone.",
        cure="Where it is one of them, give this command the PUBLIC_URL that the server has."
        if known and not visit.is_beside
        else "",
    )


def _system_checks(visit: Visit) -> None:
    """What the system checks say of this site's settings, manifests, URLs and rows."""
    if visit.slug is None:
        return
    messages = [
        message
        for message in checks.run_checks(include_deployment_checks=True, databases=[DEFAULT_DB_ALIAS])
        if str(message.id).startswith("mcp_gateway.") and message.id not in _OF_THE_SERVER and not message.is_silenced()
    ]
    for message in messages:
        level = next(level for least, level in _LEVELS if message.level >= least)
        visit.say("system check", level, str(message.msg), cure=str(message.hint or ""), check=str(message.id))
    if not messages:
        visit.say("system check", Level.OK, "manage.py check --deploy --database default finds nothing amiss here.")


def _prefix(visit: Visit) -> None:
    """Under a path prefix: the rules for the proxy, whether or not they are there already."""
    if visit.slug is None:
        return
    base = audience.base_url()
    rules = proxy.rules(base)
    if rules:
        visit.say(
            "prefix",
            Level.NOTE,
            f"The site lives at {base}. The metadata documents belong to the root of {visit.origin} too, where the "
            f"proxy must bring them from:\n{rules}",
            check="mcp_gateway.I003",
        )


def _walk(visit: Visit) -> None:
    first = entering.reach(visit)
    if first is None:
        return
    visit.is_open = first.status == 200
    entering.https(visit)
    entering.clock(visit, first)
    entering.spellings(visit)
    entering.methods(visit)
    entering.cross_origin(visit)
    refused = entering.authorization(visit)
    if visit.is_open:
        sharing.answers(visit)
    if not _is_protected(visit, first.status):
        visit.say("challenge", Level.NOTE, "Nothing here needs a token, so nobody has to log in.")
        calling.call(visit)
        return
    if not entering.challenge(visit, first, refused) or not discovery.protected_resource(visit):
        return
    discovery.guesses(visit)
    if not discovery.authorization_server(visit):
        if elsewhere.trusted_at(visit) is not None:
            elsewhere.issuer(visit)
        return
    if elsewhere.is_elsewhere(visit):
        elsewhere.issuer(visit)
        return
    documents.document(visit)
    if not registering.register(visit):
        return
    try:
        if not registering.awaits_approval(visit):
            _with_client(visit)
    finally:
        registering.forget(visit)


def _is_protected(visit: Visit, status: int) -> bool:
    """Whether anything here needs a token, as far as it can be known."""
    return status == 401 or visit.snapshot is None or any(tool.rights for tool in visit.snapshot.tools.values())


def _with_client(visit: Visit) -> None:
    login.login_page(visit)
    login.token_endpoint(visit)
    if not login.consent(visit):
        return
    calling.listing(visit)
    if not visit.is_open:
        sharing.answers(visit, str(visit.token["access_token"]))
    calling.step_up(visit)
    calling.call(visit)
    login.refresh(visit)
    login.revoke(visit)
