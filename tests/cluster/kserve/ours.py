"""What an imported service becomes: the objects after admission, and those of the controller."""

from collections.abc import Sequence
from typing import NamedTuple

from fusioninfer.lint.documents import Document
from fusioninfer.lint.offline import compose
from importer.table import import_all
from intent import Object
from intent.settings import Settings


class Composed(NamedTuple):
    """The objects of an imported service, and the messages of what prevents them."""

    objects: tuple[Object, ...]
    errors: tuple[str, ...]


def composed(objects: Sequence[Object]) -> Composed:
    """Import a service with its bases, and return what a cluster would have."""
    made = import_all(objects)
    found = compose([Document("import", at, one) for at, one in enumerate(made.objects, 1)], Settings())
    problems = (str(one.error) for one in made.problems)
    errors = (str(one.error) for one in found.found if one.error.severity == "error")
    return Composed(found.objects, (*problems, *errors))
