"""The findings of the blocks (`webhook.blocks`), such as arguments that contradict an annotation."""

from collections.abc import Iterator

from intent.errors import FieldError
from webhook.layout import Input


def blocks(given: Input) -> Iterator[FieldError]:
    """Yield what the blocks found when the templates were filled."""
    yield from given.about_blocks
