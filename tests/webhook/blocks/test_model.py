"""The engine's model argument, revision and served name: in the words of each engine, and whose they are."""

from typing import Any, Final

import pytest

from intent import Object
from tests.builders.lws import container, engine_of, lws, put, template
from webhook.check import check

NEW, OLD = "vllm/vllm-openai:v0.20.2", "vllm/vllm-openai:v0.10.2"
HF: Final[dict[str, Any]] = {"model": "hf://org/M:v1", "model_name": "chat"}
PVC: Final[dict[str, Any]] = {"model": "pvc://claim"}
NAMED: Final = ("--served-model-name", "chat")
REVISION: Final = ("--revision", "v1")


def one(words: str, image: str, *, command: bool = True, **notes: Any) -> Object:
    """Return a group of one pod whose engine has these words as its command, or as its arguments."""
    field, other = ("command", "args") if command else ("args", "command")
    fields: dict[str, Any] = {field: words.split() or None, other: None, "image": image}
    return lws(1, template(container(**fields)), **notes)


def started(whole: Object) -> list[str]:
    """Return command and arguments of the expanded engine."""
    engine = engine_of(put(whole))
    return [*engine.get("command", ()), *engine.get("args", ())]


@pytest.mark.parametrize(
    ("command", "words", "image", "made"),
    [
        (True, "vllm serve", NEW, ["vllm", "serve", "org/M", *REVISION, *NAMED]),
        (True, "vllm serve --seed 1", OLD, ["vllm", "serve", "org/M", "--seed", "1", *REVISION, *NAMED]),
        (False, "", NEW, ["org/M", *REVISION, *NAMED]),
        (False, "", OLD, ["--model", "org/M", *REVISION, *NAMED]),
        (False, "--seed 1", "corp/vllm-openai:1", ["org/M", "--seed", "1", *REVISION, *NAMED]),
        (
            True,
            "python3 -m vllm.entrypoints.openai.api_server",
            NEW,
            ["python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "org/M", *REVISION, *NAMED],
        ),
        (
            True,
            "lmdeploy serve api_server",
            "openmmlab/lmdeploy:v0.10.0",
            ["lmdeploy", "serve", "api_server", "org/M", *REVISION, "--model-name", "chat"],
        ),
        (True, "tini -- vllm serve", NEW, ["tini", "--", "vllm", "serve", "org/M", *REVISION, *NAMED]),
    ],
)
def test_an_engine_is_told_its_model_in_its_own_words(
    *, command: bool, words: str, image: str, made: list[str]
) -> None:
    assert started(one(words, image, command=command, **HF)) == made


@pytest.mark.parametrize(
    ("words", "notes", "made"),
    [
        ("vllm serve org/M", {"model": "hf://org/M"}, []),
        ("vllm serve --model org/M", {"model": "hf://org/M"}, []),
        ("vllm serve --model=org/M", {"model": "hf://org/M:v1"}, [*REVISION]),
        ("vllm serve org/M --revision v1", {"model": "hf://org/M:v1"}, []),
        ("vllm serve org/M --served-model-name other chat", HF, [*REVISION]),
        ("vllm serve org/M --served-model-name mine", {"model": "hf://org/M"}, []),
        ("vllm serve /mnt/models/", PVC, ["--served-model-name", "svc"]),
        ("vllm serve --served-model-name mine", PVC, ["/mnt/models"]),
        ("vllm serve --config f.yaml", PVC, ["/mnt/models", "--served-model-name", "svc"]),
        ("vllm serve --unknown other", {"model": "hf://org/M"}, ["org/M"]),
    ],
)
def test_an_author_s_argument_is_not_added_again(words: str, notes: dict[str, Any], made: list[str]) -> None:
    added = [word for word in started(one(words, NEW, **notes)) if word not in words.split()]

    assert added == [word for word in made if word not in words.split()]
    assert [
        str(found) for found in check(one(words, NEW, **notes), mutated=False) if found.code == "FI324"
    ] == []


def test_a_model_that_is_served_under_its_own_name_is_added() -> None:
    words = started(one("vllm serve --served-model-name org/M --seed 1", NEW, model="hf://org/M"))

    assert words[2:] == ["org/M", "--served-model-name", "org/M", "--seed", "1"]


def test_a_model_in_a_variable_is_not_compared() -> None:
    assert started(one("vllm serve $(MODEL)", NEW, **PVC))[2:] == ["$(MODEL)", "--served-model-name", "svc"]


@pytest.mark.parametrize(
    ("notes", "codes"), [(HF | {"model": "hf://org/M"}, ["FI112"]), ({"model": "hf://org/M"}, []), (PVC, [])]
)
def test_a_name_that_an_engine_cannot_be_given_is_an_error(notes: dict[str, Any], codes: list[str]) -> None:
    found = check(
        one("trtllm-serve --tp_size 8", "nvcr.io/nvidia/tensorrt-llm/release:1.0", **notes), mutated=False
    )

    assert [error.code for error in found if error.code == "FI112"] == codes
