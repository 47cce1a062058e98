"""The demo: what it prints, and that its difference has every line of both objects."""

import pytest
from click.testing import CliRunner

from fusioninfer.cli import demo, main
from intent import yaml
from tests.builders.documents import read_files
from webhook.expand import expanded


def test_the_demo_prints_the_examples_and_the_pod_groups() -> None:
    result = CliRunner().invoke(main, ["demo"])

    assert result.exit_code == 0
    for text in ("what admission adds", "+           - symmetric-run", "kind: PodGroup", "minMember: 6"):
        assert text in result.stdout
    assert "Warning" not in result.stdout


@pytest.mark.parametrize("file", demo.SHOWN, ids=lambda file: file.stem)
def test_the_difference_is_the_whole_object(file: str) -> None:
    (document,) = read_files([str(file)])

    lines = demo.difference(document.object, expanded(document.object))

    assert [line[2:] for line in lines if line[0] != "+"] == yaml.dump(document.object).splitlines()
