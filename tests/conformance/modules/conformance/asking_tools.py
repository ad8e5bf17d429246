"""Tools that ask the client before they answer."""

from __future__ import annotations

from typing import Any

from mcp_gateway.events import CallEvent, Form, Roots, Sampling, Status, Text


def form(**properties: Any) -> dict[str, Any]:
    """The schema of a form whose fields are all needed."""
    return {"type": "object", "properties": properties, "required": list(properties)}


TEXT = {"type": "string"}
NAME = Form("What is your name?", form(name=TEXT))

DEFAULTS = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
    "required": [],
}

OPTIONS = ["option1", "option2", "option3"]
TITLED = [{"const": f"value{number}", "title": f"Option {number}"} for number in (1, 2, 3)]
ENUMS = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": OPTIONS},
        "titledSingle": {"type": "string", "oneOf": TITLED},
        "legacyEnum": {"type": "string", "enum": OPTIONS, "enumNames": ["Option 1", "Option 2", "Option 3"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
        "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
    },
    "required": [],
}


def say(event: CallEvent, text: str) -> None:
    """Answer with a text."""
    event.content.append(Text(text))
    event.set_status(Status.OK, "OK")


class AskingTools:
    """One tool for each way of asking."""

    def on_name(self, event: CallEvent) -> None:
        """Ask for a name and greet."""
        answer = event.ask("user_name", NAME.message, NAME.schema)
        say(event, f"Hello, {answer['name']}!" if answer.accepted else "Hello, whoever you are!")

    def on_capital(self, event: CallEvent) -> None:
        """Let the client's model answer."""
        say(event, event.sample("capital_question", "What is the capital of France?", max_tokens=100).text)

    def on_roots(self, event: CallEvent) -> None:
        """Name the client's folders."""
        say(event, "Roots: " + ", ".join(root.uri for root in event.roots("client_roots")))

    def on_confirm(self, event: CallEvent) -> None:
        """Ask for a confirmation."""
        answer = event.ask("confirm", "Please confirm", form(ok={"type": "boolean"}))
        say(event, "state-ok: confirmed" if answer.get("ok") else "state-ok: not confirmed")

    def on_everything(self, event: CallEvent) -> None:
        """Ask three things at once."""
        answers = event.ask_all(
            {"user_name": NAME, "greeting": Sampling("Generate a greeting", 50), "client_roots": Roots()}
        )
        say(
            event,
            f"{answers['greeting'].text} {answers['user_name'].get('name')}, {len(answers['client_roots'])} roots",
        )

    def on_rounds(self, event: CallEvent) -> None:
        """Ask one thing after the other."""
        name = event.ask("step1", "Step 1: What is your name?", form(name=TEXT))
        color = event.ask("step2", "Step 2: What is your favorite color?", form(color=TEXT))
        say(event, f"{name.get('name')} likes {color.get('color')}")

    def on_whatever_it_can(self, event: CallEvent) -> None:
        """Ask the person where the client can, else the client's model."""
        if event.client_can("elicitation"):
            say(event, str(event.ask("user_name", NAME.message, NAME.schema).get("name")))
        else:
            say(event, event.sample("greeting", "Generate a greeting", max_tokens=50).text)

    def on_needs_sampling(self, event: CallEvent) -> None:
        """Runs only for clients that declared sampling."""
        say(event, "The client can sample.")

    def on_prompt(self, event: CallEvent) -> str:
        """Ask for the context of a prompt."""
        answer = event.ask("user_context", "What context should the prompt use?", form(context=TEXT))
        return f"Use this context: {answer.get('context')}"

    def on_sampling(self, event: CallEvent) -> None:
        """Let the client's model answer a prompt."""
        say(event, f"LLM response: {event.sample('prompt', event.request['prompt'], max_tokens=100).text}")

    def on_elicitation(self, event: CallEvent) -> None:
        """Ask for a name and an address."""
        answer = event.ask("user", event.request["message"], form(username=TEXT, email=TEXT))
        say(event, f"User response: {answer.action} {answer.content}")

    def on_defaults(self, event: CallEvent) -> None:
        """Ask with a form whose fields are filled in."""
        answer = event.ask("form", "Please check these", DEFAULTS)
        say(event, f"Elicitation completed: action={answer.action}, content={answer.content}")

    def on_enums(self, event: CallEvent) -> None:
        """Ask with every kind of choice."""
        answer = event.ask("form", "Please choose", ENUMS)
        say(event, f"Elicitation completed: action={answer.action}, content={answer.content}")
