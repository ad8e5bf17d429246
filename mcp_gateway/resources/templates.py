"""URI templates (RFC 6570): the variables of one, and the values that a URI has for them.

Expanding is what clients do; a server has to find the template that a URI was made from, which the RFC leaves open.
Served are levels 1 and 2 with one variable in each expression: ``{id}`` takes unreserved and encoded characters and
ends where the text after it stands first, ``{+path}`` and ``{#part}`` take reserved characters too and end where it
stands last. Lists, prefixes (``{id:3}``) and the other operators are refused when the template is read.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from urllib.parse import unquote

_EXPRESSION = re.compile(r"\{([^{}]*)\}")
_VARIABLE = re.compile(r"([+#]?)((?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:\.?(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2}))*)")

# RFC 6570 section 3.2.2: everything but unreserved characters is encoded; 3.2.3: reserved ones stay.
_SIMPLE = re.compile(r"(?:[A-Za-z0-9\-._~]++|%[0-9A-Fa-f]{2})++")
_RESERVED = re.compile(r"(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]++|%[0-9A-Fa-f]{2})++")


class Template:
    """A URI template that was understood.

    ``variables`` are its names in order, ``literals`` the texts around them, one more. Raises ``ValueError``, with the
    cure, for what cannot be matched.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.variables: list[str] = []
        self.literals: list[str] = []
        self._values: list[re.Pattern[str]] = []
        end = 0
        for found in _EXPRESSION.finditer(text):
            operator, name = self._read(found[1])
            self.literals.append(text[end : found.start()] + ("#" if operator == "#" else ""))
            self.variables.append(name)
            self._values.append(_RESERVED if operator else _SIMPLE)
            end = found.end()
        self.literals.append(text[end:])
        if not self.variables:
            raise ValueError("It has no expression such as {id}. Name a resource without one with “uri”.")
        for literal in self.literals:
            if literal and not _RESERVED.fullmatch(literal):
                raise ValueError(f"“{literal[:60]}” holds characters that no URI has. Encode them with “%”.")
        if not all(self.literals[1:-1]):
            raise ValueError("Two expressions stand together; nobody could tell their values apart. Put text between.")

    def _read(self, expression: str) -> tuple[str, str]:
        found = _VARIABLE.fullmatch(expression)
        if found is None:
            raise ValueError(
                f"The expression {{{expression[:60]}}} cannot be matched. Write {{name}}, {{+name}} or {{#name}}."
            )
        if found[2] in self.variables:
            raise ValueError(f"The variable “{found[2][:60]}” stands in it twice.")
        return found[1], found[2]

    @property
    def literal(self) -> int:
        """The characters outside expressions: of several templates that fit, the one with the most says the most."""
        return sum(map(len, self.literals))

    def match(self, uri: str) -> dict[str, str] | None:
        """The decoded values of the variables, or None where the URI was not made from this template.

        A value that is no UTF-8 once decoded makes no match. Takes time in proportion to the URI's length.
        """
        first, last = self.literals[0], self.literals[-1]
        stop = len(uri) - len(last)
        if not uri.startswith(first) or not uri.endswith(last) or stop < len(first):
            return None
        ends: list[tuple[int, int]] = [(0, len(first))]
        for literal, value in zip(self.literals[1:-1], self._values, strict=False):
            begin = ends[-1][1]
            at = (uri.find if value is _SIMPLE else uri.rfind)(literal, begin, stop)
            if at < 0:
                return None
            ends.append((at, at + len(literal)))
        ends.append((stop, len(uri)))
        values: dict[str, str] = {}
        for name, allowed, ((_, begin), (end, _)) in zip(self.variables, self._values, pairwise(ends), strict=True):
            if not allowed.fullmatch(uri, begin, end):
                return None
            try:
                values[name] = unquote(uri[begin:end], errors="strict")
            except UnicodeDecodeError:
                return None
        return values


@lru_cache(maxsize=1024)
def template(text: str) -> Template:
    """A template, read once."""
    return Template(text)


def sample(text: str) -> str:
    """A URI of a template's shape, whatever its variables are called."""
    return _EXPRESSION.sub(lambda found: "#x" if found[1].startswith("#") else "x", text)
