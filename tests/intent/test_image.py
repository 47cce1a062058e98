"""Image references, and what is known by them."""

import pytest

from intent.image import Image, facts, read_image


@pytest.mark.parametrize(
    ("reference", "image"),
    [
        ("vllm/vllm-openai:v0.11.0", Image("vllm/vllm-openai", "v0.11.0", "", (0, 11, 0))),
        ("reg:5000/x/vllm-openai:0.10.1.1", Image("reg:5000/x/vllm-openai", "0.10.1.1", "", (0, 10, 1, 1))),
        ("vllm/vllm-openai:v0.8.5.post1", Image("vllm/vllm-openai", "v0.8.5.post1", "", (0, 8, 5))),
        ("vllm/vllm-openai:v0.17.1-x86_64", Image("vllm/vllm-openai", "v0.17.1-x86_64", "", (0, 17, 1))),
        ("vllm/vllm-openai:v0.17.1@sha256:ab", Image("vllm/vllm-openai", "v0.17.1", "sha256:ab", (0, 17, 1))),
        ("vllm/vllm-openai@sha256:ab", Image("vllm/vllm-openai", "", "sha256:ab")),
        ("vllm/vllm-openai:v0.11.1rc2", Image("vllm/vllm-openai", "v0.11.1rc2")),
        ("reg:5000/vllm-openai", Image("reg:5000/vllm-openai")),
        ("corp/llm:1.2.3", Image("corp/llm", "1.2.3")),
        ("", Image()),
    ],
)
def test_a_reference_is_taken_apart(reference: str, image: Image) -> None:
    assert read_image(reference) == image


@pytest.mark.parametrize(
    ("tag", "runs", "names_executor", "entrypoint"),
    [
        ("v0.11.0", False, False, "api_server"),
        ("v0.11.1", False, True, "vllm serve"),
        ("v0.16.0", False, True, "vllm serve"),
        ("v0.17.0", True, True, "vllm serve"),
        ("v0.17.1", True, True, "vllm serve"),
        ("v0.18.0", False, True, "vllm serve"),
        ("latest", False, True, "vllm serve"),
    ],
)
def test_the_tag_tells_ray_executor_and_entrypoint(
    tag: str, *, runs: bool, names_executor: bool, entrypoint: str
) -> None:
    known = facts(read_image(f"vllm/vllm-openai:{tag}"))

    assert (known.symmetric_run, known.names_executor, known.entrypoint) == (runs, names_executor, entrypoint)
