"""Steps of a client that nobody knows: it registers, and deletes its registration at the end."""

from __future__ import annotations

import ipaddress

from mcp_gateway.conf import gateway_settings
from mcp_gateway.doctor.report import Level
from mcp_gateway.doctor.visit import Visit
from mcp_gateway.doctor.web import Unreachable
from mcp_gateway.models import Client, OAuthEvent

# Nobody listens there: the answer is read from the redirect.
CALLBACK = "http://127.0.0.1:33418/callback"

# RFC 5737: an address that nobody has.
_NOBODY = "203.0.113.77"


def register(visit: Visit) -> bool:
    """Dynamic registration with what a desktop client sends; False where the walk ends without a client."""
    where = visit.server.get("registration_endpoint")
    if not where or not visit.options.register:
        visit.say(
            "registration",
            Level.SKIPPED,
            "No client is registered, as was asked for." if where else "There is no dynamic registration to try.",
        )
        return False
    metadata = {
        "client_name": "mcp_doctor",
        "redirect_uris": [CALLBACK],
        "grant_types": ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
    }
    # A proxy replaces or extends the header; whoever believes it as it is believes anybody.
    reply = visit.web.post_json(str(where), metadata, {"X-Forwarded-For": _NOBODY})
    answer = reply.document or {}
    if reply.status == 201 and isinstance(answer.get("client_id"), str):
        visit.client = answer
        visit.say("registration", Level.OK, f"A client as desktops have it was registered at {where}.")
        _proxies(visit)
        return True
    if reply.status == 429:
        visit.say(
            "registration",
            Level.WARNING,
            f"{where} takes no more registrations for {reply.header('Retry-After') or 'some'} seconds.",
            "that is new has to wait as long.",
            'The limits are in ZOLINGA["REGISTRATION"]. Behind a proxy set ZOLINGA["PROXIES"], or all clients count '
            "as one.",
        )
        return False
    said = str(answer.get("error_description") or answer.get("error") or "")
    visit.say(
        "registration",
        Level.FAULT,
        f"POST {where} was answered {reply.shown}. {said}".strip(),
        "that nobody registered by hand cannot log in.",
        'Let the proxy pass POST on to it, and look at ZOLINGA["REGISTRATION"].',
    )
    return False


def _proxies(visit: Visit) -> None:
    """Whose address the site takes for the client's: limits and the audit trail go by it."""
    event = OAuthEvent.objects.filter(client_id=visit.client["client_id"]).order_by("pk").first()
    if visit.slug is None:
        if event is not None:
            _other_settings(visit)
        return
    if event is None:
        visit.say(
            "proxies",
            Level.FAULT,
            f"The registration at {visit.origin} is not in the database that this command reads.",
            "gets tokens at one site and brings them to another.",
            "Give the server and this command the same settings and the same database.",
        )
        return
    proxies = gateway_settings.proxies
    if event.address == _NOBODY:
        visit.say(
            "proxies",
            Level.WARNING,
            f'The site believes the X-Forwarded-For of whoever asks: ZOLINGA["PROXIES"] is {proxies}, and fewer '
            "proxies than that stood between.",
            "can choose the address that limits and the audit trail see.",
            "Count the proxies that clients come through. Where this command came past them, ask at the public URL.",
        )
    elif not visit.is_local and _is_internal(event.address):
        visit.say(
            "proxies",
            Level.WARNING,
            f"The site took {event.address or 'no address'} for this client's: that is a proxy.",
            "shares its limits with all others.",
            f'Set ZOLINGA["PROXIES"] to the number of proxies (it is {proxies}), each of which must add to '
            "X-Forwarded-For.",
        )
    else:
        visit.say("proxies", Level.OK, f"The site sees clients by their own address ({event.address}).")


def _other_settings(visit: Visit) -> None:
    visit.say(
        "settings",
        Level.WARNING,
        f"The site at {visit.origin} uses the database of this command, whose settings know it by another address: "
        f"{', '.join(visit.endpoints) or 'none'}.",
        cure='Give the server and this command the same ZOLINGA["PUBLIC_URL"].',
    )


def awaits_approval(visit: Visit) -> bool:
    """Whether the client that was registered gets no further before an administrator lets it."""
    if not Client.objects.filter(application__client_id=visit.client["client_id"], awaits_approval=True).exists():
        return False
    visit.say(
        "approval",
        Level.SKIPPED,
        'A new client waits for an administrator here (ZOLINGA["REGISTRATION"]["DYNAMIC"] is “approval”), so login, '
        "consent and token were not looked at.",
        "shows the person a page that says so, and gets in once it is enabled in admin, under Clients.",
    )
    return True


def _is_internal(address: str) -> bool:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return True
    return parsed.is_loopback or parsed.is_private


def forget(visit: Visit) -> None:
    """Delete the client that was registered (RFC 7592), with its tokens."""
    where, token = visit.client.get("registration_client_uri"), visit.client.get("registration_access_token")
    problem = "the server named no address to do so"
    if where and token:
        try:
            reply = visit.web.ask("DELETE", str(where), headers={"Authorization": f"Bearer {token}"})
            problem = "" if reply.status == 204 else f"DELETE {where} was answered {reply.shown}"
        except Unreachable as error:
            problem = str(error)
    if problem:
        visit.say(
            "clean-up",
            Level.WARNING,
            f"The client {visit.client['client_id']} could not be deleted: {problem}.",
            cure="Delete it in admin.",
        )
    else:
        visit.say("clean-up", Level.OK, "The client was deleted again.")
