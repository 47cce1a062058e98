"""The templates in the texts of a tree, rendered."""

import json
from collections.abc import Mapping

from importer.account import EXPRESSION, UntranslatableError
from importer.gotemplate import Function, Struct, TemplateError, render
from importer.leaves import Tree, written


def rendered(tree: Tree, root: Struct, functions: Mapping[str, Function], *, in_json: bool = False) -> Tree:
    """Return a tree with its templates rendered.

    `in_json`: each is rendered as the text that it is in JSON, as KServe does it. So a line break is no
    blank that `{{-` removes, and a literal of an expression has no double quotes.

    Raises:
        UntranslatableError: an expression is unknown, or has no value.
    """
    if isinstance(tree, dict):
        return {key: rendered(value, root, functions, in_json=in_json) for key, value in tree.items()}
    if isinstance(tree, list):
        return [rendered(item, root, functions, in_json=in_json) for item in tree]
    if not isinstance(tree.value, str) or "{{" not in tree.value:
        return tree
    try:
        if not in_json:
            return tree.having(render(tree.value, root, functions))
        source = json.dumps(tree.value, ensure_ascii=False)
        return tree.having(json.loads(render(source, root, functions)))
    except (TemplateError, ValueError) as error:
        where = written(tree.origins[0].path) if tree.origins else "spec"
        raise UntranslatableError(where, str(error), EXPRESSION) from error
