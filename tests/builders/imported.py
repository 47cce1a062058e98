"""What the command would say of the output of an import."""

from collections.abc import Iterable

from fusioninfer.lint.documents import Document
from fusioninfer.lint.offline import compose
from intent import Object
from intent.settings import Settings


def errors(objects: Iterable[Object]) -> list[str]:
    """Return the errors that `validate` finds in objects."""
    found = compose([Document("file", number, obj) for number, obj in enumerate(objects)], Settings()).found
    return [str(each.error) for each in found if each.error.severity == "error"]
