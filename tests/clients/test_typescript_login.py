"""The official TypeScript clients on their way to a token: ``typescript/login.mjs``, on a live site with two workers.

The endpoint's URL is all they have. Here sit the person at the browser and the site's administrator, who do what the
programs ask for.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from threading import Timer
from typing import Any

import pytest

from tests.clients.conftest import CALLBACK, CLIENT, TYPESCRIPT, Browser, Programs, Strange, decide
from tests.clients.test_python_tokens import MACHINE, python
from tests.live import PATIENCE, Site, lines

pytestmark = [pytest.mark.once, pytest.mark.service("NPM_CLIENTS")]

FLAVOURS = ("client-v2", "client-v2-legacy", "sdk-v1")
PARTS = re.findall(r'^  async "(.+)"\(', (TYPESCRIPT / "login.mjs").read_text(encoding="utf-8"), re.MULTILINE)

# A part whose name begins with a flavour's is for those only.
WAYS = [
    (flavour, part)
    for part in PARTS
    for flavour in FLAVOURS
    if ": " not in part or flavour.startswith(part.partition(": ")[0])
]

EXPIRE = (
    "from django.utils import timezone; from oauth2_provider.models import AccessToken; "
    "AccessToken.objects.update(expires=timezone.now())"
)


@pytest.fixture
def site(strange: Strange) -> Site:
    return strange.site


def attend(process: subprocess.Popen[str], orders: dict[str, Callable[[Any], Any]]) -> None:
    """Do what a program asks for, a line each, until it ends."""
    assert process.stdin is not None
    for line in lines(process):
        [(order, argument)] = json.loads(line).items()
        process.stdin.write(json.dumps(orders[order](argument)) + "\n")
        process.stdin.flush()


@pytest.mark.parametrize(("flavour", "part"), WAYS)
def test_way(strange: Strange, programs: Programs, browser: Browser, flavour: str, part: str) -> None:
    site = strange.site
    said = {"client_id": CLIENT, "client_name": "Tourist of client.test", "redirect_uris": [CALLBACK]}
    document = strange.internet.put("/oauth/client.json", {**said, "token_endpoint_auth_method": "none"})

    def open_page(url: str) -> dict[str, str]:
        browser.open(url)
        return browser.answer

    def machine(jwks: str) -> dict[str, str]:
        made = {"clientId": f"machine-{flavour}-{bool(jwks)}", "clientSecret": "s3cret"}
        method = "private_key_jwt" if jwks else ""
        python(site, MACHINE.format(client_id=made["clientId"], method=method, jwks=jwks))
        return made

    orders: dict[str, Callable[[Any], Any]] = {
        "open": open_page,
        "press": lambda button: setattr(browser, "button", button),
        "pages": lambda _yes: browser.pages,
        "expire": lambda _yes: python(site, EXPIRE),
        "disconnect": browser.disconnect,
        "close": lambda _yes: decide(site, "Endpoint.objects.update(access=Endpoint.Access.TOKEN)"),
        "machine": machine,
    }
    process = subprocess.Popen(
        [programs.node, "login.mjs", flavour, part, site.endpoint, CALLBACK, document],
        cwd=programs.folder,
        env=programs.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    watchdog = Timer(PATIENCE, process.kill)
    watchdog.start()
    try:
        attend(process, orders)
        errors = process.communicate()[1]
    finally:
        watchdog.cancel()
        process.kill()
        process.communicate()
        if "to connect" in part:
            decide(site, "Endpoint.objects.update(access=Endpoint.Access.ANYONE)")
    assert process.returncode == 0, errors
