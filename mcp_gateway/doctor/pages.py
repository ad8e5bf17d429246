"""The forms of the pages that people see on the way, as far as somebody must fill them in."""

from __future__ import annotations

from html.parser import HTMLParser


class Form(HTMLParser):
    """The fields of a page's forms, and whether one of them asks for a password."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        #: Inputs by name; boxes that are not ticked are left out, as browsers do.
        self.fields: dict[str, str] = {}
        self.asks_password = False
        #: The named buttons, in order.
        self.buttons: list[tuple[str, str]] = []
        self.feed(page.decode("utf-8", "replace"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        name = values.get("name")
        kind = values.get("type") or ("submit" if tag == "button" else "text")
        if tag == "input" and kind == "password":
            self.asks_password = True
        if not name:
            return
        if tag == "button" or (tag == "input" and kind == "submit"):
            self.buttons.append((name, values.get("value") or ""))
        elif tag == "input" and (kind not in ("checkbox", "radio") or "checked" in values):
            default = "on" if kind == "checkbox" else ""
            self.fields[name] = values.get("value") or default
