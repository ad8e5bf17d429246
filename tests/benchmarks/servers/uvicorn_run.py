"""uvicorn, as the SDKs depend on it, or tuned."""

from __future__ import annotations

from typing import Any

import uvicorn


def run(app: Any, port: int, tuned: bool) -> None:
    """Serve. Not tuned: Python's own event loop and h11, which is what uvicorn brings along without its extras."""
    loop, http = ("uvloop", "httptools") if tuned else ("asyncio", "h11")
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error", access_log=False, loop=loop, http=http)
