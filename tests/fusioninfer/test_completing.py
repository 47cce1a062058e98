"""What shells and kubectl complete."""

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from catalog.codes import CODES
from fusioninfer import plugin
from fusioninfer.cli import main

KUBECONFIG = "contexts:\n- name: kind-kind\n- {name: prod}\n"


def completed(*words: str) -> list[str]:
    """Return the completions of the last word; `<file>` for files."""
    *before, last = words
    found = ShellComplete(main, {}, "fusioninfer", "").get_completions(before, last)
    return [f"<{one.type}>" if one.type != "plain" else one.value for one in found]


@pytest.mark.parametrize("words", [("validate", ""), ("expand", "-f", "a"), ("sync", "--config", "")])
def test_files_are_completed(words: tuple[str, ...]) -> None:
    assert completed(*words) == ["<file>"]


def test_codes_are_completed() -> None:
    assert completed("codes", "fi50") == [code for code in CODES if code.startswith("FI50")]
    assert "FI601" in completed("codes", "FI503", "FI6")


def test_each_code_of_a_list_is_completed() -> None:
    assert completed("validate", "--ignore", "FI503,fi50") == [
        f"FI503,{code}" for code in CODES if code.startswith("FI50")
    ]


@pytest.mark.parametrize("named", [True, False])
def test_contexts_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, named: bool) -> None:
    (tmp_path / "config").write_text(KUBECONFIG)
    monkeypatch.setenv("KUBECONFIG", f"/nonexistent:{tmp_path / 'config'}")
    option = ("--kubeconfig", str(tmp_path / "config")) if named else ()

    assert completed("eject", *option, "--context", "") == ["kind-kind", "prod"]
    assert completed("sync", *option, "--context", "p") == ["prod"]


@pytest.mark.parametrize("text", ["", "contexts: 3", "- a", "contexts: [", "contexts: [{}]", "\0"])
def test_an_invalid_kubeconfig_completes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    (tmp_path / "config").write_text(text)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))

    assert completed("eject", "--context", "") == []


# --- kubectl -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (["codes", "FI503"], [f"FI503\t{CODES['FI503'].title}", ":4"]),
        (["validate", ""], [":0"]),
        (["valid"], ["validate\tCheck files as a cluster would.", ":4"]),
        (["validate", "-o", "g"], ["github", ":4"]),
        (["no-such-command", ""], None),
        ([], None),
    ],
)
def test_kubectl_gets_completions_and_a_directive(words: list[str], lines: list[str] | None) -> None:
    found = plugin.completions(main, words).splitlines()

    assert found == lines if lines else found[-1] == ":4"
