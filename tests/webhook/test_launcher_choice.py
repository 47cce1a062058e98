"""Laws of the choice: no launch is written that cannot start, and no stored launch is replaced.

The oracle reads the written arguments and the catalogue; it does not use the table of launchers.
"""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest

from catalog.engines import ENGINES, NEWEST, NO_RAY, SYMMETRIC_RUN, Engines, Ray, Stock, Version
from intent import Object
from intent.annotations import EXPANSION, LAUNCHER, REFRESH
from intent.image import facts, read_image
from intent.settings import Settings
from tests.builders.documents import read_files
from tests.builders.lws import changed, container, engine_of, lws, paused, put, template
from tests.laws.strategies import TOOLS
from tests.tiers import by_turns
from tests.upgrades.stored import APPLIED, stored
from tests.webhook.launches import codes, engine, group
from webhook.check import check
from webhook.expand import expand
from webhook.launchers import LAUNCHERS
from webhook.mutate import input_of
from webhook.mutate.launch import launch
from webhook.write import Write, read_write

RAYS: Final = (Ray((2, 49), (2, 49)), Ray((2, 53), (2, 54)), Ray((2, 55), (2, 55)), NO_RAY)
OWN: Final = tuple(
    Stock(f"corp/ray-{at}", "vllm", ray=ray, version=version, source="a test")
    for (at, ray), version in product(enumerate(RAYS), [(), (0, 10, 2), (0, 17, 1)])
)
"""Rows of an operator: each Ray with a version that is known, old, and none."""
CATALOGUE: Final = Engines((*OWN, *ENGINES.images), ENGINES.traits, ENGINES.connectors, ENGINES.models)


def references() -> Iterator[str]:
    """Return an image of each repository, and of vLLM's own one for each version at which a row begins."""
    ranges = [
        *((row.since, row.below) for row in CATALOGUE.images),
        *((row.since, row.below) for row in CATALOGUE.traits),
    ]
    versions = {version for pair in ranges for version in pair if version not in ((), NEWEST)}
    names = {row.repository.replace("*/", "nvcr.io/").replace("*", "x") for row in CATALOGUE.images}
    for name, tag in product(sorted({*names, "corp/llm"}), ("latest", "mine", "v0.17.1")):
        yield f"{name}:{tag}"
    for tag in ("latest", "nightly-ab", "mine", *(f"v{dotted(one)}" for one in sorted(versions))):
        yield f"vllm/vllm-openai:{tag}"
    yield from ("vllm/vllm-openai", "vllm/vllm-openai@sha256:ab")


def dotted(version: Version) -> str:
    return ".".join(map(str, (*version, 0, 0)[:3]))


COMMANDS: Final[tuple[tuple[list[str], list[str]], ...]] = (
    ([], ["--model", "M"]),
    (["vllm", "serve"], ["M"]),
    (["python3", "-m", "vllm.entrypoints.openai.api_server"], ["--model", "M"]),
    (["sh", "-c", 'cd /; exec "$@"', "sh"], ["vllm", "serve", "M"]),
    (["python3", "-m", "sglang.launch_server"], ["--model-path", "M"]),
    (["lmdeploy", "serve", "api_server"], ["M"]),
    (["trtllm-serve"], ["M"]),
)
EXECUTORS: Final[tuple[list[str], ...]] = (
    [],
    ["--distributed-executor-backend", "ray"],
    ["--distributed-executor-backend=mp"],
)
RANKS: Final[tuple[list[str], ...]] = (
    [],
    ["-dp", "2"],
    ["-dp", "2", "-tp", "16"],
    ["-dp", "2", "-dpb", "ray"],
    ["-dp", "$(N)"],
)
DEFAULTS: Final = ("auto", *LAUNCHERS)


def written(reference: str, command: list[str], args: list[str], settings: Settings, name: str = "") -> str:
    """Return the written arguments of all containers of a group; empty if nothing is written."""
    given = input_of(group(engine(args, command, reference), launcher=name), settings)
    templates = launch(given).get("spec", {}).get("leaderWorkerTemplate", {})
    words = (
        word
        for pods in templates.values()
        for one in pods["spec"]["containers"]
        for field, original in (("command", command), ("args", args))
        for word in one.get(field, original) or ()
    )
    return " ".join(words)


def can_start(text: str, reference: str) -> bool:
    """Return whether an image may have the programs of a command, by the catalogue."""
    image = read_image(reference, CATALOGUE)
    known = facts(image, CATALOGUE)
    native = known.nnodes
    needs = {
        "symmetric-run": known.ray.highest >= SYMMETRIC_RUN,
        "ray start": known.ray != NO_RAY,
        "--headless": native or not image.version or ("--nnodes" not in text and known.native_data),
        "--master-addr": known.nnodes_span or not image.version,
        "-dp 2 --nnodes": known.nnodes_data and bool(image.version),
        "vllm serve": image.engine in ("", "vllm"),
        "sglang.launch_server": image.engine in ("", "sglang"),
    }
    return all(there for mark, there in needs.items() if mark in text)


@pytest.mark.parametrize(("turn", "default"), [*enumerate(DEFAULTS)])
def test_no_launch_is_written_that_the_catalogue_knows_cannot_start(turn: int, default: str) -> None:
    settings = Settings(launcher=default, engines=CATALOGUE)
    cases = by_turns([*product(references(), COMMANDS, EXECUTORS, RANKS)], turn, len(DEFAULTS))

    made = (
        (reference, text)
        for reference, (command, args), executor, ranks in cases
        if (text := written(reference, command, [*args, *executor, *ranks], settings))
    )

    assert [one for one in made if not can_start(one[1], one[0])] == []


@pytest.mark.parametrize("name", ["ray-symmetric", "ray-start", "vllm-native", "sglang"])
def test_a_named_launcher_is_written_with_a_warning(name: str) -> None:
    command = (
        (["python3", "-m", "sglang.launch_server"], ["--model-path", "M"])
        if name == "sglang"
        else ([], ["M"])
    )
    image = "vllm/vllm-openai:v0.11.0" if name == "vllm-native" else "vllm/vllm-openai:v0.20.2"
    text = written(image, *command, Settings(), name)

    assert (text != "", can_start(text, image)) == (True, False)
    assert "FI504" in codes(group(engine(command[1], command[0], image), launcher=name))


def test_a_launch_is_written_if_some_launcher_can_start() -> None:
    settings = Settings(engines=CATALOGUE)
    left = {
        reference
        for reference in references()
        if read_image(reference, CATALOGUE).engine in ("", "vllm")
        and not written(reference, ["vllm", "serve"], ["M"], settings)
    }

    found = [facts(read_image(one, CATALOGUE), CATALOGUE) for one in left]
    assert {one.nnodes and one.nnodes_span for one in found} <= {False}
    assert {one.has_ray for one in found} <= {False, None}


def test_of_launchers_that_may_start_the_one_that_needs_least_is_named() -> None:
    image = "registry.redhat.io/rhaiis/vllm-cuda-rhel9:3.0.0"

    choice = input_of(group(engine("vllm serve M", image=image)), Settings()).plan

    assert (choice.code, choice.launcher) == ("FI532", "ray-start")


# --- objects expanded by an earlier release ---------------------------------------------------------

STORED: Final = [one.object for one in read_files([str(Path(__file__).parent / "expanded_before_auto.yaml")])]
"""Expanded when the default was `ray-symmetric`, for images of which most cannot run it."""
each_stored = pytest.mark.parametrize("old", STORED, ids=lambda one: one["metadata"]["name"])


def original(old: Object) -> Object:
    """Return the object as its author wrote it."""
    found = read_write(old)
    assert isinstance(found, Write)
    return found.original


@each_stored
def test_the_rules_would_choose_otherwise_now(old: Object) -> None:
    assert put(original(old)) != old


@each_stored
@pytest.mark.parametrize("path", ["spec.replicas", "metadata.labels.team"])
def test_a_write_of_other_fields_keeps_the_launch(old: Object, path: str) -> None:
    written = changed(old, path, 7 if path == "spec.replicas" else "search")

    assert [one for one in expand(written, old) if one["path"].startswith("/spec")] == []


@each_stored
@pytest.mark.parametrize("tool", TOOLS)
def test_applying_the_file_again_keeps_the_launch(old: Object, tool: str) -> None:
    file = original(old)
    file["metadata"] = file["metadata"] | {
        "annotations": {
            key: value for key, value in file["metadata"]["annotations"].items() if key != EXPANSION
        }
    }

    again = put(TOOLS[tool](old, file), old)

    assert (again["spec"], again["metadata"]["labels"]) == (old["spec"], old["metadata"]["labels"])


@each_stored
def test_findings_are_about_the_launch_that_stays(old: Object) -> None:
    said = [(one.code, one.message) for one in check(paused(old), old)]

    assert [message for code, message in said if code in ("FI527", "FI532")] == []
    is_old = "v0.11.0" in str(old)
    assert any("ray-symmetric needs" in message for code, message in said if code == "FI504") is is_old


@each_stored
def test_refresh_chooses_the_launcher_again(old: Object) -> None:
    refreshed = put(changed(old, f"metadata.annotations.{REFRESH}", "now"), old)

    assert "symmetric-run" not in str(refreshed["spec"])


ARGS: Final = ["org/M", "-tp", "16"]


def edited(path: str, value: Any, case: str = "engine-43-auto-unknown") -> Object:
    """Edit the file of an object that was stored with `ray-symmetric`, for an image unknown then."""
    cases = (one for one in stored() if (one.case, one.state) == (case, APPLIED))
    (before,) = next(cases).of_kind("LeaderWorkerSet")
    return put(TOOLS["client-side"](before, changed(original(before), path, value)), before)


CONTAINER: Final = "spec.leaderWorkerTemplate.workerTemplate.spec.containers.0"


@pytest.mark.parametrize(
    ("path", "value", "is_kept"),
    [
        (f"{CONTAINER}.args", [*ARGS, "--max-model-len", "8192"], True),
        (f"{CONTAINER}.args", ["org/N", "--tensor-parallel-size=16"], True),
        (f"{CONTAINER}.args", ["org/M", "-tp", "8"], True),
        (f"{CONTAINER}.image", "corp/llm:2", True),
        (f"{CONTAINER}.image", "corp/other@sha256:ab", True),
        (f"{CONTAINER}.image", "vllm/vllm-openai:v0.23.0", False),
        (f"{CONTAINER}.args", [*ARGS[:1], "-tp", "8", "-pp", "2"], False),
        (f"{CONTAINER}.args", ["org/M", "-dp", "2", "-tp", "8"], False),
        (f"{CONTAINER}.args", [*ARGS, "--data-parallel-hybrid-lb"], False),
        ("spec.leaderWorkerTemplate.size", 4, False),
        (f"metadata.annotations.{REFRESH}", "now", False),
    ],
)
def test_an_assumed_launcher_stays_until_the_kind_of_launch_changes(
    path: str,
    value: Any,
    is_kept: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    assert ("symmetric-run" in str(edited(path, value)["spec"])) is is_kept


@pytest.mark.parametrize("case", ["engine-44-amd", "engine-45-tpu"])
def test_a_row_that_tells_the_release_of_an_image_removes_no_stored_launch(case: str) -> None:
    assert "symmetric-run" in str(
        edited(f"{CONTAINER}.args", [*ARGS, "--max-model-len", "8192"], case)["spec"]
    )


@pytest.mark.parametrize("launcher", ["ray-symmetric", "ray-start", "auto"])
@pytest.mark.parametrize("image", ["vllm/vllm-tpu:v0.19.0", "vllm/vllm-tpu:nightly", "corp/vllm-tpu:1"])
def test_tpus_span_pods_with_ray_alone(image: str, launcher: str) -> None:
    tpus = {"limits": {"google.com/tpu": "8"}}
    made = put(lws(worker=template(container(image=image, resources=tpus)), launcher=launcher))

    worker = engine_of(made)
    is_left = (launcher, image) == ("auto", "corp/vllm-tpu:1")
    assert ("ray" in str(worker["command"])) is not is_left
    assert ({"name": "TPU_MULTIHOST_BACKEND", "value": "ray"} in worker.get("env", ())) is not is_left


@each_stored
def test_naming_the_recorded_launcher_changes_no_template(old: Object) -> None:
    named = put(changed(old, f"metadata.annotations.{LAUNCHER}", "ray-symmetric"), old)

    assert named["spec"] == old["spec"]
