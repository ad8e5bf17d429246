"""Steps from the challenge to the authorization server: RFC 9728, then RFC 8414."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from mcp_gateway.conf import LOOPBACK_HOSTS
from mcp_gateway.doctor import proxy
from mcp_gateway.doctor.elsewhere import is_elsewhere
from mcp_gateway.doctor.report import Level
from mcp_gateway.doctor.visit import Visit
from mcp_gateway.doctor.web import Reply, Unreachable

RESOURCE = "/.well-known/oauth-protected-resource"
SERVER = "/.well-known/oauth-authorization-server"
OPENID = "/.well-known/openid-configuration"

_WELL_KNOWN_LINE = 'path("", include("mcp_gateway.urls.well_known"))'


def protected_resource(visit: Visit) -> bool:
    """The document that the challenge names; False where a client cannot go on from it."""
    reply = _get(visit, visit.metadata_url)
    if isinstance(reply, str) or reply.status != 200 or reply.document is None:
        visit.say(
            "resource metadata",
            Level.FAULT,
            f"GET {visit.metadata_url}: {reply if isinstance(reply, str) else reply.shown}.",
            "does not learn where to log in.",
            *_cure_of_missing(visit),
        )
        return False
    resource = reply.document.get("resource")
    if resource != visit.url:
        visit.say(
            "resource metadata",
            Level.FAULT,
            f"{visit.metadata_url} describes {resource}, and the address that was typed is {visit.url}.",
            "compares the two and refuses to log in.",
            _cure_of_resource(visit, str(resource)),
            "mcp_gateway.W007",
        )
        return False
    servers = reply.document.get("authorization_servers")
    if not isinstance(servers, list) or not servers or not isinstance(servers[0], str):
        visit.say(
            "resource metadata",
            Level.FAULT,
            f"{visit.metadata_url} names no authorization server.",
            "does not learn where to log in.",
            "The document must come from the gateway: let no other application serve this path.",
        )
        return False
    visit.issuer = servers[0]
    scopes = reply.document.get("scopes_supported") or []
    visit.say(
        "resource metadata",
        Level.OK,
        f"{visit.metadata_url} describes {resource}; tokens come from {visit.issuer}; scopes: "
        f"{' '.join(map(str, scopes)) or 'none'}.",
        f"goes on to {visit.issuer}.",
    )
    return True


def _cure_of_missing(visit: Visit) -> tuple[str, str]:
    """The cure, and the system check with the same rule, for a document that is not where the challenge says."""
    named, typed = urlsplit(visit.metadata_url), urlsplit(visit.url)
    if named.netloc != typed.netloc:
        cure = (
            f"The site takes {named.scheme}://{named.netloc} for its own address, and {visit.origin} was typed: set "
            f'ZOLINGA["PUBLIC_URL"] = "{visit.origin}" where the server runs, or give clients the other address.'
        )
        return cure, "mcp_gateway.W007"
    cure = (
        f"Add to the root urlpatterns: {_WELL_KNOWN_LINE}, let proxies pass /.well-known/ on to the site, and no "
        "login stand before it."
    )
    return cure, "mcp_gateway.W004"


def _cure_of_resource(visit: Visit, resource: str) -> str:
    if urlsplit(resource).path.rstrip("/") != visit.path.rstrip("/"):
        return f"Give clients the address {resource}, or let the proxy keep the path as it is."
    public = visit.url.removesuffix(urlsplit(resource).path) if resource else visit.origin
    return f'Set ZOLINGA["PUBLIC_URL"] = "{public}", or give clients the address {resource}.'


def guesses(visit: Visit) -> None:
    """Where clients look that do not read the challenge, and where nothing may be."""
    for name, path in (("path form", RESOURCE + visit.path.rstrip("/")), ("root form", RESOURCE)):
        url = visit.origin + path
        if url == visit.metadata_url:
            continue
        reply = _get(visit, url)
        if isinstance(reply, str) or reply.status != 200 or reply.document is None:
            if name == "root form" and not _is_default(visit):
                continue
            visit.say(
                "well-known",
                Level.WARNING,
                f"GET {url} ({name}): {reply if isinstance(reply, str) else reply.shown}.",
                "that does not read the challenge looks here, and does not learn where to log in.",
                _root_rules(visit),
            )
        else:
            visit.say("well-known", Level.OK, f"{url} ({name}) answers too.")
    url = f"{visit.origin}{RESOURCE}/mcp-doctor/no-such-endpoint"
    reply = _get(visit, url)
    if isinstance(reply, str) or reply.status == 404:
        visit.say("well-known", Level.OK, "What does not exist is not found there.")
        return
    visit.say(
        "well-known",
        Level.WARNING,
        f"GET {url}, which is nothing, is answered {reply.shown}; 404 was expected.",
        "takes 401 for a login that never works, and 200 for the description of something that is not there.",
        "Let neither a login nor a catch-all page stand before /.well-known/.",
    )


def _is_default(visit: Visit) -> bool:
    """Whether the endpoint is the one that the root form describes."""
    return visit.slug in ("", None)


def _root_rules(visit: Visit) -> str:
    """The cure for documents that are missing at the origin's root."""
    if visit.issuer and is_elsewhere(visit):
        return 'Its administrators have to serve them, or ZOLINGA["ISSUERS"] names another issuer than there is.'
    base = visit.issuer if urlsplit(visit.issuer).netloc == urlsplit(visit.url).netloc else visit.url
    rules = proxy.rules(base) if base == visit.issuer else ""
    if rules:
        return f"The site lives under a path; the proxy has to bring the origin's root to it.\n{rules}"
    return f"Add to the root urlpatterns: {_WELL_KNOWN_LINE}, and let proxies pass /.well-known/ on to the site."


def authorization_server(visit: Visit) -> bool:
    """The issuer's document where clients look for it; False where there is none they can use."""
    parts = urlsplit(visit.issuer)
    root, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    # The order of the MCP specification (authorization, authorization server metadata discovery).
    places = [root + SERVER + path, root + OPENID + path, *([root + path + OPENID] if path else [])]
    found: dict[str, Any] | None = None
    missing: list[str] = []
    for place in places:
        reply = _get(visit, place)
        if not isinstance(reply, str) and reply.status == 200 and reply.document is not None:
            found = found or {**reply.document, "": place}
        else:
            missing.append(f"{place}: {reply if isinstance(reply, str) else reply.shown}")
    if found is None:
        visit.say(
            "server metadata",
            Level.FAULT,
            f"No metadata of {visit.issuer}. " + "; ".join(missing),
            "cannot log in, or guesses /authorize at the origin.",
            _root_rules(visit),
        )
        return False
    place = found.pop("")
    problem = _problem(visit, found)
    if problem:
        visit.say("server metadata", Level.FAULT, f"{place} {problem[0]}.", problem[1], problem[2])
        return False
    visit.server = found
    visit.say("server metadata", Level.OK, f"{place} describes {visit.issuer}, PKCE by S256.", "goes on from there.")
    if missing:
        visit.say(
            "server metadata",
            Level.WARNING if place != places[0] else Level.NOTE,
            "Not everywhere that clients look: " + "; ".join(missing),
            "of the older kind looks there alone and does not find the login.",
            _root_rules(visit),
        )
    _ways(visit)
    return True


def _problem(visit: Visit, document: dict[str, Any]) -> tuple[str, str, str] | None:
    own = 'Set ZOLINGA["PUBLIC_URL"] to the address that clients use; the document must come from the gateway.'
    if is_elsewhere(visit):
        own = f"That is for the administrators of {visit.issuer} to mend."
    if document.get("issuer") != visit.issuer:
        return f"says it is {document.get('issuer')}, not {visit.issuer}", "refuses it (RFC 8414 section 3.3).", own
    for name in ("authorization_endpoint", "token_endpoint"):
        url = document.get(name)
        if not isinstance(url, str):
            return f"has no {name}", "cannot log in.", own
        if urlsplit(url).scheme != "https" and (urlsplit(url).hostname or "") not in LOOPBACK_HOSTS:
            return f"names the {name} {url}, which is no https", "refuses to go there.", own
    if "S256" not in (document.get("code_challenge_methods_supported") or ()):
        return "does not list S256", "must refuse to go on (MCP specification, authorization code protection).", own
    return None


def _ways(visit: Visit) -> None:
    """How a client that nobody knows makes itself known."""
    server = visit.server
    ways = []
    if server.get("client_id_metadata_document_supported"):
        ways.append("by a metadata document")
    if server.get("registration_endpoint"):
        ways.append("by dynamic registration")
    if is_elsewhere(visit):
        known = f"by themselves {' or '.join(ways)}" if ways else "where its administrators register them"
        visit.say("ways in", Level.OK, f"Clients make themselves known at {visit.issuer}, {known}.")
    elif not ways:
        visit.say(
            "ways in",
            Level.WARNING,
            "The server lets no client make itself known.",
            "works only where somebody registered it in admin and gave it its client id.",
            'Open a way in ZOLINGA["REGISTRATION"], or register each client in admin.',
        )
    elif "none" not in (server.get("token_endpoint_auth_methods_supported") or ()):
        visit.say(
            "ways in",
            Level.WARNING,
            "The server does not list the authentication method “none”.",
            "on a desktop, which can keep no secret, does not use it.",
            "The document must come from the gateway.",
        )
    else:
        visit.say("ways in", Level.OK, f"Clients make themselves known {' or '.join(ways)}.")


def _get(visit: Visit, url: str) -> Reply | str:
    """The answer, or why there is none."""
    try:
        return visit.web.ask("GET", url, headers={"Accept": "application/json"})
    except Unreachable as error:
        return str(error)
