"""Go's `text/template`, the part that presets of KServe and BaseConfigs of llm-d use.

    render(source, root, functions)       the text, or a TemplateError with the action
    rendered(tree, root, functions)       a tree with the templates in its texts rendered

Texts and actions with trim marks: `if`, `else` and `end`; pipelines of fields, texts, whole numbers, `nil`,
`and`, `or`, `not`, `eq`, and the functions that a system adds. Everything else is refused by its name. What
is not refused gives the text that Go gives: `tests/cluster/test_gotemplate.py` compares them.

Values of the data are texts, numbers, booleans and maps as themselves, also structs, which always have
fields; None for a nil pointer. A pointer to a scalar is the scalar: those that templates read are never zero.
"""

import json
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from importer.account import UntranslatableError
from importer.leaves import Leaf, LeafPath, Tree, mapped, written
from intent import Object

MOST_CHARACTERS: Final = 1 << 20
"""Of what a template makes. A ConfigMap has no more."""
_SHOWN: Final = 120
"""The characters of an action that a message has."""
Value = Any
Function = Callable[..., Value]
"""Gets the values of its arguments; raises a `TemplateError` or a TypeError for one that does not fit."""


class TemplateError(ValueError):
    """A template is not understood, or fails."""


def _printed(value: Value) -> str:
    """Return how a value is printed (`fmt`, `%v`)."""
    if not isinstance(value, str | int):
        raise TemplateError("the value is absent, or is no text, number or boolean")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _equal(first: Value, second: Value, *others: Value) -> bool:
    values = (second, *others)
    if not isinstance(first, str | int) or any(type(value) is not type(first) for value in values):
        raise TemplateError("only texts, numbers and booleans are compared, with values of their own type")
    return first in values


FUNCTIONS: Final[Mapping[str, Function]] = {"not": operator.not_, "eq": _equal}
"""Go's own, beside `and` and `or`."""
_DECIDES: Final = {"and": False, "or": True}
"""The functions that evaluate no argument after the one that decides, with the truth of that one."""


# --- texts and actions --------------------------------------------------------------------------------

_BLANK: Final = r"[ \t\r\n]"
_ACTION: Final = re.compile(
    rf"(?:(?<!{_BLANK}){_BLANK}+(?=\{{\{{-{_BLANK}))?"  # what `{{-` trims
    rf"(?<!\{{)\{{\{{(?:-(?={_BLANK}))?([^{{}}]*?)(?:(?<={_BLANK})-\}}\}}{_BLANK}*|\}}\}})"
)
"""An action with the blanks that it trims; its group is what stands inside."""
_WORD: Final = re.compile(
    r"""
    (?P<pipe>\|) | (?:
        (?P<field>(?:\.[A-Za-z_]\w*)+)
      | (?P<number>-?(?:0|[1-9][0-9]{0,17}))
      | (?P<nil>nil)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<text>"[^"\\\n]*"|`[^`\r]*`)
    ) (?=[ \t\r\n|]|\Z)
    | (?P<other>[^ \t\r\n]+)
    """,
    re.VERBOSE | re.ASCII,
)
_Word = tuple[str, str]
"""A part of an action: the group of `_WORD` that it is, and its text."""
_Block = tuple[bool, bool | None]
"""Whether the present branch of an `if` is printed, and the one after `else`; None in that one."""


def render(source: str, root: Object, functions: Mapping[str, Function] = FUNCTIONS) -> str:
    """Return what a template makes of data.

    Raises:
        TemplateError: the template is not supported, or Go would have an error too.
    """
    blocks, output, length = list[_Block]([(True, None)]), list[str](), 0
    for number, part in enumerate(_ACTION.split(source)):
        if number % 2:
            try:
                shown = _acted(list(_words(part)), blocks, root, functions)
            except TemplateError as error:
                raise TemplateError(f"{{{{{part[:_SHOWN]}}}}}: {error}") from None
        elif "{{" in part:
            raise TemplateError(f"{part[part.index('{{') :][:_SHOWN]}: the action does not end")
        else:
            shown = part if blocks[-1][0] else ""
        output.append(shown)
        length += len(shown)
        if length > MOST_CHARACTERS:
            raise TemplateError(f"the output is longer than {MOST_CHARACTERS} characters")
    if len(blocks) > 1:
        raise TemplateError("an if has no end")
    return "".join(output)


def _words(inside: str) -> Iterator[_Word]:
    """Yield the words of an action."""
    for word in _WORD.finditer(inside):
        if word["other"]:
            raise TemplateError(f"{word[0][:_SHOWN]} is not supported")
        yield str(word.lastgroup), word[0]


def _acted(
    words: Sequence[_Word], blocks: list[_Block], root: Object, functions: Mapping[str, Function]
) -> str:
    """Return what an action prints; or open, change or close a block.

    What is not printed has to be understood too.
    """
    prints, other = blocks[-1]
    if words in ([("name", "else")], [("name", "end")]):
        is_else = words[0][1] == "else"
        if len(blocks) == 1 or (is_else and other is None):
            raise TemplateError(f"{words[0][1]} cannot stand here")
        blocks.pop()
        if is_else:
            blocks.append((bool(other), None))
        return ""
    opens = words[:1] == [("name", "if")]
    value = _value(words[opens:], root if prints else None, functions)
    if opens:
        blocks.append((prints and bool(value), prints and not value))
    return _printed(value) if prints and not opens else ""


# --- pipelines ----------------------------------------------------------------------------------------


def _value(words: Iterable[_Word], root: Object | None, functions: Mapping[str, Function]) -> Value:
    """Return the value of the last command: each gets that of the one before as its last argument.

    Without a root the commands are checked, and have no value.
    """
    commands: list[list[_Word]] = [[]]
    for word in words:
        if word[0] == "pipe":
            commands.append([])
        else:
            commands[-1].append(word)
    piped: tuple[Value, ...] = ()
    for number, command in enumerate(commands):
        names = [text for kind, text in command if kind == "name"]
        if unknown := [name for name in names if name not in functions and name not in _DECIDES]:
            raise TemplateError(f"{unknown[0]} is not supported here")
        operands = command[len(names) :]
        is_call = len(names) == 1 and command[0][0] == "name" and (operands or number)
        if not is_call and (number or names or len(operands) != 1 or operands[0][0] == "nil"):
            raise TemplateError("it is neither a value nor a call with values")
        if root is not None:
            values = chain((_operand(word, root) for word in operands), piped)
            piped = (_called(names[0], values, functions) if names else next(values),)
    return piped[0] if piped else None


def _operand(word: _Word, root: Object) -> Value:
    """Return the value of a word: of `.A.B` that of a field of a field of the root."""
    kind, text = word
    if kind == "number":
        return int(text)
    if kind != "field":
        return text[1:-1] if kind == "text" else None
    value: Value = root
    for name in text[1:].split("."):
        if not isinstance(value, dict) or name not in value:
            raise TemplateError(f"there is no field {name}")
        value = value[name]
    return value


def _called(name: str, values: Iterator[Value], functions: Mapping[str, Function]) -> Value:
    """Return the value of a call; of `and` and `or`, the argument that decides, or the last one."""
    if name in _DECIDES:
        value = None
        for value in values:
            if bool(value) is _DECIDES[name]:
                break
        return value
    try:
        return functions[name](*values)
    except TypeError as error:
        raise TemplateError(f"{name} does not take these arguments") from error


# --- trees --------------------------------------------------------------------------------------------


def rendered(tree: Tree, root: Object, functions: Mapping[str, Function], *, in_json: bool = False) -> Tree:
    """Return a tree with its templates rendered.

    `in_json`: each is rendered as the text that it is in JSON, as KServe does it. So a line break is no
    blank that `{{-` removes, and a literal of an expression has no double quotes.

    Raises:
        UntranslatableError: an expression is unknown, or has no value.
    """

    def of_leaf(_: LeafPath, leaf: Tree) -> Tree:
        if not isinstance(leaf, Leaf) or not isinstance(leaf.value, str) or "{{" not in leaf.value:
            return leaf
        try:
            if not in_json:
                return leaf.having(render(leaf.value, root, functions))
            source = json.dumps(leaf.value, ensure_ascii=False)
            return leaf.having(json.loads(render(source, root, functions)))
        except (TemplateError, ValueError) as error:
            where = written(leaf.origins[0].path) if leaf.origins else "spec"
            raise UntranslatableError(where, str(error), "FI966") from error

    return mapped(tree, of_leaf)
