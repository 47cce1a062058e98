"""Whatever an object contains, no format prints a character that controls a terminal, a CI log or a page.

Every string of an object is hostile once: in the files of the offline commands, and in the cluster of the
others.
"""

import ast
import asyncio
import re
import shlex
from collections.abc import Iterable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner, Result

from fusioninfer.cli import demo, main
from fusioninfer.cli.program import SUBCOMMANDS
from intent import Object, yaml
from intent.commands import command, named
from sync.kinds import LWS
from tests.fusioninfer.cluster.running.test_command import answers
from tests.hostile.names import HOSTILE
from tests.hostile.objects import paths, replaced
from tests.sync.conftest import api, kubeconfig  # noqa: F401 - fixtures
from tests.sync.fake_api import Api
from tests.sync.samples import KEY, lws

ROOT: Final = Path(__file__).parents[2]
EXAMPLES: Final = tuple(demo.EXAMPLES.glob("*.yaml"))
STORY: Final = ROOT / "tests" / "golden" / "isvc-story-4" / "input.yaml"
LLMISVC: Final[Object] = {
    "apiVersion": "serving.kserve.io/v1alpha1",
    "kind": "LLMInferenceService",
    "metadata": {"name": "m", "namespace": "n", "annotations": {"a": "b"}},
    "spec": {
        "baseRefs": [{"name": "kserve-config-llm-x"}],
        "model": {"uri": "hf://a/b", "name": "b"},
        "template": {
            "containers": [{"name": "main", "image": "vllm/vllm-openai:v0.17.1", "args": ["--x=y"]}]
        },
    },
}
PLANNED: Final = tuple(yaml.load((demo.EXAMPLES / "monolithic.yaml").read_text()))
OFFLINE: Final = (
    *(("validate", "-o", form) for form in ("text", "json", "github", "sarif")),
    *(("expand", "-o", form) for form in ("yaml", "json")),
    *(("explain", "-o", form) for form in ("text", "json")),
    *(("plan", "--nodes", "3x8", "-o", form) for form in ("text", "json", "html")),
    *(("import", "-o", form) for form in ("text", "json")),
)
IN_CLUSTER: Final = (
    *(("eject", "r1", "-n", KEY[0], "-o", form) for form in ("yaml", "json")),
    *(("why", "r1", "--all", "-n", KEY[0], "-o", form) for form in ("text", "json")),
    *(("diff", "FILE", "-n", KEY[0], "-o", form) for form in ("text", "json")),
    *(("check", "-o", form) for form in ("text", "json")),
    *(("refresh", "--dry-run", "-n", KEY[0], "-o", form) for form in ("text", "json")),
)


def hostile(objects: Iterable[Object]) -> Iterator[Object]:
    """Yield objects, each with one string that is hostile, or begins as before and is hostile at its end."""
    for whole in objects:
        for at in paths(whole):
            found: Any = whole
            for step in at:
                found = found[step]
            if isinstance(found, str) and at[0] not in {"apiVersion", "kind"}:
                yield replaced(whole, at, (HOSTILE, found + HOSTILE)[sum(map(len, map(str, at))) % 2])


def documents() -> list[Object]:
    """Return what hostile files contain."""
    read = [one for path in (*EXAMPLES, STORY) for one in yaml.load(path.read_text())]
    return [*hostile([*read[-2:], LLMISVC])]


def accepted() -> Iterator[Object]:
    """Yield an object whose texts are hostile and which is expanded all the same."""
    one: Any = deepcopy(PLANNED[0])
    one["metadata"]["annotations"]["note"] = HOSTILE
    (engine,) = one["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"]
    engine["env"] = [{"name": "A", "value": HOSTILE}]
    engine["args"] = [*engine["args"], f"--chat-template={HOSTILE}"]
    yield one


DOCUMENTS: Final = {"plan": accepted, "expand": accepted, "explain": accepted}
"""What the file of a subcommand contains; of others each text of some objects in turn is hostile."""


def shown(result: Result) -> str:
    """Check what a command printed, and return it."""
    text = result.stdout + result.stderr
    assert "Traceback" not in text
    odd = {char for char in text if not char.isprintable() and char != "\n"}
    lines = [line for line in text.splitlines() if line.startswith("::error::x")]
    assert (odd, lines, result.exit_code in {0, 1, 2}) == (set(), [], True)
    return text


@pytest.mark.parametrize("words", OFFLINE, ids=" ".join)
def test_no_format_of_an_offline_command_prints_what_controls_its_reader(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / "hostile.yaml"
    is_plan = words[0] == "plan"
    path.write_text("---\n".join(map(yaml.dump, DOCUMENTS.get(words[0], documents)())))

    result = CliRunner().invoke(main, [words[0], str(path), *words[1:]])

    assert "u202e" in shown(result).lower() or is_plan
    assert result.stdout or words[0] == "import"
    assert "html" not in words or "<script>" not in result.stdout


@pytest.mark.parametrize("words", IN_CLUSTER, ids=" ".join)
async def test_no_format_of_a_command_on_a_cluster_prints_what_controls_its_reader(
    words: tuple[str, ...],
    api: Api,  # noqa: F811 - the fixture
    kubeconfig: Path,  # noqa: F811 - the fixture
    tmp_path: Path,
) -> None:
    for name, whole in (("p", lws("p")), ("d", lws("d", "decoder"))):
        one = deepcopy(whole)
        one["metadata"]["annotations"] |= {"note": HOSTILE, f"fusioninfer.io/{HOSTILE}": HOSTILE}
        engine = {"name": "vllm", "image": "vllm/vllm-openai:v0.17.1", "args": [HOSTILE]}
        one["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"] = [engine]
        api.put(LWS.path(KEY[0], name), one)
    api.fault = answers
    file = tmp_path / "hostile.yaml"
    file.write_text("---\n".join(map(yaml.dump, documents()[::9])))
    arguments = [str(file) if word == "FILE" else word for word in words]

    result = await asyncio.to_thread(CliRunner().invoke, main, [*arguments, "--kubeconfig", str(kubeconfig)])

    shown(result)


@pytest.mark.parametrize("value", [HOSTILE, f"a: b{HOSTILE}", f"{HOSTILE}\n", *sorted({*HOSTILE})])
def test_a_text_is_escaped_in_yaml_and_read_back_as_it_was(value: str) -> None:
    written = yaml.dump({"a": [value], value: 1})

    assert written.replace("\n", "").isprintable()
    assert list(yaml.load(written)) == [{"a": [value], value: 1}]


@pytest.mark.parametrize("name", [HOSTILE, "$(id)", "\n", "\x9b", "a;b", "--all", "<name>", ""])
def test_a_name_in_a_command_is_one_or_a_placeholder(name: str) -> None:
    written = command("kubectl", "-n", named(name), "get", f"pods/{named(name)}", "--patch={}")

    words = shlex.split(written)
    assert written.isprintable()
    assert (words[1], words[2] in {name, "NAME"}, words[2].startswith("-")) == ("-n", True, False)
    assert not re.search(r"[;$`|&<>\n]", re.sub(r"'[^']*'", "", written))


NAMES: Final = "|".join(SUBCOMMANDS)
STARTS: Final = re.compile("kubectl |fusioninfer ")
STARTED: Final = re.compile(rf"(kubectl|fusioninfer ({NAMES}))\b(?! reads)[^`,;:]*$")
"""A command that is not over where a value follows."""


def test_every_command_with_a_value_is_built_of_words() -> None:
    rooms = ("catalog", "intent", "kube", "plan", "importer", "webhook", "sync", "fusioninfer")
    joined = [
        (path, node)
        for room in rooms
        for path in (ROOT / room).rglob("*.py")
        if STARTS.search(text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.JoinedStr)
    ]

    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path, node in joined
        for before, after in zip(node.values, node.values[1:], strict=False)
        if isinstance(before, ast.Constant) and isinstance(after, ast.FormattedValue)
        if STARTED.search(str(before.value))
    ]

    assert len(joined) > 50
    assert found == []
