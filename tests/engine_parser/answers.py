"""What an engine's own parser answers to the words with which containers start it."""

import json
import os
import subprocess
from pathlib import Path
from typing import Final

from intent import Object
from tests.engine_parser.install import Release, python, sources
from tests.engine_parser.started import arguments, containers

PROGRAM: Final = Path(__file__).with_name("parse.py")


def parsed(release: Release, *lists: list[str]) -> list[Object]:
    """Return the fields of each list of words, or `error`."""
    return judged(release, [(words, {}) for words in lists])


def judged(release: Release, questions: list[tuple[list[str], Object]]) -> list[Object]:
    """Return the fields of each list of words with which a pod starts, or `error`."""
    found: list[Object] = json.loads(_asked(release, json.dumps(questions)))
    return found


def flags(release: Release) -> set[str]:
    """Return the flags of the parser that begin with two dashes."""
    return {flag for flag in json.loads(_asked(release, "", "--flags")) if flag.startswith("--")}


def _asked(release: Release, question: str, *words: str) -> str:
    command = [str(python()), str(PROGRAM), release.engine, *words]
    known = {**os.environ, "PYTHONPATH": str(sources(release))}
    return subprocess.run(command, input=question, env=known, stdout=-1, text=True, check=True).stdout


def started(file: Object, programs: Path) -> dict[str, list[str]]:
    """Return the words of each container that starts the engine."""
    found = {name: arguments(one, programs) for name, one in containers(file)}
    return {name: words for name, words in found.items() if words is not None}


def unlike(release: Release, cases: list[tuple[str, Object, Object]], programs: Path) -> list[object]:
    """Return each field of a case that its engine parses otherwise than it is meant."""
    asked = [
        (case, name, words, meant)
        for case, made, meant in cases
        for name, words in started(made, programs).items()
    ]
    assert {case for case, *_ in asked} == {case for case, *_ in cases}, "each starts an engine"
    return [
        (case, name, key, answer.get(key, answer.get("error")))
        for (case, name, _, meant), answer in zip(
            asked, parsed(release, *(words for _, _, words, _ in asked)), strict=True
        )
        for key, value in meant.items()
        if answer.get(key) != value
    ]
