"""The webhook's own server with nothing behind it: what HTTP and TLS alone cost.

    python -m tests.bench.nothing DIRECTORY

The same listening, the same TLS, the same metrics; every review is allowed unread.
"""

import socket
import sys
from ipaddress import ip_network
from pathlib import Path
from typing import Final

from certs.reload import CertificateDirectory
from server import admission, process
from webhook.review import AdmissionAnswer
from webhook.server.callers import Callers
from webhook.server.listen import Limits

ALLOWED: Final = AdmissionAnswer(
    b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"1","allowed":true}}',
    "unchanged",
)


def allow(_body: bytes) -> AdmissionAnswer:
    """Answer without reading."""
    return ALLOWED


def main(directory: str) -> None:
    """Serve on free ports of loopback; the log line `listening` says which."""
    sockets = socket.create_server(("127.0.0.1", 0)), socket.create_server(("127.0.0.1", 0))
    answers = {"/mutate": allow, "/validate": allow}
    known = Callers(networks=(ip_network("127.0.0.0/8"),))
    source = CertificateDirectory(Path(directory))
    process.run(admission.webhook_on(sockets, source, answers, Limits(), callers=known))


if __name__ == "__main__":
    main(sys.argv[1])
