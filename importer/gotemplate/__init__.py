"""Go's `text/template`, as far as presets of KServe and BaseConfigs of llm-d use it. Strict and bounded.

    render(source, data, functions)     the text, or a TemplateError with the place and the expression

`parse`       the grammar        `evaluate`    the evaluation
`functions`   Go's and Sprig's   `values`      structs, pointers, truth
`literals`    texts and numbers

What this does not know is an error, never another result than Go's, with which
`tests/cluster/test_gotemplate.py` compares it.
"""

from collections.abc import Mapping

from importer.gotemplate.evaluate import Evaluation
from importer.gotemplate.functions import FUNCTIONS, SPRIG, Function
from importer.gotemplate.parse import TemplateError, parse
from importer.gotemplate.values import Pointer, Struct, Value

__all__ = ["FUNCTIONS", "SPRIG", "Function", "Pointer", "Struct", "TemplateError", "Value", "render"]


def render(source: str, data: Value, functions: Mapping[str, Function] = FUNCTIONS) -> str:
    """Return what a template makes of data.

    Raises:
        TemplateError: the template is not supported, or Go would have an error too.
    """
    work = Evaluation(source, data, functions)
    work.nodes(parse(source, functions.keys()), data)
    return "".join(work.output)
