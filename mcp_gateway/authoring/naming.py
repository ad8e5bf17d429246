"""From a tool's or module's name to the names in its code and files."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass

from mcp_gateway.authoring.files import NotWritten
from mcp_gateway.events.handlers import snake_case
from mcp_gateway.manifest.discovery import MODULE_ID, SKIPPED_SUFFIXES
from mcp_gateway.manifest.names import name_problem

# Events of the protocol itself begin so, such as mcp:tools/list.
RESERVED = "mcp:"

_PARTS = re.compile(r"[A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class ToolNames:
    """What a tool's name becomes: ``my-tool`` is the class ``MyToolHandler`` in ``my_tool_handler.py``."""

    tool: str
    words: tuple[str, ...]

    @property
    def class_name(self) -> str:
        """The handler's class."""
        name = f"{self._camel}Handler"
        return name if name.isidentifier() else f"Tool{name}"

    @property
    def method(self) -> str:
        """The method as a manifest writes it."""
        return f"on{self._camel}"

    @property
    def function(self) -> str:
        """The method as Python writes it."""
        return snake_case(self.method)

    @property
    def file(self) -> str:
        """The file of the class, without its ending."""
        return snake_case(self.class_name)

    @property
    def snake(self) -> str:
        """The name in the names of tests."""
        return "_".join(snake_case(word) for word in self.words)

    def schema(self, role: str) -> str:
        """The file of a schema: ``schemas/myToolRequest.json``."""
        return f"schemas/{self._camel[:1].lower()}{self._camel[1:]}{role.capitalize()}.json"

    @property
    def _camel(self) -> str:
        return "".join(word[:1].upper() + word[1:] for word in self.words)


def tool_names(tool: str) -> ToolNames:
    """Take a tool's name apart. Raises `NotWritten` for one that MCP does not allow or that no code can bear."""
    if tool.startswith(RESERVED):
        raise NotWritten(
            f"The name {tool!r} begins with “{RESERVED}”, which is reserved for the protocol's own events: they are "
            "never tools. Choose another name."
        )
    problem = name_problem(tool)
    if problem:
        raise NotWritten(problem.replace("Rename the event.", "Choose another name."))
    words = tuple(_PARTS.findall(tool))
    if not words:
        raise NotWritten(f"The name {tool!r} has no letter or digit to name a class after. Choose another name.")
    return ToolNames(tool, words)


def check_module_name(name: str) -> None:
    """Raise `NotWritten` where a name cannot be that of a new module."""
    if (
        not MODULE_ID.fullmatch(name)
        or not name[0].isalpha()
        or not name[-1].isalnum()
        or name.endswith(SKIPPED_SUFFIXES)
    ):
        raise NotWritten(
            f"The name {name!r} cannot be a module's. It begins with a letter and goes on with letters, digits, “-” "
            "and “_”, at most 200 of them: its classes are named after it."
        )
    if keyword.iskeyword(name.replace("-", "_")):
        raise NotWritten(f"The name {name!r} is a word of Python, which no import can name. Choose another one.")
