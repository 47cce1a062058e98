"""Stand-ins for servers: they answer on loopback, with TLS, as a function says."""

import ssl
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import orjson


class Reply(NamedTuple):
    """An answer: its status, its body, and more headers."""

    status: int
    body: bytes
    headers: Mapping[str, str] = {}


Answer = Callable[[str, bytes], Reply | None]
"""Answers a body that came to a path; None ends the connection without an answer."""


def reviewed(uid: str, patch: bytes = b"") -> Reply:
    """Allow what a review asks, with a JSON patch if it is given one."""
    patched = {"patchType": "JSONPatch", "patch": b64encode(patch).decode()} if patch else {}
    kind = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
    return Reply(200, orjson.dumps({**kind, "response": {"uid": uid, "allowed": True, **patched}}))


@contextmanager
def answering(answer: Answer, folder: Path) -> Iterator[int]:
    """Serve on loopback with the certificate in a folder; yield the port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            reply = answer(self.path.partition("?")[0], body)
            if reply is None:
                self.close_connection = True
                return
            usual = {"Content-Type": "application/json", "Content-Length": str(len(reply.body))}
            self.send_response(reply.status)
            for name, value in {**usual, **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)

        def do_GET(self) -> None:
            self.do_POST()

        def log_message(self, *_words: object) -> None:
            """Log nothing."""

    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
