"""What a shell completes: codes, and the contexts of a kubeconfig. Files are completed by their type."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import yaml
from click.shell_completion import CompletionItem

from catalog.codes import CODES
from fusioninfer.codes import ENTRIES


def codes(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a code, of a finding or a rule."""
    return [
        CompletionItem(code, help=one.title)
        for code, one in ENTRIES.items()
        if code.startswith(incomplete.upper())
    ]


def codes_of_a_list(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the last code of a list that commas separate."""
    before, comma, last = incomplete.rpartition(",")
    return [
        CompletionItem(f"{before}{comma}{code}", help=row.title)
        for code, row in CODES.items()
        if code.startswith(last.upper())
    ]


def contexts(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a context of --kubeconfig, of $KUBECONFIG, or of the file in the home directory."""
    named = context.params.get("kubeconfig") or os.environ.get("KUBECONFIG")
    paths = str(named).split(os.pathsep) if named else [str(Path.home() / ".kube" / "config")]
    found = dict.fromkeys(name for path in paths for name in _contexts_of(path))
    return [CompletionItem(name) for name in found if name.startswith(incomplete)]


def _contexts_of(path: str) -> Iterable[str]:
    """Return the names of the contexts in a file; none if it cannot be read."""
    with suppress(OSError, ValueError, yaml.YAMLError, AttributeError, TypeError, KeyError):
        content: Any = yaml.load(Path(path).read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
        return [str(one["name"]) for one in content["contexts"]]
    return []
