"""Whatever its arguments and files are, the command exits with 0, 1 or 2, and prints no traceback.

Each option of each subcommand gets values that no author means. The servers are not started: their loop is.
"""

import json
from collections.abc import Coroutine, Iterator
from itertools import product
from pathlib import Path
from typing import Any, Final

import click
import pytest
from click.testing import CliRunner, Result

from fusioninfer.cli import demo, main
from fusioninfer.cli.program import INTERNAL
from intent import yaml
from server import process
from tests.fusioninfer.test_help import commands
from tests.hostile.objects import paths, replaced
from tests.tiers import some

CODES: Final = (0, 1, 2)
GOOD: Final = demo.EXAMPLES / "monolithic.yaml"
STORY: Final = Path(__file__).parents[1] / "golden" / "isvc-story-4" / "input.yaml"
TEXTS: Final = (
    *("", " ", "\n::error::x", "\udcff", "a" * 100_000, "../..", "-", "--", "%s{}", "\u202e\U0001f4a5"),
)
NUMBERS: Final = ("", "-1", "nan", "inf", "1e400", "9" * 5_000, str(2**64), "0x10", "٣")
PATHS: Final = (
    *("missing.yaml", "directory", "empty", "binary.yaml", "loop.yaml", "memory.yaml", "deep/" * 2_000),
    *("huge.yaml", "list.yaml", "tags.yaml", "\udcff.yaml"),
)
CONTENTS: Final = {
    "binary.yaml": bytes(range(256)) * 16,
    "huge.yaml": b"a: " + b"9" * 5_000,
    "list.yaml": b"kind: List\nitems: [1, null, {kind: List, items: {}}]\n",
    "tags.yaml": b"!!python/object/apply:os.system [x]\n",
}
KUBECONFIG: Final = """\
current-context: x
contexts: [{name: x, context: {cluster: x, user: x}}]
clusters: [{name: x, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: x, user: {}}]
"""


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make hostile files in the working directory; start no server, and reach no cluster."""
    for name, content in CONTENTS.items():
        (tmp_path / name).write_bytes(content)
    for name in ("directory", "empty"):
        (tmp_path / name).mkdir()
    (tmp_path / "directory" / "a.yaml").write_bytes(b"\xff")
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    (tmp_path / "memory.yaml").symlink_to("/proc/self/mem")
    (tmp_path / "good.yaml").write_text(GOOD.read_text())
    (tmp_path / "config").write_text(KUBECONFIG)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)

    def ended(server: Coroutine[Any, Any, Any], _level: str = "") -> int:
        server.close()
        return 0

    monkeypatch.setattr(process, "run", ended)
    return tmp_path


def hostile(parameter: click.Parameter) -> tuple[str, ...]:
    """Return values that nobody means, for the type of a parameter."""
    if isinstance(parameter.type, click.Path):
        return (*PATHS, *TEXTS)
    return (
        NUMBERS
        if isinstance(parameter.type, click.types.IntParamType | click.types.FloatParamType)
        else TEXTS
    )


def required(command: click.Command) -> list[str]:
    """Return arguments without which a subcommand only prints its usage."""
    names = {parameter.name for parameter in command.params}
    found = ["good.yaml"] if "files" in names else []
    found += ["--cert-dir", "directory"] if "cert_dir" in names else []
    return found + (["bash"] if "shell" in names else [])


def lines(command: click.Command) -> Iterator[list[str]]:
    """Yield arguments of a subcommand."""
    before = required(command)
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            yield from (["--", value] for value in hostile(parameter))
        elif not getattr(parameter, "is_flag", False):
            yield from ([*before, parameter.opts[0], value] for value in hostile(parameter))
        else:
            yield [*before, parameter.opts[0]]
            yield [*before, f"{parameter.opts[0]}=x"]


def is_sound(result: Result) -> bool:
    """Return whether the command ended as documented."""
    return (
        result.exit_code in CODES
        and INTERNAL not in result.stderr
        and "Traceback" not in result.output
        and isinstance(result.exception, SystemExit | None)
    )


EACH: Final = [
    (words, command)
    for words, command in commands()
    if words and words != ("demo",) and not isinstance(command, click.Group)
]


@pytest.mark.parametrize(("words", "command"), EACH, ids=[" ".join(words) for words, _ in EACH])
@pytest.mark.usefixtures("directory")
def test_whatever_its_arguments_are_a_subcommand_ends_as_documented(
    words: tuple[str, ...], command: click.Command
) -> None:
    chosen = some([*lines(command)], "COMMAND_LINES")
    results = [(line, CliRunner().invoke(main, [*words, *line], input=b"\xff\0")) for line in chosen]

    assert [(line, one.output[-500:]) for line, one in results if not is_sound(one)] == []


VALUES: Final[tuple[Any, ...]] = (
    None,
    0,
    -1,
    2**70,
    1e300,
    True,
    "",
    "\0",
    "\n",
    "a" * 70_000,
    [],
    {},
    [[]],
    [None],
    {"": None},
)
READERS: Final = ("validate", "expand", "explain", "plan")
NODES: Final = {"plan": ("--nodes", "9x8")}
"""What a subcommand needs besides its files."""


@pytest.mark.parametrize("verb", READERS)
@pytest.mark.parametrize("file", [GOOD, STORY], ids=lambda file: file.parent.name)
def test_whatever_a_field_has_a_subcommand_ends_as_documented(directory: Path, verb: str, file: Path) -> None:
    (source,) = yaml.load(file.read_text())
    for new, at in some([*product(VALUES, ((), *paths(source)))], "COMMAND_FIELDS"):
        one = replaced(source, at, new)
        (directory / "one.yaml").write_text(json.dumps(one))

        result = CliRunner().invoke(main, [verb, "one.yaml", *NODES.get(verb, ())])

        assert is_sound(result), (at, one, result.output[-2000:])
