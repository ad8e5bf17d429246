"""The internet as the tests have it: one TLS server on this machine that answers for every public name."""

from __future__ import annotations

import datetime
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from mcp_gateway.oauth.fetch import SafeFetcher

HOST = "client.test"


@dataclass
class Page:
    """What a path answers; ``write`` sends the body its own way."""

    body: Any = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    write: Callable[[Any], None] | None = None


@dataclass
class Web:
    """The server: ``pages`` by path, ``asked`` what was asked for, with its headers."""

    port: int
    certificate: Path
    pages: dict[str, Page] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def put(self, path: str, body: Any, **page: Any) -> str:
        """Publish something; objects as JSON. Gives its URL."""
        self.pages[path] = Page(body, **page)
        return f"https://{HOST}{path}"

    @property
    def paths(self) -> list[str]:
        """What was asked for."""
        return [path for path, _headers in self.asked]


class LocalFetcher(SafeFetcher):
    """The fetcher under test, with other names, roads and authorities: all hosts are the one on this machine."""

    web: ClassVar[Web]
    resolved: ClassVar[list[str]] = ["203.0.113.9"]

    def addresses(self, host: str, port: int) -> list[str]:
        return self.resolved

    def connect(self, address: str, port: int, timeout: float) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.web.port), timeout=timeout)

    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.web.certificate))


def self_signed(folder: Path, host: str = HOST) -> tuple[Path, Path]:
    """A certificate of a host, which is its own authority, and its key, as files."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "certificate.pem", folder / "key.pem"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return paths


@contextmanager
def serve(folder: Path) -> Iterator[Web]:
    """Serve until the end; the certificate lies in ``folder``."""
    certificate, key = self_signed(folder)
    web = Web(0, certificate)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            web.asked.append((self.path, dict(self.headers)))
            page = web.pages.get(self.path, Page(b"{}", 404))
            body = page.body if isinstance(page.body, bytes) else json.dumps(page.body).encode()
            self.send_response(page.status)
            headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **page.headers}
            for header, value in headers.items():
                self.send_header(header, value)
            self.end_headers()
            if page.write is not None:
                page.write(self.wfile)
            else:
                self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Print nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that hangs up is what some tests are about."""

    server = Server(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    web.port = server.server_port
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield web
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
