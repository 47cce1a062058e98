"""The documents of files that can be read."""

from collections.abc import Iterable

from fusioninfer.lint.documents import Document, read_all


def read_files(paths: Iterable[str]) -> list[Document]:
    """Read the documents of files; raise the first error."""
    found, problems = read_all(paths)
    if problems:
        raise problems[0]
    return found
