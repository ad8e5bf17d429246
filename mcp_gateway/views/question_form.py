"""Django forms from the flat schemas of questions, and JSON values from what people type into them."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils import timezone


def form_class(schema: Mapping[str, Any]) -> type[forms.Form]:
    """A form with a field for each property, in the schema's order."""
    required = frozenset(schema.get("required", ()))
    fields = {
        _field_name(index): _field(name, definition, required=name in required)
        for index, (name, definition) in enumerate(schema["properties"].items())
    }
    return type("QuestionForm", (forms.Form,), fields)


def content(schema: Mapping[str, Any], form: forms.Form) -> dict[str, Any]:
    """What was typed into a valid form, as the schema's types; what was left empty is left out."""
    values: dict[str, Any] = {}
    for index, (name, definition) in enumerate(schema["properties"].items()):
        value = form.cleaned_data[_field_name(index)]
        if definition["type"] == "boolean":
            values[name] = bool(value)
        elif value not in (None, "", []):
            values[name] = _plain(value)
    return values


def _plain(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        # RFC 3339 wants an offset, also where the project lives without time zones.
        return (value if timezone.is_aware(value) else timezone.make_aware(value)).isoformat()
    return value.isoformat() if isinstance(value, datetime.date) else value


def _field_name(index: int) -> str:
    # Names of properties are anything; those of a form's fields are attributes and ids.
    return f"field{index}"


def _field(name: str, definition: Mapping[str, Any], *, required: bool) -> forms.Field:
    common: dict[str, Any] = {
        "label": definition.get("title") or name,
        "help_text": definition.get("description", ""),
        "initial": definition.get("default"),
        "required": required,
    }
    kind = definition["type"]
    if kind == "boolean":
        # Both answers fit: a box that is not ticked says no.
        return forms.BooleanField(**{**common, "required": False})
    if kind == "array":
        choices = _options(definition["items"])
        return forms.MultipleChoiceField(**common, choices=choices, widget=forms.CheckboxSelectMultiple)
    if kind in ("number", "integer"):
        limits: dict[str, Any] = {"min_value": definition.get("minimum"), "max_value": definition.get("maximum")}
        return forms.IntegerField(**common, **limits) if kind == "integer" else _Number(**common, **limits)
    choices = _options(definition)
    if choices:
        empty = [] if required and "default" in definition else [("", "")]
        return forms.ChoiceField(**common, choices=[*empty, *choices])
    return _text(definition, common)


class _Number(forms.FloatField):
    widget = forms.NumberInput(attrs={"step": "any"})


def _text(definition: Mapping[str, Any], common: dict[str, Any]) -> forms.Field:
    shape = definition.get("format")
    if shape == "date":
        return forms.DateField(**common, widget=_typed(forms.DateInput, "date", "%Y-%m-%d"))
    if shape == "date-time":
        return forms.DateTimeField(**common, widget=_typed(forms.DateTimeInput, "datetime-local", "%Y-%m-%dT%H:%M"))
    lengths: dict[str, Any] = {"min_length": definition.get("minLength"), "max_length": definition.get("maxLength")}
    if definition.get("writeOnly") is True:
        widget: forms.Widget = forms.PasswordInput(attrs={"autocomplete": "off"})
        return forms.CharField(**{**common, "initial": None}, **lengths, widget=widget, strip=False)
    if shape == "email":
        return forms.EmailField(**common, **lengths)
    kind = "url" if shape == "uri" else "text"
    return forms.CharField(**common, **lengths, widget=forms.TextInput(attrs={"type": kind}))


def _typed(widget: type[forms.DateTimeInput | forms.DateInput], kind: str, pattern: str) -> forms.Widget:
    return widget(format=pattern, attrs={"type": kind})


def _options(definition: Mapping[str, Any]) -> list[tuple[str, str]]:
    titled = definition.get("oneOf") or definition.get("anyOf")
    if titled:
        return [(option["const"], option["title"]) for option in titled]
    values = definition.get("enum", ())
    names = definition.get("enumNames") or values
    return list(zip(values, [*names, *values[len(names) :]], strict=False))
