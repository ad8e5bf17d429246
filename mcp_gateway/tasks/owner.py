"""Who a task is run for: its caller, as far as they may still act."""

from __future__ import annotations

from mcp_gateway.models import ToolTask
from mcp_gateway.oauth.authentication import is_usable
from mcp_gateway.oauth.scopes import requestable, still_allowed
from mcp_gateway.registry import Snapshot
from mcp_gateway.rights import ANONYMOUS, Principal, not_grantable


class OwnerGone(Exception):
    """The caller of a task may not act any more; the text says why, and may be shown to them."""


def owner_of(task: ToolTask, snapshot: Snapshot) -> Principal:
    """The principal that made a task, judged by what holds now.

    Its token may have expired since: a task may take longer than a token is good for. A user or client that was
    disabled, a client that acts as another user now, and a scope that the client may not ask for or the user not grant
    any more, count at once. Raises `OwnerGone`.
    """
    if not task.authenticated:
        return ANONYMOUS
    user, application = task.user, task.application
    if user is not None and not getattr(user, "is_active", True):
        raise OwnerGone("The user whom the task is run for is disabled.")
    may_request = None
    if application is not None:
        client = snapshot.clients.get(application.pk)
        if client is not None and not client.enabled:
            raise OwnerGone("The client that made the task is disabled.")
        if task.acts_for_itself:
            if application.user is not None and not getattr(application.user, "is_active", True):
                raise OwnerGone("The owner of the client that made the task is disabled.")
            acts_as = client.service_user_id if client is not None else None
            if acts_as is None or task.user_id != acts_as:
                raise OwnerGone("The client that made the task acts as another user now.")
        if not is_usable(application, "", task.endpoint):
            raise OwnerGone("The client that made the task may not be used.")
        may_request = requestable(application, snapshot)
    scopes = still_allowed(task.scopes.split(), may_request, snapshot)
    return Principal(
        user=user,
        scopes=scopes - not_grantable(user, scopes, snapshot),
        client_id=application.client_id if application is not None else "",
        application_id=task.application_id,
        may_request=may_request,
        authenticated=True,
        acts_for_itself=task.acts_for_itself,
    )
