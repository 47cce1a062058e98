"""The blocks as a mechanism: where arguments go, whose they are, and that nothing is dropped in silence."""

from collections.abc import Callable
from typing import Any, Final

import pytest

from intent import Object
from intent.launch import argument_path, read_launch
from intent.settings import Settings
from tests.builders.lws import PREFIX, changed, container, engines_of, lws, put, template
from tests.webhook.launches import engine, group
from webhook.blocks import filled
from webhook.blocks.block import Block, Wish
from webhook.check import check

SETTINGS: Final = Settings()
KEY: Final = "metadata.annotations.fusioninfer.io/parallelism"
ASKED: Final = ("--tensor-parallel-size", "8", "--pipeline-parallel-size", "2")
PROBE: Final = {"httpGet": {"path": "/health", "port": 8000}}
LAUNCHERS: Final = pytest.mark.parametrize("launcher", ["ray-symmetric", "ray-start", "vllm-native", "none"])
SCRIPT: Final = {"command": ["sh", "-c"], "args": ["export A=1; exec vllm serve org/M $MORE"]}
SHAPES: Final[dict[str, dict[str, Any]]] = {
    "args": {"command": None, "args": ["--model", "org/M"]},
    "command and args": {"command": ["vllm", "serve"], "args": ["org/M"]},
    "command": {"command": ["vllm", "serve", "org/M"], "args": None},
    "behind a prefix": {"command": ["tini", "--"], "args": ["vllm", "serve", "org/M"]},
    "before two dashes": {"command": ["vllm", "serve"], "args": ["org/M", "--", "x"]},
    "two dashes in the command": {"command": ["vllm", "serve", "org/M", "--", "x"], "args": None},
    "a plain script": {"command": ["sh", "-c", "exec vllm serve org/M"], "args": None},
    "a script": SCRIPT,
    "a script of its items": {"command": ["sh", "-c", 'sleep 1; vllm serve "$@"', "sh"], "args": ["org/M"]},
    "a module": {"command": ["python3", "-m", "vllm.entrypoints.openai.api_server"], "args": ["--model=M"]},
    "probed": {"command": ["vllm", "serve"], "args": ["org/M"], "readinessProbe": PROBE},
}
EACH: Final = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


def file(shape: dict[str, Any], size: int = 2, **annotations: str) -> Object:
    return lws(size, template(container(**shape)), None, **annotations)


def asked(shape: dict[str, Any], size: int = 2, **annotations: str) -> Object:
    return file(shape, size, parallelism="tensor=8,pipeline=2", **annotations)


def starts(live: Object) -> list[tuple[Any, Any]]:
    return [(one.get("command"), one.get("args")) for one in engines_of(live)]


def by_hand(shape: dict[str, Any]) -> dict[str, Any]:
    """Return the container with the flags written by hand."""
    intent = group(engine(shape.get("args") or [], shape.get("command") or []))
    made = filled(intent, SETTINGS, (FLAGS,)).intent.templates[0].engine
    assert made is not None
    return shape | {"command": list(made.command) or None, "args": list(made.args) or None}


FLAGS: Final = Block("service", f"{PREFIX}test", lambda *_: iter((Wish(ASKED),)), "FI117")


# --- where the arguments go ---------------------------------------------------------------------------

PLACES: Final = {
    "args": ([], ["--model", "org/M", *ASKED]),
    "command and args": (["vllm", "serve"], ["org/M", *ASKED]),
    "command": (["vllm", "serve", "org/M"], [*ASKED]),
    "behind a prefix": (["tini", "--"], ["vllm", "serve", "org/M", *ASKED]),
    "before two dashes": (["vllm", "serve"], ["org/M", *ASKED, "--", "x"]),
    "two dashes in the command": (["vllm", "serve", "org/M", *ASKED, "--", "x"], []),
    "a plain script": (["vllm", "serve"], ["org/M", *ASKED]),
    "a script": (["sh", "-c"], [f"export A=1; exec vllm serve org/M $MORE {' '.join(ASKED)}"]),
    "a script of its items": (["sh", "-c", 'sleep 1; vllm serve "$@"', "sh"], ["org/M", *ASKED]),
    "a module": (["python3", "-m", "vllm.entrypoints.openai.api_server"], ["--model=M", *ASKED]),
}


@pytest.mark.parametrize("name", PLACES)
def test_flags_go_after_the_authors_own(name: str) -> None:
    made = by_hand(SHAPES[name])

    assert (made["command"] or [], made["args"] or []) == PLACES[name]


def test_a_word_is_quoted_in_the_text_of_a_script() -> None:
    block = Block("service", f"{PREFIX}test", lambda *_: iter((Wish(("--x", '{"a": "b c"}')),)), "FI117")
    intent = group(engine(SCRIPT["args"], SCRIPT["command"]))
    (template,) = filled(intent, SETTINGS, (block,)).intent.templates

    assert template.engine is not None
    assert template.engine.args[0].endswith(""" $MORE --x '{"a": "b c"}'""")
    assert read_launch(template, template.engine, SETTINGS.engines).command.argv[-1] == '{"a": "b c"}'


@EACH
@LAUNCHERS
def test_the_annotation_is_expanded_as_its_flags_are(shape: dict[str, Any], launcher: str) -> None:
    flags = by_hand(shape)

    assert starts(put(asked(shape, launcher=launcher))) == starts(put(file(flags, launcher=launcher)))


@EACH
def test_flags_are_written_where_no_launcher_is(shape: dict[str, Any]) -> None:
    made = starts(put(file(shape, 1, parallelism="tensor=8")))

    assert [
        " ".join([*(command or ()), *(args or ())]).count("--tensor-parallel-size 8")
        for command, args in made
    ] == [1]


def test_the_path_of_an_added_argument_is_its_annotation() -> None:
    intent = group(engine("org/M -- x", "vllm serve"))
    template = filled(intent, SETTINGS, (FLAGS,)).intent.templates[0]
    assert template.engine is not None
    launch = read_launch(template, template.engine, SETTINGS.engines)
    paths = [argument_path(launch, at).rpartition(".")[2] for at in range(len(launch.command.argv))]

    assert paths == ["command[0]", "command[1]", "args[0]", *4 * ["io/test]"], "args[1]", "args[2]"]


# --- whose they are -----------------------------------------------------------------------------------


def edited(live: Object, change: Callable[[Object], object]) -> Object:
    """Edit the engine of every template by hand, and expand again."""
    wanted = changed(live, "metadata.generation", 2)
    for one in engines_of(wanted):
        change(one)
    return put(wanted, live)


@EACH
@LAUNCHERS
@pytest.mark.parametrize("size", [1, 2])
def test_a_removed_annotation_removes_its_flags(shape: dict[str, Any], launcher: str, size: int) -> None:
    stored = put(asked(shape, size, launcher=launcher))

    assert (
        put(changed(stored, KEY, None), stored)["spec"] == put(file(shape, size, launcher=launcher))["spec"]
    )


@EACH
@LAUNCHERS
def test_opting_out_restores_the_authors_object(shape: dict[str, Any], launcher: str) -> None:
    stored = put(asked(shape, launcher=launcher))
    record = {key: value for key, value in stored["metadata"]["annotations"].items() if "expansion" in key}
    live = changed(stored, "metadata.annotations", record)

    assert put(live, stored)["spec"] == file(shape)["spec"]


@EACH
@LAUNCHERS
def test_another_size_changes_the_flag(shape: dict[str, Any], launcher: str) -> None:
    stored = put(asked(shape, launcher=launcher))
    other = put(file(shape, launcher=launcher, parallelism="tensor=4,pipeline=2"))

    assert put(changed(stored, KEY, "tensor=4,pipeline=2"), stored)["spec"] == other["spec"]


@LAUNCHERS
@pytest.mark.parametrize("size", [1, 2])
def test_an_argument_added_by_hand_is_the_authors(launcher: str, size: int) -> None:
    shape, more = SHAPES["probed"], ["--max-model-len", "8192"]
    stored = put(asked(shape, size, launcher=launcher))

    stored = edited(stored, lambda one: one["args"].extend(more) if one.get("args") else None)

    wanted = {**shape, "args": [*shape["args"], *more]}
    assert starts(stored) == starts(put(asked(wanted, size, launcher=launcher)))
    assert starts(put(changed(stored, KEY, None), stored)) == starts(
        put(file(wanted, size, launcher=launcher))
    )


@pytest.mark.parametrize("size", [1, 2])
def test_a_flag_of_the_authors_own_added_by_hand_replaces_the_blocks(size: int) -> None:
    stored = put(asked(SHAPES["args"], size, launcher="vllm-native"))
    flags = ["-tp", "8", "-pp", "2"]

    stored = edited(stored, lambda one: one["args"].extend(flags))

    wanted = file({"command": None, "args": ["--model", "org/M", *flags]}, size, launcher="vllm-native")
    assert starts(stored) == starts(put(wanted))


# --- nothing is dropped in silence --------------------------------------------------------------------


def codes(live: Object) -> list[str]:
    return [one.code for one in check(live, mutated=False) if one.severity == "error"]


@pytest.mark.parametrize(
    ("shape", "why"),
    [
        ({"command": ["/start.sh"], "args": []}, "not understood"),
        ({"command": ["sh", "-c", "for x in a; do vllm serve $x; done"], "args": None}, "not understood"),
        ({"command": ["vllm", "serve"], "args": ["M", "--nnodes", "2"]}, "launches the nodes itself"),
        ({"command": ["lmdeploy", "serve", "api_server"], "args": ["M"]}, "not supported for lmdeploy"),
    ],
)
def test_a_block_that_cannot_be_added_is_an_error(shape: dict[str, Any], why: str) -> None:
    live = file(shape | {"image": "corp/llm:1"}, parallelism="tensor=8", launcher="none")
    (found,) = [one for one in check(live, mutated=False) if one.code == "FI116"]

    assert found.path == "metadata.annotations[fusioninfer.io/parallelism]"
    assert why in found.message
    assert starts(put(live)) == starts(live)


def test_no_template_is_filled_if_one_cannot_be() -> None:
    good, bad = container(args=["M"]), container(command=["/start.sh"], args=[])
    live = lws(2, template(good), template(bad), parallelism="tensor=8", launcher="none")

    assert codes(live) == ["FI116"]
    assert starts(put(live)) == starts(live)


def test_an_unknown_engine_container_is_an_error() -> None:
    live = lws(1, template(container("a", image="x"), container("b", image="y")), parallelism="tensor=8")

    assert "FI116" in codes(live)


def test_a_contradiction_is_an_error_and_the_same_value_is_none() -> None:
    flags = {"command": ["vllm", "serve"], "args": ["M", "-tp", "8"]}

    assert codes(file(flags, 1, parallelism="tensor=4")) == ["FI117"]
    assert codes(file(flags, 1, parallelism="tensor=8")) == []
    assert starts(put(file(flags, 1, parallelism="tensor=8"))) == starts(file(flags))
    assert starts(put(file(flags, 1, parallelism="tensor=4"))) == starts(file(flags))
