"""The Dockerfile keeps to what linters of Dockerfiles ask, and to the manifests that run its image."""

import tomllib
from fnmatch import fnmatch
from typing import Final

import pytest

from catalog.release import VERSION
from hack.image.lock import ROOT
from hack.manifests.objects import container
from tests.image.dockerfile import Instruction, instructions, of, stages

DEPENDENCIES, FINAL = stages()
COPIES: Final = [one.words for one in of(FINAL, "COPY") if "--from" not in one.text]


def only(stage: list[Instruction], keyword: str) -> Instruction:
    (found,) = of(stage, keyword)
    return found


def test_both_stages_have_one_base_of_a_named_version() -> None:
    base = of(instructions(), "ARG")[0]

    assert base.text.startswith("PYTHON=python:3.")
    assert [of(stage, "FROM")[0].words[0] for stage in (DEPENDENCIES, FINAL)] == ["${PYTHON}"] * 2


def test_files_are_installed_by_their_hashes_and_nothing_is_built() -> None:
    words = only(DEPENDENCIES, "RUN").words

    assert {"--require-hashes", "--only-binary=:all:", "--no-cache-dir"} <= set(words)


def test_the_final_stage_installs_nothing() -> None:
    assert [one.words[:3] for one in of(FINAL, "RUN")] == [["python", "-m", "compileall"]]


@pytest.mark.parametrize("keyword", ["ADD", "VOLUME", "SHELL", "ONBUILD"])
def test_nothing_is_fetched_or_hidden(keyword: str) -> None:
    assert of(instructions(), keyword) == []


def test_it_does_not_run_as_root() -> None:
    """The manifests name no user: a kubelet verifies `runAsNonRoot` by a number alone."""
    assert only(FINAL, "USER").text == "65532:65532"


def test_the_entrypoint_gets_signals_itself() -> None:
    assert only(FINAL, "ENTRYPOINT").words == ["python", "-m", "fusioninfer"]
    assert only(FINAL, "ENTRYPOINT").text.startswith("[")


def test_no_instruction_runs_as_root_after_user() -> None:
    keywords = [one.keyword for one in FINAL]

    assert "RUN" not in keywords[keywords.index("USER") :]


def test_the_ports_are_those_of_the_webhook() -> None:
    ports = [str(port["containerPort"]) for port in container("fusioninfer-webhook")["ports"]]

    assert only(FINAL, "EXPOSE").words == ports


def test_the_version_is_ours() -> None:
    assert f"VERSION={VERSION}" in [one.text for one in of(FINAL, "ARG")]


def test_it_says_what_it_is() -> None:
    labels = {word.partition("=")[0].rpartition(".")[2] for word in only(FINAL, "LABEL").words}

    assert labels == {"title", "description", "licenses", "version", "revision"}


def test_every_package_is_in_it() -> None:
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    include = setuptools["packages"]["find"]["include"]

    packages = {words[0] for words in COPIES if words[-1].startswith("/app/")}
    assert packages == {pattern.rstrip("*") for pattern in include}


@pytest.mark.parametrize("source", [word for words in COPIES for word in words[:-1]] + ["requirements.lock"])
def test_copied_files_exist_and_are_sent_to_the_builder(source: str) -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()

    assert (ROOT / source).exists()
    assert f"!{source}" in lines
    assert not any(fnmatch(source, line) for line in lines[lines.index(f"!{source}") + 1 :])
