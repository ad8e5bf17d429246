"""Steps at the endpoint's door: is anyone there, at every spelling, and what does a client without token hear."""

from __future__ import annotations

import re
import time
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from mcp_gateway.conf import gateway_settings
from mcp_gateway.doctor.report import Level
from mcp_gateway.doctor.visit import Visit
from mcp_gateway.doctor.web import Reply

# Seconds that clocks may differ: codes and signed assertions of clients live for a minute or more.
_TOLERANCE = 60

_NO_TOKEN = "mcp-doctor-no-such-token"  # noqa: S105

_LEAVE_HEADERS = (
    "Leave OPTIONS and the Access-Control headers of the endpoint to the site: no proxy and no django-cors-headers "
    "should answer them."
)

# RFC 9110 section 11.6.1: name="quoted" or name=token.
_PARAMETER = re.compile(r'([A-Za-z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')


def reach(visit: Visit) -> Reply | None:
    """Whether the endpoint answers at all; None where it is no use going on."""
    reply = visit.send("server/discover")
    answer = reply.document or {}
    if reply.location:
        visit.say(
            "reach",
            Level.FAULT,
            f"POST {visit.url} was answered {reply.shown}.",
            "does not send its message again to another address, and reports that the server failed.",
            "Give clients the address that answers, and let no middleware or proxy redirect the endpoint (slash at "
            "the end, http to https, language).",
        )
        return None
    if reply.status == 200 and "result" in answer:
        visit.say("reach", Level.OK, f"POST {visit.url} was answered 200: anyone may enter.")
        return reply
    if reply.status == 401 and reply.header("WWW-Authenticate"):
        visit.say("reach", Level.OK, f"POST {visit.url} was answered 401: a token is required to enter.")
        return reply
    visit.say(
        "reach",
        Level.FAULT,
        f"POST {visit.url} was answered {reply.shown}: {_first_words(reply)}",
        "reports that this is no MCP server.",
        _cure_of(reply, visit),
    )
    return None


def _first_words(reply: Reply) -> str:
    error = (reply.document or {}).get("error")
    if isinstance(error, dict):
        return str(error.get("message", ""))[:200]
    text = re.sub(r"<(style|script).*?</\1>|<[^>]*>", " ", reply.body[:4000].decode("utf-8", "replace"), flags=re.S)
    return " ".join(text.split())[:160] or "an empty body"


def _cure_of(reply: Reply, visit: Visit) -> str:
    host = urlsplit(visit.url).hostname
    if visit.is_beside:
        return f"The address is not that of an endpoint; this site has {', '.join(visit.endpoints)}."
    if reply.status == 404:
        return (
            'Look at the path: path("", include("mcp_gateway.urls")) serves /mcp and /mcp/. A proxy must pass on both, '
            "and the endpoint must be enabled in admin."
        )
    if reply.status == 400:
        return f"Let the site answer to this name: add {host!r} to ALLOWED_HOSTS, and let proxies pass the Host header."
    if reply.status in (401, 403):
        return "Something before the gateway refuses the request: a login at the proxy, a firewall, or a middleware."
    if reply.status in (502, 503, 504):
        return "The proxy does not reach the site, or the site its database: look whether it runs, and at its log."
    if reply.status >= 500:
        return "The site's log says what broke."
    return "The address must be that of the MCP endpoint itself, usually …/mcp."


def spellings(visit: Visit) -> None:
    """With and without a slash at the end it is the same endpoint."""
    other = visit.url.rstrip("/") if visit.url.endswith("/") else f"{visit.url}/"
    mine, there = visit.send("server/discover"), visit.send("server/discover", url=other)
    if mine.status == there.status:
        visit.say("slash", Level.OK, f"{other} answers alike.")
        return
    visit.say(
        "slash",
        Level.FAULT,
        f"POST {visit.url} is answered {mine.status}, POST {other} {there.shown}.",
        "of the kinds that add or drop the slash does not get in.",
        "Pass both on to the site without redirects: a proxy's rule for /mcp/… leaves out /mcp itself.",
    )


def methods(visit: Visit) -> None:
    """Older clients GET first, and take 405 for “no streams here”."""
    reply = visit.web.ask("GET", visit.url, headers={"Accept": "text/event-stream"})
    # A site may show people who open the address a page; what counts is that no client takes it for a stream.
    if reply.status in (401, 405):
        visit.say("get", Level.OK, f"GET is answered {reply.status}.")
    else:
        visit.say(
            "get",
            Level.WARNING,
            f"GET {visit.url} is answered {reply.shown}; 405 was expected.",
            "of the older revisions may wait for a stream, or give up.",
            "Let the proxy pass GET on to the site as well.",
        )


def clock(visit: Visit, reply: Reply) -> None:
    """Tokens, codes and assertions have times in them."""
    try:
        there = parsedate_to_datetime(reply.header("Date")).timestamp()
    except (TypeError, ValueError):
        visit.say("clock", Level.NOTE, "The answers have no Date header, so the server's clock could not be compared.")
        return
    off = round(there - time.time())
    if abs(off) <= _TOLERANCE:
        visit.say("clock", Level.OK, "The server's clock and this machine's agree.")
        return
    visit.say(
        "clock",
        Level.WARNING,
        f"The server's clock is {abs(off)} seconds {'ahead of' if off > 0 else 'behind'} this machine's.",
        "that signs its requests (private_key_jwt) is refused, and tokens seem to end too early or too late.",
        "Set the clocks by NTP on both machines.",
    )


def https(visit: Visit) -> None:
    """OAuth 2.1 section 1.5: TLS everywhere but on the machine itself."""
    if visit.url.startswith("https:"):
        visit.say("https", Level.OK, "TLS, with a certificate that this machine trusts.")
    elif visit.is_local:
        visit.say("https", Level.OK, "Plain http on this machine, where no TLS is needed.")
    else:
        visit.say(
            "https",
            Level.FAULT,
            f"{visit.url} is plain http.",
            "refuses to log in there, and everybody on the way can read its token.",
            'Serve the site over TLS and set ZOLINGA["PUBLIC_URL"] = "https://…".',
            "mcp_gateway.W008",
        )


def authorization(visit: Visit) -> Reply | None:
    """Whether the Authorization header arrives: a token that nobody issued must be refused as one."""
    reply = visit.send("server/discover", token=_NO_TOKEN)
    if reply.status == 401 and challenges(reply).get("error") == "invalid_token":
        visit.say("authorization", Level.OK, "The Authorization header arrives: an unknown token is refused with 401.")
        return reply
    if reply.status == 503:
        visit.say(
            "authorization",
            Level.FAULT,
            f"A token that nobody issued was answered {reply.shown}: the site could not judge it.",
            "gets this answer for every call, however good its token is.",
            "Look at the steps about the issuer below, or whether the database answers.",
        )
        return None
    visit.say(
        "authorization",
        Level.FAULT,
        f"A token that nobody issued was answered {reply.shown}, not 401 invalid_token: the header does not arrive.",
        "logs in, and is then treated as if it had no token, again and again.",
        "Let the proxy pass the Authorization header (Apache with mod_wsgi: WSGIPassAuthorization On).",
    )
    return None


def challenges(reply: Reply) -> dict[str, str]:
    """The parameters of the one Bearer challenge; empty where there is none."""
    for value in reply.headers.get_all("WWW-Authenticate") or ():
        if str(value).lower().startswith("bearer"):
            return {name.lower(): quoted or bare for name, quoted, bare in _PARAMETER.findall(str(value)[6:])}
    return {}


def challenge(visit: Visit, first: Reply, refused: Reply | None) -> bool:
    """What a client without token is told; False where it is not told where to log in."""
    reply, asked = first, "Entering without a token"
    tool = visit.refused_tool(None)
    if first.status != 401 and tool is not None:
        reply, asked = (
            visit.send("tools/call", {"name": tool.name, "arguments": {}}),
            f"A call of {tool.name} without a token",
        )
        if reply.status != 401:
            visit.say(
                "challenge",
                Level.FAULT,
                f"{asked} was answered {reply.shown}; 401 was expected.",
                "does not log in, and never gets to the tool.",
                "Run manage.py import_manifests; if it stays so, the address serves another site than this.",
            )
            return False
    elif first.status != 401:
        if refused is None:
            return False
        reply, asked = refused, "An unknown token"
    found = challenges(reply)
    values = reply.headers.get_all("WWW-Authenticate") or []
    where = found.get("resource_metadata", "")
    problem = ""
    if not found:
        problem = "has no Bearer challenge"
    elif sum(str(value).count("resource_metadata") for value in values) != 1:
        problem = f"names resource_metadata {'not at all' if not where else 'more than once'}: {', '.join(values)}"
    elif urlsplit(where).scheme not in ("http", "https"):
        problem = f"names no absolute URL as resource_metadata: {where}"
    if problem:
        visit.say(
            "challenge",
            Level.FAULT,
            f"{asked} was answered {reply.status}, and the answer {problem}.",
            "guesses where the metadata are, or gives up.",
            "Let no proxy or middleware write or drop WWW-Authenticate.",
        )
        return False
    visit.metadata_url, visit.scopes = where, found.get("scope", "")
    visit.say(
        "challenge",
        Level.OK,
        f"{asked} was answered 401 with the metadata's address, {where}, and "
        + (f"the scopes {visit.scopes}." if visit.scopes else "no scopes."),
        "reads that document and asks for these scopes.",
    )
    if urlsplit(where).scheme == "http" and visit.url.startswith("https:"):
        visit.say(
            "challenge",
            Level.FAULT,
            f"The challenge leads from https to {where}.",
            "refuses to go there.",
            f'Set ZOLINGA["PUBLIC_URL"] = "{visit.origin}…", the address that clients use.',
            "mcp_gateway.W007",
        )
    return True


def cross_origin(visit: Visit) -> None:
    """Clients that are web pages: a preflight, a readable challenge; and no page of another origin."""
    stranger = {"Origin": "https://mcp-doctor.invalid"}
    reply = visit.send("server/discover", headers=stranger)
    if reply.status != 403 or reply.header("Access-Control-Allow-Origin"):
        visit.say(
            "origin",
            Level.FAULT,
            f"A web page of {stranger['Origin']} was answered {reply.shown}; 403 was expected.",
            "that is a hostile page can use the endpoint by DNS rebinding.",
            "Let the proxy pass the Origin header, and answer no preflight before the site does.",
        )
        return
    origins = sorted(gateway_settings.allowed_origins) if visit.slug is not None else []
    origin = origins[0] if origins else visit.origin
    preflight = visit.web.ask(
        "OPTIONS",
        visit.url,
        headers={
            "Origin": origin,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization, content-type, mcp-method, mcp-protocol-version",
        },
    )
    answer = visit.send("server/discover", token=_NO_TOKEN, headers={"Origin": origin})
    allowed = {name.strip().lower() for name in preflight.header("Access-Control-Allow-Headers").split(",")}
    exposed = answer.header("Access-Control-Expose-Headers").lower()
    problem, cure = "", _LEAVE_HEADERS
    if answer.status == 403 and origin == visit.origin:
        problem = "the site takes it for a stranger's"
        cure = (
            f'Set ZOLINGA["PUBLIC_URL"] to the address that clients use; the site seems to have another than {origin}.'
        )
    elif preflight.status not in (200, 204):
        problem = f"its preflight is answered {preflight.shown}"
    elif preflight.header("Access-Control-Allow-Origin") not in (origin, "*"):
        problem = "its preflight does not allow the origin"
    elif not {"authorization", "mcp-method"} <= allowed:
        problem = "its preflight does not allow the headers that clients send"
    elif "www-authenticate" not in exposed:
        problem = "it cannot read the challenge (WWW-Authenticate is not exposed)"
    if problem:
        visit.say(
            "origin",
            Level.WARNING,
            f"A client that is a web page of {origin}: {problem}.",
            "in a browser cannot log in. Others do not care.",
            cure,
            "mcp_gateway.W009",
        )
        return
    more = "" if origins or visit.slug is None else ' ZOLINGA["ALLOWED_ORIGINS"] lets in no other site\'s pages.'
    visit.say("origin", Level.OK, f"Pages of {origin} may call the endpoint, those of strangers may not.{more}")
