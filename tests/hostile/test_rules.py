"""What no object can make the webhook do, and that command and webhook say the same."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
from click.testing import CliRunner

from fusioninfer.cli import main
from tests.builders.lws import lws
from tests.golden.test_golden import CASES
from tests.hostile.objects import files
from tests.hostile.server import Server
from tests.tiers import some
from webhook.expand import expand
from webhook.mutate import WRITABLE

SEVEN = lws(
    service="Not_A_Label",
    component_type="x",
    role_name="Not A Label",
    roles="a,a",
    skip="everything",
    servce="svc",
    lancher="auto",
)


def causes(server: Server, live: Any) -> list[tuple[str, str]]:
    status = server.validated(live)["status"]
    return [(cause["field"], cause["message"]) for cause in status["details"]["causes"]]


def test_the_webhook_opens_no_connection(server: Server) -> None:
    for file in some(files(), "SENT_FILES"):
        server.admit(file)

    ports = {local.rpartition(":")[2] for local, _remote in connections(server.process.pid)}
    assert ports == {f"{server.port:04X}", f"{server.metrics_port:04X}"}


def connections(pid: int) -> set[tuple[str, str]]:
    """Return the sockets of a process: local and remote ports."""
    links = [link for file in Path(f"/proc/{pid}/fd").iterdir() if (link := link_of(file))]
    inodes = {link[8:-1] for link in links if link.startswith("socket:[")}
    found: set[tuple[str, str]] = set()
    for family in ("tcp", "tcp6", "udp", "udp6"):
        lines = Path(f"/proc/{pid}/net/{family}").read_text().splitlines()[1:]
        found |= {(line.split()[1], line.split()[2]) for line in lines if line.split()[9] in inodes}
    return found


def link_of(file: Path) -> str:
    """Return what a descriptor of a process is; nothing if it was closed meanwhile."""
    try:
        return str(file.readlink())
    except FileNotFoundError:
        return ""


def test_a_denial_has_the_messages_of_the_command(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "seven.json"
    file.write_bytes(orjson.dumps(SEVEN))

    found = orjson.loads(CliRunner().invoke(main, ["validate", "-o", "json", str(file)]).stdout)["findings"]

    messages = [
        (one["field"], f"{one['message']} ({one['code']})") for one in found if one["severity"] == "error"
    ]
    assert len(messages) == 7
    assert messages == causes(server, SEVEN)


ALONE = """
import sys
def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.bind"):
        raise SystemExit(9)
sys.addaudithook(refuse)
from fusioninfer.cli import main
for verb in ("expand", "validate", "explain"):
    try:
        main([verb, "-f", sys.argv[1]])
    except SystemExit as end:
        print(f"{verb} ended with {end.code}")
"""


def test_the_command_needs_no_network_and_no_credentials() -> None:
    file = CASES[0] / "input.yaml"

    result = subprocess.run(
        [sys.executable, "-c", ALONE, str(file)],
        check=False,
        capture_output=True,
        env={"HOME": "/nonexistent", "PATH": ""},
    )

    assert result.returncode == 0, result.stderr
    assert re.findall(rb"\w+ ended with \d", result.stdout) == [
        *(b"expand ended with 0", b"validate ended with 0", b"explain ended with 0")
    ]


RIGHTS = re.compile(
    "'privileged': True|'add': \\[|hostPath|hostNetwork|hostPID|hostIPC|serviceAccount"
    "|runAs(?!NonRoot)|nodeName|secret"
)


def test_a_patch_writes_only_permitted_fields_and_adds_no_privileges() -> None:
    for file in files():
        operations: Any = expand(file)

        assert {one["op"] for one in operations} <= {"add", "replace", "remove"}
        assert [one["path"] for one in operations if not is_ours(one["path"])] == []
        text = str([one for one in operations if "leaderTemplate" not in one["path"]])
        assert not set(RIGHTS.findall(text)) - set(RIGHTS.findall(str(file)))


def is_ours(path: str) -> bool:
    """Return whether mutators may write a path, or it is a container's empty list that is removed."""
    if path == "/metadata/annotations/fusioninfer.io~1expansion":
        return True
    allowed: Any = WRITABLE
    for part in path.split("/")[1:]:
        if part.isdigit() or part == "-":
            continue
        if allowed is None:
            return True
        key = part.replace("~1", "/").replace("~0", "~")
        if key not in allowed:
            return False
        allowed = allowed[key]
    return True
