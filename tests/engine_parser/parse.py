"""Parse arguments of `vllm serve` with vLLM's own parser: lists of words in, fields or messages out, as JSON.

Runs in the environment of vLLM's sources: `python parse.py < lists.json`. `--flags` prints the flags.
"""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, is_dataclass
from importlib import import_module
from typing import Any

import_module("inert").install()
ARGUMENTS: Any = import_module("vllm.entrypoints.openai.cli_args")
PARSER: Any = import_module("vllm.utils.argparse_utils").FlexibleArgumentParser


def main() -> None:
    """Answer, on a standard output to which nothing else is written."""
    with redirect_stdout(sys.stderr):
        whole = PARSER(prog="vllm")
        serve = ARGUMENTS.make_arg_parser(whole.add_subparsers(dest="subparser").add_parser("serve"))
        if "--flags" in sys.argv:
            found: Any = sorted(serve._option_string_actions)  # noqa: SLF001 - argparse has no other list
        else:
            found = [parsed(whole, words) for words in json.load(sys.stdin)]
    json.dump(found, sys.stdout, default=written)


def parsed(parser: Any, words: list[str]) -> dict[str, Any]:
    """Return the fields that the words give, or the message of the parser as `error`."""
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            found = parser.parse_args(words)
            ARGUMENTS.validate_parsed_serve_args(found)
    except SystemExit:
        return {"error": said.getvalue()[-300:]}
    except (OSError, TypeError, ValueError) as error:
        return {"error": str(error)[-300:]}
    fields: dict[str, Any] = vars(found)
    return fields | {"model": fields.get("model_tag") or fields["model"]}


def written(value: Any) -> Any:
    """Return what JSON has for an object."""
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)


main()
