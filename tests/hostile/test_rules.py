"""Validation, its messages, and what no object can make the webhook do: behaviours 35 to 48."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.builders.lws import changed, container, lws, put, template
from tests.builders.patience import PATIENCE
from tests.builders.reviews import review
from tests.golden.test_golden import CASES
from tests.hostile.objects import FILES
from tests.hostile.server import Server, started

WORKER = "spec.leaderWorkerTemplate.workerTemplate"
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


def test_35_seven_mistakes_are_seven_causes_in_a_fixed_order(server: Server) -> None:
    found = [causes(server, SEVEN) for _ in range(3)]

    assert len(found[0]) == 7
    assert found[0] == found[1] == found[2]


def test_36_an_unknown_annotation_is_reported_with_the_nearest_one(server: Server) -> None:
    ((field, message),) = causes(server, lws(lancher="auto"))

    assert field == "metadata.annotations[fusioninfer.io/lancher]"
    assert "launcher" in message


def test_37_an_unknown_launcher_is_reported_with_the_known_ones(server: Server) -> None:
    ((_field, message),) = causes(server, server.admit(lws(launcher="torchrun")))

    assert all(name in message for name in ("ray-symmetric", "ray-start", "vllm-native", "sglang", "auto"))


def test_38_the_webhook_opens_no_connection(server: Server) -> None:
    for file in FILES:
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


BOMBS = {
    "variables": "$(" * 100_000,
    "quotes": "'\"" * 100_000,
    "substitutions": "$(" * 5_000 + ")" * 5_000,
    "braces": "{" * 100_000,
    "equals": "=" * 500_000,
    "dashes": "-" * 500_000,
    "digits": "9" * 500_000,
    "spaces": " " * 500_000 + "x",
    "semicolons": ";" * 100_000,
    "heredocs": "<<A " * 20_000,
    "backslashes": "\\" * 500_000,
    "json": "[" * 100_000,
    "words": "vllm serve m; " * 20_000,
}


@pytest.mark.parametrize("path", ["/mutate", "/validate"])
@pytest.mark.parametrize("bomb", BOMBS)
def test_39_an_exponential_command_line_is_read_in_bounded_time(server: Server, path: str, bomb: str) -> None:
    text = BOMBS[bomb]
    env = [{"name": "A", "value": text}, {"name": text, "value": "$(A)"}]
    containers = (
        container(args=["m", text, f"--tensor-parallel-size={text}", "--kv-transfer-config", text], env=env),
        container(command=["sh", "-c", text], args=None),
        container(command=["sh", "-c", f"vllm serve m {text}"], args=None, image=f"vllm/vllm-openai:v{text}"),
    )

    for one in containers:
        assert "allowed" in server.response(review(lws(worker=template(one))), path)


def test_40_an_invalid_combination_is_reported_at_the_authors_field(server: Server) -> None:
    live = changed(lws(), "spec.startupPolicy", "LeaderReady")

    ((field, message),) = causes(server, server.admit(live))

    assert field == "spec.startupPolicy"
    assert "LeaderCreated" in message


def test_41_an_object_without_space_for_the_record_is_denied_with_sizes(server: Server) -> None:
    full = changed(lws(), "metadata.annotations.note", "x" * (256 * 1024 - 100))

    ((field, message),) = causes(server, server.admit(full))

    assert field == "metadata.annotations"
    assert re.search(r"needs \d+ bytes, .* leave \d+ of 262144", message)


@pytest.mark.parametrize("text", ["images: 7", "- [", "images: [{launcher: nope}]"])
def test_42_unreadable_settings_prevent_the_start(tmp_path: Path, text: str) -> None:
    (tmp_path / "engines.yaml").write_text(text)
    (tmp_path / "settings.yaml").write_text("engines: engines.yaml")

    result = command("webhook", "--cert-dir", str(tmp_path), "--config", str(tmp_path / "settings.yaml"))

    assert (result.returncode, b"Traceback" in result.stderr) == (2, False)


def test_43_other_settings_change_no_stored_object(tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text("launcher: vllm-native\nschedulerName: another\n")
    stored = put(lws())

    with started(tmp_path, settings=str(tmp_path / "settings.yaml")) as other:
        assert other.operations(lws()) != []
        assert other.operations(changed(stored, "spec.replicas", 5), stored) == []
        assert other.validated(changed(stored, "spec.replicas", 5), stored)["allowed"] is True


def test_44_a_denial_has_the_messages_of_the_command(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "seven.json"
    file.write_bytes(orjson.dumps(SEVEN))

    found = orjson.loads(command("validate", "-o", "json", str(file)).stdout)["findings"]

    messages = [
        (one["field"], f"{one['message']} ({one['code']})") for one in found if one["severity"] == "error"
    ]
    assert messages == causes(server, SEVEN)


ALONE = """
import sys
def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.bind"):
        raise SystemExit(9)
sys.addaudithook(refuse)
from fusioninfer.cli import main
main(sys.argv[1:])
"""


@pytest.mark.parametrize("verb", ["expand", "validate", "explain"])
def test_45_the_command_needs_no_network_and_no_credentials(verb: str) -> None:
    file = CASES[0] / "input.yaml"

    result = subprocess.run(
        [sys.executable, "-c", ALONE, verb, "-f", str(file)],
        check=False,
        capture_output=True,
        env={"HOME": "/nonexistent", "PATH": ""},
    )

    assert (result.returncode, result.stdout != b"") == (0, True), result.stderr


def test_47_a_reference_to_a_secret_stays_a_reference(server: Server) -> None:
    reference = {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "token", "key": "token"}}}
    file = lws(worker=template(container(env=[reference])))

    once = server.admit(file)

    worker = once["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    assert reference in worker["spec"]["containers"][0]["env"]
    assert "HF_TOKEN" not in str([one for one in server.operations(file) if "expansion" not in one["path"]])


RIGHTS = re.compile(
    "'privileged': True|'add': \\[|hostPath|hostNetwork|hostPID|hostIPC|serviceAccount"
    "|runAs(?!NonRoot)|nodeName|secret"
)


def test_48_the_patch_adds_no_privileges(server: Server) -> None:
    for file in FILES:
        text = str([one for one in server.operations(file) if "leaderTemplate" not in one["path"]])

        assert not set(RIGHTS.findall(text)) - set(RIGHTS.findall(str(file)))


def command(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command."""
    whole = [sys.executable, "-m", "fusioninfer", *arguments]
    return subprocess.run(whole, check=False, capture_output=True, timeout=3 * PATIENCE)
