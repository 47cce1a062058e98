"""docs/migrate-by-hand.md: the file before is accepted and stays unchanged, the file after needs no more."""

from pathlib import Path
from typing import Any, Final

import yaml

from fusioninfer.files import offline
from fusioninfer.files.documents import Document
from intent import Object
from intent.annotations import SERVICE
from intent.settings import Settings
from tests.manifests.pages import files

PAGE: Final = Path(__file__).parents[2] / "docs" / "migrate-by-hand.md"


def lws_of(chapter: str, **annotations: str) -> Object:
    """Return the LeaderWorkerSet of a chapter, with more annotations."""
    (file,) = files(PAGE, chapter)
    found: Object = next(yaml.safe_load_all(file))
    found["metadata"]["annotations"] = {**found["metadata"].get("annotations", {}), **annotations}
    return found


def composed(lws: Object) -> offline.Composition:
    return offline.compose([Document("file", 1, lws)], Settings())


def containers(made: offline.Composition) -> list[Any]:
    """Return command and arguments of each template."""
    group = made.objects[0]["spec"]["leaderWorkerTemplate"]
    return [
        (one.get("command"), one.get("args"))
        for field in ("leaderTemplate", "workerTemplate")
        if field in group
        for one in group[field]["spec"]["containers"]
    ]


def test_the_file_before_is_left_unchanged_but_for_its_gang() -> None:
    before = lws_of("Before", **{SERVICE: "vllm"})

    made = composed(before)

    assert made.found == ()
    assert containers(made) == [
        (container["command"], container["args"])
        for field in ("leaderTemplate", "workerTemplate")
        for container in before["spec"]["leaderWorkerTemplate"][field]["spec"]["containers"]
    ]
    assert [one["kind"] for one in made.objects] == ["LeaderWorkerSet", "PodGroup", "Service"]


def test_the_file_after_has_no_findings_and_is_launched_by_ray() -> None:
    made = composed(lws_of("After"))

    assert made.found == ()
    (command, args), *_ = containers(made)
    assert (command, args[0], args[args.index("--") + 1 :][:3]) == (
        ["ray"],
        "symmetric-run",
        ["vllm", "serve", "meta-llama/Llama-3.1-405B-Instruct"],
    )
