"""Steps with a token: the list, a call that needs more, a call."""

from __future__ import annotations

from mcp_gateway.doctor.entering import challenges
from mcp_gateway.doctor.report import Level
from mcp_gateway.doctor.visit import Visit


def listing(visit: Visit) -> None:
    """The token that was just issued is good at the endpoint, in every worker."""
    token = str(visit.token["access_token"])
    # Several, so that they come to several workers.
    replies = [visit.send("tools/list", token=token) for _ in range(4)]
    bad = next((reply for reply in replies if reply.status != 200), None)
    if bad is None:
        tools = ((replies[0].document or {}).get("result") or {}).get("tools") or []
        visit.say("list", Level.OK, f"tools/list with the token shows {len(tools)} tools.")
        return
    visit.say(
        "list",
        Level.FAULT,
        f"tools/list with a token that was just issued was answered {bad.shown}: "
        f"{challenges(bad).get('error_description', '')}",
        "logs in again and again.",
        "All workers must use the same database, SECRET_KEY and PUBLIC_URL.",
    )


def step_up(visit: Visit) -> None:
    """A call that needs more than the token has says what."""
    held = frozenset(str(visit.token.get("scope", "")).split())
    tool = visit.refused_tool(held)
    if tool is None:
        visit.say("step-up", Level.SKIPPED, "No tool needs a scope that the token lacks and this client may ask for.")
        return
    reply = visit.send("tools/call", {"name": tool.name, "arguments": {}}, token=str(visit.token["access_token"]))
    found = challenges(reply)
    if reply.status == 403 and found.get("error") == "insufficient_scope" and found.get("scope"):
        visit.say(
            "step-up",
            Level.OK,
            f"{tool.name} was refused with 403, and needs {found['scope']}.",
            "asks the person for these scopes and calls again.",
        )
        return
    visit.say(
        "step-up",
        Level.FAULT,
        f"{tool.name}, for which the token lacks a scope, was answered {reply.shown}.",
        "does not learn what to ask for.",
        "Let no proxy turn 403 into a page of its own, or drop WWW-Authenticate.",
    )


def call(visit: Visit) -> None:
    """A call of the tool that was named, and of no other: a call may change something."""
    name = visit.options.tool
    if not name:
        visit.say("call", Level.SKIPPED, "No tool was called: name one with --tool, and its arguments.")
        return
    token = str(visit.token.get("access_token", ""))
    reply = visit.send("tools/call", {"name": name, "arguments": dict(visit.options.arguments)}, token=token)
    answer = reply.document or {}
    result = answer.get("result")
    if reply.status == 200 and isinstance(result, dict):
        content = result.get("content") or [{}]
        said = str(content[0].get("text", ""))[:200] if isinstance(content[0], dict) else ""
        if result.get("isError"):
            visit.say("call", Level.WARNING, f"{name} said no: {said}", "shows the model this text.")
        else:
            visit.say("call", Level.OK, f"{name} answered: {said}")
        return
    error = answer.get("error")
    said = str(error.get("message", "")) if isinstance(error, dict) else ""
    lacks = challenges(reply).get("scope", "") if reply.status == 403 else ""
    visit.say(
        "call",
        Level.WARNING if reply.status == 403 else Level.FAULT,
        f"A call of {name} was answered {reply.shown}: {said}",
        f"asks the person for {lacks} and calls again." if lacks else "shows this error.",
        _cure_of(visit, reply.status, lacks),
    )


def _cure_of(visit: Visit, status: int, lacks: str) -> str:
    name = visit.options.tool
    if visit.snapshot is not None and name not in visit.snapshot.tools:
        return f"The endpoint has {', '.join(sorted(visit.snapshot.tools)) or 'no tools'}."
    if lacks:
        return ""
    if status == 403:
        return (
            "What a client that registered itself may ask for are self-service scopes (in admin, under Scopes); others "
            "get the client that an administrator registers. The tool's page in admin says what a call needs."
        )
    return f"Try it past the web: manage.py mcp_call {name}" + (" --user …" if visit.options.user else "")
