"""What a handler sees: events, statuses, origins, services. Imports without settings and without loaded apps."""

from mcp_gateway.events.asking import CannotAsk
from mcp_gateway.events.content import Audio, EmbeddedResource, Image, ResourceLink, Text
from mcp_gateway.events.event import AuthorizeEvent, CallEvent, Event, RequestEvent, RequestResponseEvent, WebEvent
from mcp_gateway.events.questions import Answer, Form, Page, Root, Roots, Sample, Sampling, Unanswered
from mcp_gateway.events.services import service
from mcp_gateway.events.status import Origin, Status

__all__ = [
    "Answer",
    "Audio",
    "AuthorizeEvent",
    "CallEvent",
    "CannotAsk",
    "EmbeddedResource",
    "Event",
    "Form",
    "Image",
    "Origin",
    "Page",
    "RequestEvent",
    "RequestResponseEvent",
    "ResourceLink",
    "Root",
    "Roots",
    "Sample",
    "Sampling",
    "Status",
    "Text",
    "Unanswered",
    "WebEvent",
    "service",
]
