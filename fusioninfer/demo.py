"""The demo: admission of the examples by a webhook on TLS, without a cluster.

It starts the webhook as a process, sends it the examples as an API server would, applies the patches, and
shows each object before and after, side by side; then the PodGroups that the controller would create.
"""

import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Final

import jsonpatch
import orjson
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from yaml import CSafeLoader, MappingNode, SequenceNode, compose

from certs import issue
from fusioninfer.files import documents, offline
from fusioninfer.files.documents import Document
from intent import Object, yaml
from intent.annotations import EXPANSION
from intent.settings import Settings

EXAMPLES: Final = Path(__file__).parent / "examples"
"""Copies of files in docs/examples, which are installed with the command."""
SHOWN: Final = tuple(EXAMPLES / f"{name}.yaml" for name in ("monolithic", "prefill", "decode"))
READY_SECONDS: Final = 60.0
"""The time within which the webhook must become ready."""
REVIEW_SECONDS: Final = 30
"""How long an answer may take on a busy machine; usually it takes milliseconds."""
WIDTH: Final = 160


@dataclass(frozen=True, slots=True)
class Webhook:
    """A running webhook: its URL, and an SSL context that trusts it."""

    url: str
    trust: ssl.SSLContext


def run(*, plain: bool = False) -> None:
    """Show the examples. `plain`: print no colours; NO_COLOR in the environment does the same."""
    console = Console(no_color=plain or None, width=None if sys.stdout.isatty() else WIDTH, highlight=False)
    read = documents.read([str(file) for file in SHOWN])
    started = time.monotonic()
    with started_webhook() as webhook:
        console.print(f"The webhook listens on {webhook.url} (TLS, with a CA of its own).\n")
        after = [_admit(webhook, document, console) for document in read]
    _show_pod_group(read, console)
    console.print(
        f"\n{len(after)} objects admitted in {time.monotonic() - started:.1f} s, the webhook stopped."
    )


# --- the webhook as a process -----------------------------------------------------------------------


@contextmanager
def started_webhook() -> Iterator[Webhook]:
    """Run the webhook on a free local port, with a certificate issued for it."""
    with tempfile.TemporaryDirectory(prefix="fusioninfer-demo-") as directory:
        bundle = issue.development(Path(directory), ["127.0.0.1", "localhost"])
        port, metrics_port = _free_port(), _free_port()
        command = [
            sys.executable,
            "-m",
            "fusioninfer",
            "webhook",
            "--cert-dir",
            directory,
            "--host",
            "127.0.0.1",
        ]
        ports = ["--port", str(port), "--metrics-port", str(metrics_port)]
        process = subprocess.Popen([*command, *ports], stderr=subprocess.DEVNULL)
        try:
            _wait(f"http://127.0.0.1:{metrics_port}/readyz", process)
            trust = ssl.create_default_context(cadata=bundle.decode())
            yield Webhook(f"https://127.0.0.1:{port}", trust)
        finally:
            process.send_signal(signal.SIGINT)
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Wait a moment for the webhook to drain, then kill it."""
    try:
        process.wait(0.5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=1):  # noqa: S310 - our own address
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    if process.returncode is not None:
        raise OSError(f"the webhook ended with exit code {process.returncode}")
    raise TimeoutError(f"the webhook did not become ready in {READY_SECONDS:.0f} s")


# --- one admission ----------------------------------------------------------------------------------


def _admit(webhook: Webhook, document: Document, console: Console) -> Object:
    """Send an object to /mutate, apply the patch, send it to /validate, and print both versions."""
    before = document.object
    answer = post(webhook, "/mutate", before)
    after: Object = jsonpatch.apply_patch(before, orjson.loads(b64decode(answer["patch"])))
    verdict = post(webhook, "/validate", after)
    console.print(_side_by_side(Path(document.file).name, before, after))
    for text in verdict.get("warnings", []):
        console.print(f"  [yellow]Warning:[/yellow] {text}")
    console.print(
        f"  [green]admitted[/green], {len(orjson.dumps(before))} bytes became {len(orjson.dumps(after))}\n"
    )
    return after


def post(webhook: Webhook, path: str, live: Object) -> dict[str, Any]:
    """POST an AdmissionReview of a CREATE, and return its response."""
    request = {"uid": "demo", "operation": "CREATE", "object": live}
    body = orjson.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
    url = f"{webhook.url}{path}?timeout={REVIEW_SECONDS}s"
    call = urllib.request.Request(url, body, {"Content-Type": "application/json"})  # noqa: S310 - our own address
    with urllib.request.urlopen(call, timeout=REVIEW_SECONDS, context=webhook.trust) as response:  # noqa: S310 - as above
        answered: dict[str, Any] = orjson.loads(response.read())["response"]
        return answered


# --- output -----------------------------------------------------------------------------------------


def _side_by_side(name: str, before: Object, after: Object) -> Table:
    gone, added = difference(yaml.dump(before), yaml.dump(_shortened(after)))
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(ratio=2)
    table.add_column(ratio=3)
    table.add_row(
        Panel(_coloured(gone), title=f"{name}: as written", title_align="left"),
        Panel(_coloured(added), title="as stored by the cluster", title_align="left"),
    )
    return table


def difference(before: str, after: str) -> tuple[list[str], list[str]]:
    """Compare two YAML texts by line: prefix removed lines with `- ` and added ones with `+ `.

    All other lines are prefixed with two blanks, and are the same in both, in the same order. Lines are the
    same only if they are of one field: `image:` of an added container is added.
    """
    old, new = _lines(before), _lines(after)
    gone, added = [f"- {line}" for _, line in old], [f"+ {line}" for _, line in new]
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for at, to, size in matcher.get_matching_blocks():
        gone[at : at + size] = [f"  {line}" for _, line in old[at : at + size]]
        added[to : to + size] = [f"  {line}" for _, line in new[to : to + size]]
    return gone, added


FieldPath = tuple[str, ...]
"""The keys that lead to a field; an item of a list is its name, or its first line."""


def _lines(text: str) -> list[tuple[FieldPath, str]]:
    """Return each line of a YAML text, with the path of the field that it is part of."""
    lines = text.splitlines()
    paths: list[FieldPath] = [()] * len(lines)
    for first, last, path in _fields(compose(text, Loader=CSafeLoader), (), lines):
        paths[first : last + 1] = [path] * (min(last + 1, len(lines)) - first)
    return list(zip(paths, lines, strict=True))


def _fields(node: Any, path: FieldPath, lines: list[str]) -> Iterator[tuple[int, int, FieldPath]]:
    """Yield the first and the last line of each field, and its path; a field before those within it."""
    yield node.start_mark.line, node.end_mark.line, path
    if isinstance(node, MappingNode):
        for key, value in node.value:
            yield key.start_mark.line, value.end_mark.line, (*path, key.value)
            yield from _fields(value, (*path, key.value), lines)
    elif isinstance(node, SequenceNode):
        for item in node.value:
            names = [value.value for key, value in _entries(item) if key.value == "name"]
            name = str(names[0]) if names else lines[item.start_mark.line].strip()
            yield from _fields(item, (*path, name), lines)


def _entries(node: Any) -> list[tuple[Any, Any]]:
    return node.value if isinstance(node, MappingNode) else []


_COLOURS: Final = {"+": "green", "-": "red"}


def _coloured(lines: list[str]) -> Text:
    return Text("\n").join(Text(line, style=_COLOURS.get(line[0], "")) for line in lines)


def _shortened(after: Object) -> Object:
    """Replace the record with its length."""
    annotations = dict(after["metadata"]["annotations"])
    annotations[EXPANSION] = f"<the record, {len(annotations[EXPANSION])} bytes>"
    return after | {"metadata": after["metadata"] | {"annotations": annotations}}


def _show_pod_group(read: list[Document], console: Console) -> None:
    made = offline.compose(read, Settings())
    pod_groups = [one for one in made.objects if one.get("kind") == "PodGroup"]
    console.print(
        Panel(
            Text(documents.write_yaml(pod_groups).rstrip()),
            title="created by the controller",
            title_align="left",
        )
    )
