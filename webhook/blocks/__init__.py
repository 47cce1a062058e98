"""The table of blocks, and the filled Intent: what an author asks for in annotations, as engine arguments.

The launch plan, the layout, mutators, validators and what a member serves see the filled Intent only. The
concern `launch` writes the filled command and args, whether a launcher is written or not. The record keeps
what it wrote and what that replaced, so a removed annotation removes its arguments again.

To add a block, add a field of `Annotations`, its name to `intent.annotations.BLOCKS`, a module here, and a
row. A block with fields that it adds elsewhere (volumes, environment) has a concern for those too.
"""

from dataclasses import replace
from typing import Final, NamedTuple

from intent.annotations import ENGINE_CONTAINER
from intent.errors import FieldError
from intent.launch import read_launch
from intent.lws import Intent, Template
from intent.settings import Settings
from webhook.blocks.block import Block, BlockArguments, with_parts
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
    found = [one for _, parts in made for part in parts for one in part.findings]
    findings = tuple(one for at, one in enumerate(found) if one not in found[:at])
    if any(one.severity == "error" for one in findings):
        return Filled(intent, findings)
    return Filled(replace(intent, templates=tuple(template for template, _ in made)), findings)


def _template(
    template: Template, blocks: list[Block], intent: Intent, settings: Settings
) -> tuple[Template, list[BlockArguments]]:
    """Return a template with what the blocks write, and that."""
    if template.engine is None:
        cause = f"{template.path} has no known engine container"
        return template, [block.unfilled(cause, f"name it in {ENGINE_CONTAINER}") for block in blocks]
    launch = read_launch(template, template.engine, settings.engines)
    engine = launch.command.engine
    if not engine:
        cause = (
            f"cannot be added to the command in {template.engine_path}, which is not understood or launches "
            "the nodes itself"
        )
        return template, [block.unfilled(cause) for block in blocks]
    parts = [
        block.fill(launch, intent, settings)
        if engine in block.engines
        else block.unfilled(f"is not supported for {engine}")
        for block in blocks
    ]
    keys = (block.key for block in blocks)
    return with_parts(launch, tuple(zip(keys, parts, strict=True))), parts
