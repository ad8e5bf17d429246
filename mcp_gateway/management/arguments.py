"""What a shell hands to a command."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError

from mcp_gateway.conf import gateway_settings
from mcp_gateway.protocol import body
from mcp_gateway.protocol.errors import ProtocolError

# How many user names an error lists.
_SHOWN = 10


def read_json(text: str, name: str) -> Any:
    """The JSON value of an argument, read as strictly as a body. Raises ``CommandError`` that calls it ``name``."""
    if not text.strip():
        raise CommandError(f"{name} is empty: write JSON there.")
    try:
        return body.parse(text.encode(), max_depth=gateway_settings.max_json_depth)
    except UnicodeEncodeError:
        raise CommandError(f"{name} is no text in the shell's encoding; write it in UTF-8.") from None
    except ProtocolError as fault:
        inside = name[0].lower() + name[1:]
        raise CommandError(fault.message.replace("The body", name).replace("the body", inside)) from None


def active_user(name: str) -> Any:
    """The user of a name who may log in. Raises ``CommandError`` that says which users there are."""
    users = get_user_model()
    try:
        user: Any = users._default_manager.get_by_natural_key(name)
    except users.DoesNotExist:
        field = users.USERNAME_FIELD
        names = list(users._default_manager.order_by(field).values_list(field, flat=True)[: _SHOWN + 1])
        shown = ", ".join(str(entry) for entry in names[:_SHOWN]) or "none yet; manage.py createsuperuser makes one"
        more = " and more" if len(names) > _SHOWN else ""
        raise CommandError(f"There is no user “{name}”. There are: {shown}{more}.") from None
    if not getattr(user, "is_active", True):
        raise CommandError(f"The user “{name}” is disabled, and so would the token be.")
    return user
