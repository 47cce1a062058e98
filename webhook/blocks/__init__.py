"""The table of blocks, and the filled Intent: what an author asks for in annotations, as engine arguments.

The launch plan, the layout, mutators, validators and what a member serves see the filled Intent only. The
concern `launch` writes the filled command and args, whether a launcher is written or not. The record keeps
what it wrote and what that replaced, so a removed annotation removes its arguments again.

To add a block, add a field of `Annotations`, its name to `intent.annotations.BLOCKS`, a module here, and a
row. A block with fields that it adds elsewhere (volumes, environment) has a concern for those too.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from intent.annotations import ENGINE_CONTAINER, path
from intent.errors import FieldError
from intent.launch import read_launch
from intent.lws import Engine, Intent, Template
from intent.settings import Settings
from webhook.blocks.block import AnnotationArguments, Block, BlockArguments, with_parts
from webhook.blocks.lora import LORA
from webhook.blocks.model import MODEL
from webhook.blocks.parallelism import PARALLELISM

BLOCKS: Final[tuple[Block, ...]] = (MODEL, PARALLELISM, LORA)
"""In the order of their arguments."""


class Filled(NamedTuple):
    """An Intent whose templates are filled, and the findings of the blocks."""

    intent: Intent
    findings: tuple[FieldError, ...] = ()


def filled(intent: Intent, settings: Settings, blocks: tuple[Block, ...] = BLOCKS) -> Filled:
    """Fill every template; none, if a block reports an error about any of them."""
    asked = [block for block in blocks if getattr(intent, block.field)]
    if not asked:
        return Filled(intent)
    made = [_template(template, asked, intent, settings) for template in intent.templates]
    found = [one for _, parts in made for part in parts for one in part.words.findings]
    findings = tuple(one for at, one in enumerate(found) if one not in found[:at])
    if any(one.severity == "error" for one in findings):
        return Filled(intent, findings)
    return Filled(replace(intent, templates=tuple(template for template, _ in made)), findings)


def _template(
    template: Template, blocks: list[Block], intent: Intent, settings: Settings
) -> tuple[Template, tuple[AnnotationArguments, ...]]:
    if template.engine is None:
        message = f"has no known engine container to configure; name it in {ENGINE_CONTAINER}"
        return template, tuple(_refused(blocks, intent, f"{template.path} {message}"))
    launch = read_launch(template, template.engine, settings.engines)
    if not launch.command.engine:
        message = (
            f"cannot be added to the command in {template.engine_path}, which is not understood or launches "
            "the nodes itself: {instead}"
        )
        return template, tuple(_refused(blocks, intent, message, template.engine))
    engine = launch.command.engine
    parts = tuple(
        AnnotationArguments(block.key, block.fill(launch, intent, settings))
        if engine in block.engines
        else next(_refused((block,), intent, f"is not supported for {engine}; {{instead}}", launch.engine))
        for block in blocks
    )
    return with_parts(launch, parts), parts


def _refused(
    blocks: Iterable[Block], intent: Intent, message: str, engine: Engine | None = None
) -> Iterator[AnnotationArguments]:
    """Yield for each block that it adds nothing, with a finding about each annotation that it reads.

    `{instead}` in the message is the block's own remedy. One that the author followed is not repeated.
    """
    words = " ".join((*engine.command, *engine.args)) if engine else ""
    for block in blocks:
        instead = {block.key: block.instead.replace("{key}", block.key)}
        for one in block.refines:
            if getattr(intent, one.field) and one.flag not in words:
                instead[one.key] = f"write {one.flag} there yourself"
        findings = tuple(
            FieldError(path(key), None, message.replace("{instead}", remedy), block.code)
            for key, remedy in instead.items()
        )
        yield AnnotationArguments(block.key, BlockArguments(findings=findings))
