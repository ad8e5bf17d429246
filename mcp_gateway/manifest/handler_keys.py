"""Which keys a handler's source reads of ``event.request`` and writes to ``event.response``.

The source is read, never run: this costs a request nothing, and a key is seen before the first call. What a handler
does in ways that a reader of this one method cannot see (keys from variables, dictionaries built elsewhere) is not
claimed either way.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from mcp_gateway.events.handlers import HandlerNotFound, load_handler
from mcp_gateway.registry import ListenerEntry

READING = frozenset({"get", "pop", "setdefault"})


@dataclass(frozen=True, slots=True)
class HandlerKeys:
    """Keys read of the request, and written to the root of the response."""

    read: frozenset[str]
    written: frozenset[str]


def keys_of(listener: ListenerEntry) -> HandlerKeys | None:
    """The keys that a listener's method uses, None where it is not here or has no source."""
    try:
        handler = load_handler(listener.module, listener.class_name, listener.method)
    except HandlerNotFound:
        return None
    return keys_in(handler)


def keys_in(handler: Callable[..., Any]) -> HandlerKeys | None:
    """The keys that a method uses, None where its source cannot be had."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(handler))))
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    function = next((node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))), None)
    if function is None or not function.args.args:
        return None
    reader = _Reader(function.args.args[-1].arg)
    reader.visit(function)
    return HandlerKeys(frozenset(reader.read), frozenset(reader.written))


class _Reader(ast.NodeVisitor):
    """Follows ``event.request`` and ``event.response``, also under another name."""

    def __init__(self, event: str) -> None:
        self._event = event
        self._requests: set[str] = set()
        self._responses: set[str] = set()
        self.read: set[str] = set()
        self.written: set[str] = set()

    def _is(self, node: ast.AST, attribute: str, aliases: set[str]) -> bool:
        if isinstance(node, ast.Name):
            return node.id in aliases
        return (
            isinstance(node, ast.Attribute)
            and node.attr == attribute
            and isinstance(node.value, ast.Name)
            and node.value.id == self._event
        )

    def _is_request(self, node: ast.AST) -> bool:
        return self._is(node, "request", self._requests)

    def _is_response(self, node: ast.AST) -> bool:
        return self._is(node, "response", self._responses)

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._assigned(target, node.value)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._assigned(node.target, node.value)
        self.generic_visit(node)

    def _assigned(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            if self._is_request(value):
                self._requests.add(target.id)
            if self._is_response(value):
                self._responses.add(target.id)
        elif self._is_response(target):
            self.written.update(_names(value))
        elif isinstance(target, ast.Subscript) and self._is_response(target.value):
            self.written.update(_text(target.slice))

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.written.update(_names(node.value))
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.ctx, ast.Load) and self._is_request(node.value):
            self.read.update(_text(node.slice))
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        function = node.func
        if isinstance(function, ast.Attribute) and node.args:
            if function.attr in READING and self._is_request(function.value):
                self.read.update(_text(node.args[0]))
            if function.attr == "update" and self._is_response(function.value):
                self.written.update(_names(node.args[0]))
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        if isinstance(node.ops[0], (ast.In, ast.NotIn)) and self._is_request(node.comparators[0]):
            self.read.update(_text(node.left))
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        # A function inside the method returns to the method, not to the caller.
        if node.args.args and node.args.args[-1].arg == self._event:
            self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        if node.args.args and node.args.args[-1].arg == self._event:
            self.generic_visit(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit(node.body)


def _names(node: ast.expr) -> Iterator[str]:
    """The keys of a dictionary that is written out."""
    if isinstance(node, ast.Dict):
        for key in node.keys:
            if key is not None:
                yield from _text(key)


def _text(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
