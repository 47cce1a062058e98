"""The table of blocks, and the filled Intent: what an author asks for in annotations, as engine arguments.

The launch plan, the layout, mutators, validators and what a member serves see the filled Intent only. The
concern `launch` writes the filled command and args, whether a launcher is written or not. The record keeps
what it wrote and what that replaced, so a removed annotation removes its arguments again.

To add a block, add a field of `Annotations`, its key to `webhook.overlay.base.BLOCKS`, a module here, and a
row. A block with fields that it adds elsewhere (volumes, environment) has a concern for those too.
"""

from collections.abc import Collection
from dataclasses import replace
from typing import Final, NamedTuple

from intent.annotations import ENGINE_CONTAINER
from intent.command_line.flags import end_of_flags
from intent.errors import FieldError
from intent.launch import Launch, in_shell, read_launch
from intent.lws import Intent, Template
from intent.settings import Settings
from webhook.blocks.block import Block, Wish
from webhook.blocks.lora import LORA
from webhook.blocks.model import MODEL
from webhook.blocks.parallelism import PARALLELISM, accelerators
from webhook.launchers.launcher import with_flags

BLOCKS: Final[tuple[Block, ...]] = (MODEL, PARALLELISM, LORA)
"""In the order of their arguments."""


class Filled(NamedTuple):
    """An Intent whose templates are filled, and the findings of the blocks."""

    intent: Intent
    findings: tuple[FieldError, ...] = ()


def filled(intent: Intent, settings: Settings, blocks: Collection[Block]) -> Filled:
    """Fill every template with what these blocks ask for; none, if one reports an error about any of them."""
    findings: dict[FieldError, None] = {}
    templates = [_template(template, blocks, intent, settings, findings) for template in intent.templates]
    is_refused = any(finding.severity == "error" for finding in findings)
    return Filled(intent if is_refused else replace(intent, templates=tuple(templates)), tuple(findings))


def _template(
    template: Template,
    blocks: Collection[Block],
    intent: Intent,
    settings: Settings,
    findings: dict[FieldError, None],
) -> Template:
    """Return a template with what the blocks ask for and its author has not written; add to the findings."""
    if template.engine is None:
        cause = f"{template.path} has no known engine container"
        findings |= {block.unfilled(cause, f"name it in {ENGINE_CONTAINER}"): None for block in blocks}
        return template
    launch = read_launch(template, template.engine, settings.engines)
    engine, wishes = launch.command.engine, list[tuple[str, Wish]]()
    for block in blocks:
        if engine not in block.engines:
            cause = f"is not supported for {engine}" if engine else _UNREAD.format(template.engine_path)
            findings[block.unfilled(cause)] = None
            continue
        for item in block.wishes(launch, intent):
            if isinstance(item, FieldError):
                findings[item] = None
                continue
            findings |= dict.fromkeys(block.contradictions(launch, item))
            if not any(map(launch.command.flags.last, item.names)):
                wishes.append((block.key, item))
    needed = accelerators(launch, intent, settings)
    result = _with_words(launch, wishes)
    if result.engine is None or not needed.count:
        return result
    return replace(result, engine=replace(result.engine, accelerators=needed), requested=needed)


_UNREAD: Final = "cannot be added to the command in {}, which is not understood or launches the nodes itself"


def _with_words(launch: Launch, wishes: list[tuple[str, Wish]]) -> Template:
    """Return the template with these words in the engine's command, each with its annotation."""
    first = [(word, key) for key, wish in wishes if wish.first for word in wish.words]
    flags = [(word, key) for key, wish in wishes if not wish.first for word in wish.words]
    if not (first or flags):
        return launch.template
    engine = with_flags(launch, tuple(word for word, _ in flags), tuple(word for word, _ in first))
    start = launch.command.arguments
    end = end_of_flags(launch.command.argv, start) + len(first)
    if in_shell(launch):
        start = end - len(first)
        end = start + len(first)
    placed = dict(enumerate((key for _, key in first), start))
    placed |= enumerate((key for _, key in flags), end)
    return replace(launch.template, engine=engine, filled=placed)
