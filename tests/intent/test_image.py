"""Image references and the facts about images."""

import pytest

from catalog.engines import ENGINES, Engines, Ray, Stock, Version, ships
from intent.image import Image, _read_image, facts, read_image


@pytest.mark.parametrize(
    ("reference", "image"),
    [
        ("vllm/vllm-openai:v0.11.0", Image("vllm/vllm-openai", "v0.11.0", "", (0, 11, 0), engine="vllm")),
        (
            "reg:5000/x/vllm-openai:0.10.1.1",
            Image("reg:5000/x/vllm-openai", "0.10.1.1", "", (0, 10, 1, 1), engine="vllm"),
        ),
        (
            "vllm/vllm-openai:v0.8.5.post1",
            Image("vllm/vllm-openai", "v0.8.5.post1", "", (0, 8, 5), engine="vllm"),
        ),
        (
            "vllm/vllm-openai:v0.17.1-x86_64",
            Image("vllm/vllm-openai", "v0.17.1-x86_64", "", (0, 17, 1), engine="vllm"),
        ),
        (
            "vllm/vllm-openai:v0.17.1@sha256:ab",
            Image("vllm/vllm-openai", "v0.17.1", "sha256:ab", (0, 17, 1), engine="vllm"),
        ),
        ("vllm/vllm-openai@sha256:ab", Image("vllm/vllm-openai", "", "sha256:ab", engine="vllm")),
        ("vllm/vllm-openai:v0.11.1rc2", Image("vllm/vllm-openai", "v0.11.1rc2", engine="vllm")),
        ("reg:5000/vllm-openai", Image("reg:5000/vllm-openai", engine="vllm")),
        ("lmsysorg/sglang:v0.5.9-cu129", Image("lmsysorg/sglang", "v0.5.9-cu129", "", (0, 5, 9), "sglang")),
        ("corp/llm:1.2.3", Image("corp/llm", "1.2.3")),
        ("", Image()),
    ],
)
def test_a_reference_is_split_into_its_parts(reference: str, image: Image) -> None:
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
        ("nightly-1a2b", False, True, "vllm serve"),
        ("mine", None, True, "vllm serve"),
    ],
)
def test_the_tag_determines_ray_executor_and_entrypoint(
    tag: str, *, runs: bool | None, names_executor: bool, entrypoint: str
) -> None:
    known = facts(read_image(f"vllm/vllm-openai:{tag}"))

    assert (known.symmetric_run, known.names_executor, known.entrypoint) == (runs, names_executor, entrypoint)


@pytest.mark.parametrize(
    ("reference", "has_ray"),
    [
        ("vllm/vllm-openai", False),
        ("docker.io/vllm/vllm-openai", False),
        ("vllm/vllm-openai@sha256:ab", None),
        ("corp/vllm-openai", None),
    ],
)
def test_without_a_tag_the_image_is_latest(reference: str, *, has_ray: bool | None) -> None:
    assert facts(read_image(reference)).has_ray is has_ray


OWN = Engines(
    (
        Stock("corp/llm", "vllm", tag="1.*", version=(0, 17, 1), ray=Ray((2, 55), (2, 55))),
        Stock("vllm-openai", "vllm", tag="*-ray", ray=Ray((2, 60), (2, 60))),
        *ENGINES.images,
    ),
    ENGINES.traits,
    ENGINES.connectors,
)


@pytest.mark.parametrize(
    ("reference", "version", "runs"),
    [
        ("reg/corp/llm:1.2", (), None),
        ("corp/llm:1.2", (0, 17, 1), True),
        ("corp/llm:2.0", (), None),
        ("vllm/vllm-openai:v0.20.0-ray", (0, 20, 0), True),
        ("vllm/vllm-openai:v0.20.0", (0, 20, 0), False),
    ],
)
def test_a_row_of_the_operator_comes_first(reference: str, version: Version, *, runs: bool | None) -> None:
    image = read_image(reference, OWN)

    assert (image.version, facts(image, OWN).symmetric_run) == (version, runs)


@pytest.mark.parametrize(
    ("version", "connectors"),
    [
        ((0, 10, 0), [True, True, True, False]),
        ((0, 10, 1, 1), [False, True, False, False]),
        ((0, 11, 0), [False, True, False, False]),
        ((0, 13, 0), [False, True, True, True]),
        ((0, 24, 0), [False, False, True, True]),
    ],
)
def test_a_connector_is_in_the_versions_of_its_rows(version: Version, connectors: list[bool]) -> None:
    names = ("PyNcclConnector", "P2pNcclConnector", "MooncakeConnector", "ExampleConnector")

    assert [ships(ENGINES, name, version) for name in names] == connectors


def test_every_row_has_a_source() -> None:
    sources = [
        *(row.source for row in ENGINES.images),
        *(row.source for row in ENGINES.traits),
        *(row.source for row in ENGINES.connectors),
    ]

    assert all(sources)


def test_an_invalid_reference_is_not_cached() -> None:
    known = _read_image.cache_info().currsize

    found = {read_image("vllm/" + "x" * 600 + str(at)) for at in range(100)}

    assert found == {Image()}
    assert _read_image.cache_info().currsize == known
