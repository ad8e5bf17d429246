"""A step about clients that are known by a document at a URL of their own (Client ID Metadata Document)."""

from __future__ import annotations

import re

from mcp_gateway.conf import gateway_settings
from mcp_gateway.conf.registration import APPROVAL
from mcp_gateway.doctor.login import authorize_url
from mcp_gateway.doctor.report import Level
from mcp_gateway.doctor.visit import Visit
from mcp_gateway.doctor.web import Unreachable

# Where the error page has what is for developers.
_TOLD = re.compile(r"<dd>(.*?)</dd>", re.S)


def document(visit: Visit) -> None:
    """As such a client begins: the authorization endpoint has to read its document before it asks people."""
    if not visit.server.get("client_id_metadata_document_supported"):
        visit.say("documents", Level.SKIPPED, "The server reads no documents of clients.")
        return
    url = visit.options.document
    if not url:
        visit.say(
            "documents", Level.SKIPPED, f"No client's document was tried: name one with --document URL.{_rules(visit)}"
        )
        return
    redirect_uri = _redirect_uri(visit, url)
    if not redirect_uri:
        return
    # Without a person: the request is judged, and the document read, before anybody would have to log in.
    where = authorize_url(visit, client_id=url, redirect_uri=redirect_uri, prompt="none")
    reply = visit.web.ask("GET", where)
    if reply.location.startswith(redirect_uri) and "error=login_required" in reply.location:
        visit.say(
            "documents",
            Level.OK,
            f"The site read {url} and lets its client ask people. It stands under Clients now, like any that came.",
        )
    elif reply.location:
        visit.say(
            "documents",
            Level.FAULT,
            f"The client of {url} was sent on at once: {reply.location}",
            "shows an error, and nobody is asked.",
            "Mend what the error names; scopes must be enabled and self-service in admin.",
        )
    else:
        told = _TOLD.search(reply.body.decode("utf-8", "replace"))
        said = " ".join(re.sub(r"<[^>]*>", " ", told[1]).split()) if told else reply.shown
        visit.say(
            "documents",
            Level.FAULT,
            f"{url} was refused: {said}",
            "is not let in, and tries no other way.",
            _cure(said),
        )


def _rules(visit: Visit) -> str:
    """Whose documents this site reads."""
    if visit.slug is None:
        return ""
    policy = gateway_settings.registration
    hosts = f" Those of {', '.join(policy.document_hosts)} are read." if policy.document_hosts else ""
    waits = " A new client waits for approval." if policy.documents == APPROVAL else ""
    return f"{hosts}{waits}"


def _redirect_uri(visit: Visit, url: str) -> str:
    """The document's first redirect URI, as it is seen from here; empty, with a finding, where there is none."""
    try:
        reply = visit.web.ask("GET", url, headers={"Accept": "application/json"})
    except Unreachable as error:
        problem = str(error)
    else:
        uris = (reply.document or {}).get("redirect_uris")
        if reply.status == 200 and isinstance(uris, list) and uris and isinstance(uris[0], str):
            return uris[0]
        problem = f"{reply.shown}, and no document with redirect_uris"
    visit.say(
        "documents",
        Level.WARNING,
        f"{url} cannot be read from here: {problem}.",
        "that has no document anybody can read is let in nowhere.",
        "Give --document the URL of a client's document, the one that the client shows as its client_id.",
    )
    return ""


def _cure(said: str) -> str:
    if "approved" in said:
        return "Enable the client in admin, under Clients."
    if any(words in said for words in ("reached", "did not answer", "TLS", "a moment ago")):
        return (
            "The server needs a way out to the public internet: names, and https at port 443. Where that leads through "
            'a proxy, ZOLINGA["REGISTRATION"]["FETCHER"] names a class that knows it; where there is none, set '
            '"DOCUMENTS" to “off”, so that clients register instead.'
        )
    return 'The document\'s makers have to mend it, or ZOLINGA["REGISTRATION"]["DOCUMENT_HOSTS"] has to name its host.'
