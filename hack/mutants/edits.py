"""Mutate a module: which bytes may be replaced by what."""

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, Final, NamedTuple

PAIRS: Final = (
    (ast.Eq, ast.NotEq),
    (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn),
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.And, ast.Or),
)
OPPOSITES: Final[dict[type[ast.AST], type[Any]]] = dict((*PAIRS, *(pair[::-1] for pair in PAIRS)))
DROPPED: Final = (ast.Expr, ast.AugAssign, ast.Raise, ast.Delete, ast.Continue, ast.Break)
FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
KEPT: Final = (ast.JoinedStr, ast.Import, ast.ImportFrom)


class Edit(NamedTuple):
    """Bytes of a module to replace."""

    begin: int
    end: int
    text: str
    line: int
    statement: int
    """The first line of its statement."""
    late: bool
    """Whether it runs when a function is called, not at import."""

    def apply(self, source: bytes) -> bytes:
        """Return the module with these bytes replaced."""
        return source[: self.begin] + self.text.encode() + source[self.end :]

    def is_mutant(self, source: bytes) -> bool:
        """Return whether the module is another one then, and Python."""
        try:
            return ast.dump(ast.parse(self.apply(source))) != ast.dump(ast.parse(source))
        except SyntaxError:
            return False


def identified(path: str, source: bytes) -> dict[str, Edit]:
    """Return the edits of a module by an id, which stays the same when other lines change."""
    lines = [line.strip() for line in source.split(b"\n")]
    equal = [lines[:at].count(line) for at, line in enumerate(lines)]
    count: Counter[int] = Counter()
    found: dict[str, Edit] = {}
    for edit in edits(source):
        count[edit.line] += 1
        at = edit.line - 1
        known = repr((path, lines[at], equal[at], count[edit.line], edit.text.strip()))
        found[hashlib.sha256(known.encode()).hexdigest()[:12]] = edit
    return found


def edits(source: bytes) -> Iterator[Edit]:
    """Yield the edits of a module. None moves another line."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def begin(node: Any) -> int:
        return starts[int(node.lineno) - 1] + int(node.col_offset)

    def end(node: Any) -> int:
        return starts[int(node.end_lineno) - 1] + int(node.end_col_offset)

    def changes(node: ast.AST) -> Iterator[tuple[int, int, str, str]]:
        for old, new in replaced(node):
            yield begin(old), end(old), *(("(" + new, ")") if isinstance(old, ast.expr) else (new, ""))
        for element, following in elements(node):
            is_closed = source[begin(node) : begin(node) + 1] in {b"(", b"[", b"{"}
            yield begin(element), begin(following) if following else end(node) - is_closed, "", ""

    def walk(node: ast.AST, statement: int, *, late: bool) -> Iterator[Edit]:
        statement = node.lineno if isinstance(node, ast.stmt) else statement
        for start, stop, opened, closed in changes(node):
            text = opened + "\n" * source.count(b"\n", start, stop) + closed
            yield Edit(start, stop, text, source.count(b"\n", 0, start) + 1, statement, late)
        for field, child in children(node):
            yield from walk(child, statement, late=late or (field == "body" and isinstance(node, FUNCTIONS)))

    return walk(ast.parse(source), 1, late=False)


def children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the nodes in a node that may change: no types, documentation, imports or f-strings."""
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            match field, child:
                case (("annotation" | "returns"), _):
                    pass
                case _, ast.Expr(value=ast.Constant()) | ast.If(test=ast.Name(id="TYPE_CHECKING")):
                    pass
                case "decorator_list", ast.Call(func=ast.Name(id="dataclass")):
                    pass
                case _, ast.AST() if not isinstance(child, KEPT):
                    yield field, child


def replaced(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:  # noqa: C901 # a table
    """Yield what may be replaced in a node, and by what."""
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in OPPOSITES:
            yield node, ast.unparse(ast.Compare(node.left, [OPPOSITES[type(operator)]()], node.comparators))
        case ast.BoolOp():
            yield node, ast.unparse(ast.BoolOp(OPPOSITES[type(node.op)](), node.values))
        case ast.UnaryOp(op=ast.Not()):
            yield node, ast.unparse(node.operand)
        case ast.IfExp():
            yield node, ast.unparse(ast.IfExp(node.test, node.orelse, node.body))
        case ast.If() | ast.While():
            yield node.test, f"not ({ast.unparse(node.test)})"
        case ast.Constant(value=bool(value)):
            yield node, str(not value)
        case ast.Constant(value=int(value)):
            yield from ((node, str(value + 1)), (node, str(value - 1)))
        case ast.Constant(value=str(value)):
            yield node, repr("" if value else "x")
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield value, "None"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield node, "pass"
        case ast.stmt() if isinstance(node, DROPPED):
            yield node, "pass"


def elements(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST | None]]:
    """Yield the elements of a collection that may be removed, each with the following one."""
    match node:
        case ast.Dict(keys=keys) if None not in keys:
            yield from zip_longest(keys, keys[1:])
        case ast.List(elts=found, ctx=ast.Load()) | ast.Set(elts=found):
            yield from zip_longest(found, found[1:])
        case ast.Tuple(elts=[_, _, *_] as found, ctx=ast.Load()):
            yield from zip_longest(found, found[1:])
