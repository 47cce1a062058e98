"""Cases with names: both capacity tables of the documents, and those in which a plan differed once."""

from collections.abc import Mapping
from typing import Final

import yaml

from tests.cluster.capacity import DISAGGREGATED, MONOLITHIC, Table
from tests.cluster.planning.cases import Case, plain


def _of_table(table: Table) -> Case:
    """Return the files of a table, with nodes up to its last row."""
    return plain((yaml.safe_load(file.read_text()) for file in table.files), max(table.rows) // 8)


KEPT: Final[Mapping[str, Case]] = {
    "the table of the worker": _of_table(MONOLITHIC),
    "the table of prefill and decode": _of_table(DISAGGREGATED),
}
