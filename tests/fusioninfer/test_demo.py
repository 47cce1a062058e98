"""The demo: it runs on real TLS, and marks just the lines that admission adds."""

from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner

from fusioninfer import demo
from fusioninfer.cli import main
from fusioninfer.files.offline import is_lws
from intent import Object, yaml
from intent.settings import Settings
from tests.golden.test_golden import CASES, inputs
from webhook.expand import expanded


@pytest.mark.slow
def test_the_demo_prints_the_examples_and_the_pod_groups() -> None:
    result = CliRunner().invoke(main, ["demo", "--plain"])

    assert result.exit_code == 0
    for text in ("as written", "+           - symmetric-run", "kind: PodGroup", "minMember: 6"):
        assert text in result.stdout
    assert "Warning" not in result.stdout


def test_an_image_of_an_added_container_is_added() -> None:
    before = "containers:\n- name: engine\n  image: x\n  resources: {}\n"
    after = (
        "containers:\n- name: sidecar\n  image: x\n  resources: {}\n"
        "- name: engine\n  command: [ray]\n  image: x\n  env: []\n  resources: {}\n"
    )

    gone, added = demo.difference(before, after)

    assert gone == [f"  {line}" for line in before.splitlines()]
    assert [line[0] for line in added] == [*" +++ ", "+", " ", "+", " "]


def test_a_value_that_changed_is_removed_and_added() -> None:
    gone, added = demo.difference("a: 1\nb: |\n  x\n  y\n", "a: 2\nb: |\n  x\n  z\n")

    assert gone == ["- a: 1", "  b: |", "    x", "-   y"]
    assert added == ["+ a: 2", "  b: |", "    x", "+   z"]


def values(value: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Return the leaves of an object, with items by their names. Items without a name are left out."""
    if isinstance(value, dict):
        return {at: leaf for key, below in value.items() for at, leaf in values(below, (*path, key)).items()}
    if isinstance(value, list):
        named = [one for one in value if isinstance(one, dict) and "name" in one]
        return {at: leaf for one in named for at, leaf in values(one, (*path, f"[{one['name']}]")).items()}
    return {path: value}


ADDED: Final = ("image", "imagePullPolicy", "schedulerName", "cpu", "memory", "subPath")


@pytest.mark.parametrize("case", CASES[::10], ids=lambda case: case.name)
def test_the_marked_lines_are_those_of_the_fields_that_admission_adds(case: Path) -> None:
    for before in (one.object for one in inputs(case) if is_lws(one.object)):
        after = expanded(before, Settings())
        old, new = yaml.dump(before), yaml.dump(after)

        gone, added = demo.difference(old, new)

        assert [line[2:] for line in gone] == old.splitlines()
        assert [line[2:] for line in added] == new.splitlines()
        assert [line for line in gone if line[0] == " "] == [line for line in added if line[0] == " "]
        for key in ADDED:
            assert marked(added, key) >= len(_new(before, after, key)), key


def marked(lines: list[str], key: str) -> int:
    """Count the lines of a key that are marked as added."""
    return sum(line[0] == "+" and line[2:].lstrip(" -").startswith(f"{key}:") for line in lines)


def _new(before: Object, after: Object, key: str) -> list[tuple[str, ...]]:
    """Return the paths of the fields of a name that only the second object has."""
    return [path for path in values(after).keys() - values(before).keys() if path[-1] == key]
