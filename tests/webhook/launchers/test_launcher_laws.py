"""Laws of every launcher, for every shape of command: a written launch survives changes by other tools."""

import copy
from typing import Final, NamedTuple

import pytest

from intent import Object, annotations
from tests.builders.lws import changed, container, lws, put, template
from tests.laws.strategies import TOOLS
from webhook.launchers import LAUNCHERS

OLD: Final = "vllm/vllm-openai:v0.10.2"
NEW: Final = "vllm/vllm-openai:v0.20.2"


class Row(NamedTuple):
    """A launcher, an image that it runs, and the arguments that start one node."""

    launcher: str
    image: str
    argv: tuple[str, ...]


VLLM: Final = ("vllm", "serve", "org/M", "-tp", "16", "--x", '{"a": "b c"}', "--", "rest")
SGLANG: Final = ("python3", "-m", "sglang.launch_server", "--model-path", "org/M", "--tp", "16")
LMDEPLOY: Final = ("lmdeploy", "serve", "api_server", "org/M", "--tp", "16")
ROWS: Final = (
    Row("ray-symmetric", "vllm/vllm-openai:v0.17.1", VLLM),
    Row("ray-symmetric", "openmmlab/lmdeploy:v0.10.0", LMDEPLOY),
    Row("ray-start", OLD, VLLM),
    Row("ray-start", "openmmlab/lmdeploy:v0.10.0", LMDEPLOY),
    Row("vllm-native", NEW, VLLM),
    Row("vllm-native", OLD, ("vllm", "serve", "org/M", "-tp", "8", "-dp", "2")),
    Row("sglang", "lmsysorg/sglang:v0.5.9", SGLANG),
    Row("auto", NEW, VLLM),
    Row("auto", OLD, VLLM),
)
TRUE_OF_TOOLS: Final = dict.fromkeys(TOOLS, True)
SHAPES: Final = ("command", "args", "both", "script", "items")


def words(row: Row, shape: str) -> Object:
    """Return command and args of a container in one of the shapes."""
    every = list(row.argv)
    text = "cd /; " + " ".join(f"'{word}'" if {'"', "{"} & set(word) else word for word in every)
    shapes: dict[str, Object] = {
        "command": {"command": every, "args": None},
        "args": {"command": every[:1], "args": every[1:]},
        "both": {"command": every[:3], "args": every[3:]},
        "script": {"command": ["sh", "-c", text], "args": None},
        "items": {"command": ["sh", "-c", 'cd /; exec "$@"', "sh"], "args": every},
    }
    return shapes[shape]


@pytest.fixture(scope="module", params=ROWS, ids=lambda row: f"{row.launcher}-{row.argv[0]}-{row.image[-7:]}")
def row(request: pytest.FixtureRequest) -> Row:
    given: Row = request.param
    return given


@pytest.fixture(scope="module", params=SHAPES)
def file(request: pytest.FixtureRequest, row: Row) -> Object:
    """Return the file of an author, with probes, so that leader and workers differ. Not changed by tests."""
    probe = {"httpGet": {"path": "/health", "port": 8000}}
    engine = container(image=row.image, readinessProbe=probe, **words(row, request.param))
    return lws(size=2, worker=template(engine), launcher=row.launcher)


@pytest.fixture(scope="module")
def once(file: Object) -> Object:
    """Return the expanded object. Tests do not change it."""
    return put(file)


def test_every_launcher_has_a_row() -> None:
    assert {row.launcher for row in ROWS} == {*LAUNCHERS, "auto"}
    assert tuple(LAUNCHERS) == annotations.LAUNCHERS


def test_every_launcher_writes_its_launch(file: Object, once: Object) -> None:
    assert engines(once) != engines(file)


def test_a_second_expansion_changes_nothing(once: Object) -> None:
    assert (put(once), put(once, once)) == (once, once)


def test_applying_the_file_again_changes_nothing(file: Object, once: Object) -> None:
    assert {tool: put(apply(once, file), once) == once for tool, apply in TOOLS.items()} == TRUE_OF_TOOLS


def test_reverting_one_list_by_hand_restores_the_launch(file: Object, once: Object) -> None:
    # a client that sends one of the lists also sends the probe that was removed with it
    for kept in ("command", "args"):
        half = copy.deepcopy(once)
        (written,) = half["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"]
        (plain,) = file["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"]
        for field in {"command", "args", "readinessProbe"} - {kept}:
            written.pop(field, None)
            written |= {field: plain[field]} if field in plain else {}

        assert put(half, once) == once, kept


def test_a_changed_size_gives_the_launch_of_a_new_object(file: Object, once: Object) -> None:
    larger = changed(file, "spec.leaderWorkerTemplate.size", 4)
    wanted = launched(put(larger))

    assert {
        tool: launched(put(apply(once, larger), once)) == wanted for tool, apply in TOOLS.items()
    } == TRUE_OF_TOOLS


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("spec.leaderWorkerTemplate.size", (1, 3)),
        ("metadata.annotations.fusioninfer.io/launcher", ("none", *LAUNCHERS)),
    ],
)
def test_a_patched_field_gives_the_launch_of_a_new_object(
    file: Object, once: Object, path: str, values: tuple[int | str, ...]
) -> None:
    for value in values:
        patched = put(changed(once, path, value), once)

        assert launched(patched) == launched(put(changed(file, path, value))), value


def test_removing_the_annotations_restores_the_file(file: Object, once: Object) -> None:
    opted_out = changed(once, "metadata.annotations.fusioninfer.io/service", None)
    opted_out = changed(opted_out, "metadata.annotations.fusioninfer.io/launcher", None)

    assert put(opted_out, once)["spec"] == file["spec"]


def engines(value: Object) -> list[Object]:
    """Return the engine containers."""
    group = value["spec"]["leaderWorkerTemplate"]
    templates = [group[field] for field in ("leaderTemplate", "workerTemplate") if field in group]
    return [one for pods in templates for one in pods["spec"]["containers"]]


def launched(value: Object) -> list[Object]:
    """Return command, args and the injected fields of the engine containers."""
    fields = ("command", "args", "ports", "env", "readinessProbe", "startupProbe", "volumeMounts")
    return [{field: one.get(field) for field in fields} for one in engines(value)]
