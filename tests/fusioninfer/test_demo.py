"""The demo: what it prints, with every line of the examples."""

from click.testing import CliRunner

from fusioninfer.cli import demo, main
from intent import yaml
from tests.builders.documents import read_files


def test_the_demo_prints_the_examples_and_the_pod_groups() -> None:
    result = CliRunner().invoke(main, ["demo"])

    assert result.exit_code == 0
    for text in ("what admission adds", "+          - symmetric-run", "kind: PodGroup", "minMember: 6"):
        assert text in result.stdout
    assert "Warning" not in result.stdout


def test_the_demo_prints_whole_objects() -> None:
    lines = CliRunner().invoke(main, ["demo"]).stdout.splitlines()

    was = "\n".join(line[1:] for line in lines if line[:1] in {" ", "-"})
    for document in read_files(map(str, demo.SHOWN)):
        assert yaml.dump(document.object).rstrip() in was
