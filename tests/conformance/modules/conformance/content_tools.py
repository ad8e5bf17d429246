"""A tool for every kind of content."""

from __future__ import annotations

import base64

from mcp_gateway.events import Audio, CallEvent, EmbeddedResource, Image, Status, Text

# The smallest picture and the smallest sound there are: one red pixel, one silent sample.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
WAV = base64.b64decode("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")


class ContentTools:
    """Tools whose result is content alone."""

    def on_image(self, event: CallEvent) -> None:
        """A picture."""
        event.content.append(Image(PNG, "image/png"))
        event.set_status(Status.OK, "OK")

    def on_audio(self, event: CallEvent) -> None:
        """A sound."""
        event.content.append(Audio(WAV, "audio/wav"))
        event.set_status(Status.OK, "OK")

    def on_embedded_resource(self, event: CallEvent) -> None:
        """A resource with its text."""
        event.content.append(
            EmbeddedResource(
                "test://embedded-resource", "This is an embedded resource content.", mime_type="text/plain"
            )
        )
        event.set_status(Status.OK, "OK")

    def on_multiple_content_types(self, event: CallEvent) -> None:
        """A text, a picture and a resource."""
        event.content = [
            Text("Multiple content types test:"),
            Image(PNG, "image/png"),
            EmbeddedResource(
                "test://mixed-content-resource", '{"test":"data","value":123}', mime_type="application/json"
            ),
        ]
        event.set_status(Status.OK, "OK")
