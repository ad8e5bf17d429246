"""What a handler's own code says of its request and response: the types and serializers it uses, the keys it touches.

The source is read, never run. Types are looked up where the handler's module has them. What cannot be told for
certain is left out: a draft is for its author to finish.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, get_type_hints

from rest_framework.serializers import BaseSerializer

from mcp_gateway.authoring.hints import Schema, says_something, schema_of
from mcp_gateway.authoring.serializers import schema_of_serializer

# What these return, whatever they are given.
_BUILTINS: dict[str, Schema] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "len": {"type": "integer"},
    "list": {"type": "array"},
    "sorted": {"type": "array"},
}


@dataclass(slots=True)
class Findings:
    """What one handler says. A declared schema is None where nothing is declared."""

    request: Schema | None = None
    response: Schema | None = None
    request_from: str = ""
    response_from: str = ""
    # Name → whether the handler fails without it.
    reads: dict[str, bool] = field(default_factory=dict)
    # Name → the schema of what is written there, as far as the code shows it.
    writes: dict[str, Schema] = field(default_factory=dict)


def read_handler(handler: Callable[..., Any]) -> Findings:
    """Read the code of a handler's method; nothing is found where there is no source."""
    function = inspect.unwrap(getattr(handler, "__func__", handler))
    findings = Findings()
    reader = _Reader(function, findings)
    reader.take_return_hint()
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return findings
    definition = tree.body[0]
    if isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef)):
        reader.take_body(definition, bound=inspect.ismethod(handler))
    return findings


class _Reader:
    """Reads one function."""

    def __init__(self, function: Any, findings: Findings) -> None:
        self._function = function
        self._globals: dict[str, Any] = getattr(function, "__globals__", {})
        self._findings = findings
        self._event = ""
        # Local names: those that hold the request, and what is known of the others.
        self._requests: set[str] = set()
        self._schemas: dict[str, Schema] = {}
        self._serializers: dict[str, BaseSerializer[Any]] = {}

    def take_return_hint(self) -> None:
        """A handler may return its response: then the hint says what it is."""
        try:
            hint = get_type_hints(self._function).get("return")
        except Exception:  # a name that only type checkers see
            return
        if hint is not None and hint is not type(None):
            self._declare("response", schema_of(hint, response=True), "its return type")

    def take_body(self, definition: ast.FunctionDef | ast.AsyncFunctionDef, *, bound: bool) -> None:
        """Read the statements, in order."""
        parameters = [*definition.args.posonlyargs, *definition.args.args][1 if bound else 0 :]
        if not parameters:
            return
        self._event = parameters[0].arg
        guarded = set(self._guarded(definition))
        for node in _in_order(definition):
            if isinstance(node, (ast.Assign, ast.AnnAssign)):
                self._assignment(node)
            elif isinstance(node, ast.Return) and node.value is not None:
                self._write(node.value)
            elif isinstance(node, ast.Call):
                self._call(node)
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and self._is_request(node.value):
                name = _text(node.slice)
                if name is not None:
                    self._read(name, needed=name not in guarded)

    def _assignment(self, node: ast.Assign | ast.AnnAssign) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        value = node.value
        for target in targets:
            if isinstance(target, ast.Name) and value is not None:
                self._local(target.id, value, node.annotation if isinstance(node, ast.AnnAssign) else None)
            elif value is not None and self._is_member(target, "response"):
                self._write(value)
            elif (
                value is not None
                and isinstance(target, ast.Subscript)
                and self._is_member(target.value, "response")
                and (name := _text(target.slice)) is not None
            ):
                self._findings.writes.setdefault(name, self._value(value))

    def _local(self, name: str, value: ast.expr, annotation: ast.expr | None) -> None:
        declared = self._type(annotation) if annotation is not None else None
        if self._is_request(value):
            self._requests.add(name)
            if declared is not None:
                self._declare("request", schema_of(declared, response=False), f"the type of {name}")
            return
        serializer = self._serializer(value)
        if serializer is not None:
            self._serializers[name] = serializer
        schema = schema_of(declared, response=True) if declared is not None else self._value(value)
        if says_something(schema) and (declared is not None or isinstance(value, (ast.Dict, ast.Attribute))):
            self._schemas[name] = schema

    def _call(self, node: ast.Call) -> None:
        function = node.func
        if (
            isinstance(function, ast.Attribute)
            and function.attr in ("get", "pop")
            and self._is_request(function.value)
            and node.args
            and (name := _text(node.args[0])) is not None
        ):
            self._read(name, needed=False)
            return
        called = self._named(function)
        taken = [keyword.value for keyword in node.keywords if keyword.arg in ("data", None)]
        if isinstance(called, type) and any(map(self._is_request, taken)):
            if issubclass(called, BaseSerializer):
                partial = any(keyword.arg == "partial" for keyword in node.keywords)
                self._declare_serializer("request", called(partial=partial), called.__name__)
            else:
                self._declare("request", schema_of(called, response=False), called.__name__)
        elif getattr(called, "__name__", "") == "cast" and len(node.args) == 2 and self._is_request(node.args[1]):
            self._declare("request", schema_of(self._type(node.args[0]), response=False), "the type it is cast to")

    def _write(self, value: ast.expr) -> None:
        """Take what becomes the response."""
        if isinstance(value, ast.Name) and value.id in self._schemas:
            schema = self._schemas[value.id]
        else:
            schema = self._value(value)
        declared = self._declared_source(value)
        if declared and says_something(schema):
            self._declare("response", schema, declared)
        for name, member in schema.get("properties", {}).items():
            self._findings.writes.setdefault(name, member)

    def _declared_source(self, value: ast.expr) -> str:
        """The name of the type or serializer that says what a value is; empty where only its keys are known."""
        if isinstance(value, ast.Attribute) and value.attr == "data":
            serializer = self._serializer(value.value)
            if serializer is not None:
                return type(getattr(serializer, "child", serializer)).__name__
        if isinstance(value, ast.Name) and "additionalProperties" in self._schemas.get(value.id, {}):
            return f"the type of {value.id}"
        if isinstance(value, ast.Call) and isinstance(self._named(value.func), type):
            return str(self._named(value.func).__name__)
        return ""

    def _value(self, value: ast.expr) -> Schema:
        """What an expression's value is, as far as it can be seen."""
        if isinstance(value, ast.Constant):
            return {} if value.value is None or value.value is Ellipsis else schema_of(type(value.value), response=True)
        if isinstance(value, ast.JoinedStr):
            return {"type": "string"}
        if isinstance(value, ast.Dict):
            names = [_text(key) if key is not None else None for key in value.keys]
            members = {name: self._value(entry) for name, entry in zip(names, value.values, strict=True) if name}
            return {"type": "object", "properties": members} if members else {"type": "object"}
        if isinstance(value, (ast.List, ast.ListComp)):
            return {"type": "array"}
        if isinstance(value, ast.Compare):
            return {"type": "boolean"} if not isinstance(value.ops[0], (ast.Lt, ast.Gt)) else {}
        if isinstance(value, ast.Name):
            return self._schemas.get(value.id, {})
        if isinstance(value, ast.Attribute) and value.attr == "data":
            serializer = self._serializer(value.value)
            return self._mapped(serializer, response=True) if serializer is not None else {}
        if isinstance(value, ast.Call):
            called = self._named(value.func)
            if isinstance(value.func, ast.Name) and value.func.id in _BUILTINS and value.func.id not in self._globals:
                return dict(_BUILTINS[value.func.id])
            return schema_of(called, response=True) if isinstance(called, type) else {}
        return {}

    def _serializer(self, value: ast.expr) -> BaseSerializer[Any] | None:
        """The serializer that an expression makes, or that a local name holds."""
        if isinstance(value, ast.Name):
            return self._serializers.get(value.id)
        if not isinstance(value, ast.Call):
            return None
        called = self._named(value.func)
        if not (isinstance(called, type) and issubclass(called, BaseSerializer)):
            return None
        many = any(
            keyword.arg == "many" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True
            for keyword in value.keywords
        )
        try:
            made: BaseSerializer[Any] = called(many=many)
        except Exception:  # one that needs more than that
            return None
        return made

    def _declare_serializer(self, role: str, serializer: BaseSerializer[Any], source: str) -> None:
        self._declare(role, self._mapped(serializer, response=role == "response"), source)

    def _mapped(self, serializer: BaseSerializer[Any], *, response: bool) -> Schema:
        try:
            return schema_of_serializer(serializer, response=response)
        except Exception:  # a field of the project's that cannot be looked at without data
            return {}

    def _declare(self, role: str, schema: Schema, source: str) -> None:
        if getattr(self._findings, role) is None and says_something(schema):
            setattr(self._findings, role, schema)
            setattr(self._findings, f"{role}_from", source)

    def _read(self, name: str, *, needed: bool) -> None:
        self._findings.reads[name] = needed and self._findings.reads.get(name, True)

    def _is_request(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Call) and getattr(self._named(node.func), "__name__", "") == "cast":
            return len(node.args) == 2 and self._is_request(node.args[1])
        return self._is_member(node, "request") or (isinstance(node, ast.Name) and node.id in self._requests)

    def _is_member(self, node: ast.expr, member: str) -> bool:
        return (
            isinstance(node, ast.Attribute)
            and node.attr == member
            and isinstance(node.value, ast.Name)
            and node.value.id == self._event
        )

    def _guarded(self, definition: ast.AST) -> Iterator[str]:
        """The names that the handler asks for with ``in`` before it reads them."""
        for node in ast.walk(definition):
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
                name = _text(node.left)
                if name is not None:
                    yield name

    def _named(self, node: ast.expr) -> Any:
        """What a name or a dotted name stands for in the handler's module; None where it is local or unknown."""
        if isinstance(node, ast.Name):
            return self._globals.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self._named(node.value)
            return getattr(owner, node.attr, None) if inspect.ismodule(owner) or isinstance(owner, type) else None
        return None

    def _type(self, annotation: ast.expr) -> Any:
        """The type that an annotation names, or ``Any``."""

        def holder() -> None: ...

        text = annotation.value if isinstance(annotation, ast.Constant) else ast.unparse(annotation)
        holder.__annotations__ = {"it": text}
        try:
            return get_type_hints(holder, globalns=self._globals)["it"]
        except Exception:  # a name that only type checkers see
            return Any


def _in_order(definition: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function in the order of its text, without those of functions inside it."""
    for child in ast.iter_child_nodes(definition):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        yield child
        yield from _in_order(child)


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
