"""Serves a WSGI application as ``manage.py up`` serves the site: granian with the same settings."""

from __future__ import annotations

import sys
from pathlib import Path

from granian.constants import Interfaces
from granian.log import LogLevels
from granian.server import Server

if __name__ == "__main__":
    Server(
        sys.argv[1],
        address="127.0.0.1",
        port=int(sys.argv[2]),
        interface=Interfaces.WSGI,
        workers=1,
        blocking_threads=int(sys.argv[3]),
        websockets=False,
        log_level=LogLevels.warning,
        working_dir=Path(__file__).resolve().parent,
    ).serve()
