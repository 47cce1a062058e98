"""The reviews that the webhook answers before it is ready."""

import gc
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import orjson
import pytest
import yaml

from catalog.flags import flag_tables
from catalog.schemas import schemas
from intent import Object
from intent.inferencetemplate.crd import pod_template
from intent.settings import Settings
from server import admission
from server.warm_up import Reviews, warm_up
from tests.builders.reviews import review
from webhook import templated
from webhook.review import AdmissionAnswer

FOLDER: Final = Path(__file__).parents[2] / "docs" / "examples" / "templates"
STEPS: Final[Reviews] = {
    **admission.reviews(Settings()),
    templated.ASKED: templated.asked,
    templated.ANSWERED: templated.answered,
}
CACHES: Final = (flag_tables, pod_template, schemas)
"""What is read or made once."""


@pytest.fixture(autouse=True)
def cold() -> Iterator[None]:
    for cache in CACHES:
        cache.cache_clear()
    yield
    gc.unfreeze()


def misses() -> list[int]:
    return [cache.cache_info().misses for cache in CACHES]


def example(name: str) -> Object:
    """Return an example as an API server has it."""
    found: Object = yaml.safe_load((FOLDER / name).read_text())
    found["metadata"].setdefault("namespace", "llm")
    return found


def test_the_first_objects_with_templates_find_everything_read() -> None:
    warm_up(STEPS)
    once = misses()
    vllm, qwen = example("vllm.yaml"), example("services/qwen.yaml")
    vllm["spec"]["pods"][0]["remove"] = ["containers/vllm/env/DEBUG"]
    vllm["spec"]["pods"][0]["template"]["spec"]["hostname"] = "$(model.name)"

    for one in (vllm, example("services/qwen-pd.yaml")):
        STEPS["/validate"](orjson.dumps(review(one)))
    made = STEPS[templated.ANSWERED](templated.packed(orjson.dumps(review(qwen)), {"vllm": vllm}))

    assert made.outcome == "patched"
    assert (misses(), once) == ([1] * len(CACHES), [1] * len(CACHES))


def test_only_the_object_that_was_not_expanded_is_denied() -> None:
    outcomes: dict[str, list[str]] = {}

    def noted(name: str, body: bytes) -> AdmissionAnswer:
        answer = STEPS[name](body)
        outcomes.setdefault(name, []).append(answer.outcome)
        return answer

    warm_up({name: partial(noted, name) for name in STEPS})

    assert outcomes == {
        "/mutate": ["patched"],
        "/validate": ["denied", "allowed", "allowed"],
        templated.ASKED: ["unchanged"],
        templated.ANSWERED: ["patched"],
    }
