"""Parse arguments with an engine's own parser: lists of words in, fields or messages out, as JSON.

Runs in the environment of the engine's sources: `python parse.py ENGINE < lists.json`. `--flags` prints the
flags. The first word of a list is the subcommand `serve`.
"""

import argparse
import io
import json
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, is_dataclass
from importlib import import_module
from typing import Any

LONG = {
    "tp_size": "tensor_parallel_size",
    "pp_size": "pipeline_parallel_size",
    "dp_size": "data_parallel_size",
    "ep_size": "expert_parallel_size",
}
"""The fields of SGLang that its older parsers have by other names (`ServerArgs.from_cli_args`)."""
Parse = Callable[[list[str]], Any]


def vllm() -> tuple[Any, Parse]:
    """Return the parser of `vllm serve`, and how a list is parsed, with vLLM's own checks."""
    arguments: Any = import_module("vllm.entrypoints.openai.cli_args")
    whole = import_module("vllm.utils.argparse_utils").FlexibleArgumentParser(prog="vllm")
    serve = arguments.make_arg_parser(whole.add_subparsers(dest="subparser").add_parser("serve"))

    def parse(words: list[str]) -> Any:
        found = whole.parse_args(words)
        arguments.validate_parsed_serve_args(found)
        found.model = found.model_tag or found.model
        return found

    return serve, parse


def sglang() -> tuple[Any, Parse]:
    """Return the parser of `sglang serve` and `sglang.launch_server`, and how a list is parsed.

    The first word may be the model, as `sglang/cli/serve.py` reads it.
    """
    parser = argparse.ArgumentParser(prog="sglang serve")
    import_module("sglang.srt.server_args").ServerArgs.add_cli_args(parser)

    def parse(words: list[str]) -> Any:
        given = words[1:]
        is_model = bool(given) and not given[0].startswith("-")
        found = parser.parse_args(["--model-path", *given] if is_model else given)
        for name, long in LONG.items():
            setattr(found, name, getattr(found, long, None) or getattr(found, name, None))
        return found

    return parser, parse


def main(engine: str) -> None:
    """Answer, on a standard output to which nothing else is written."""
    with redirect_stdout(sys.stderr):
        import_module("inert").install(engine)
        parser, parse = {"vllm": vllm, "sglang": sglang}[engine]()
        if "--flags" in sys.argv:
            found: Any = sorted(parser._option_string_actions)  # noqa: SLF001 - argparse has no other list
        else:
            found = [parsed(parse, words) for words in json.load(sys.stdin)]
    json.dump(found, sys.stdout, default=written)


def parsed(parse: Parse, words: list[str]) -> dict[str, Any]:
    """Return the fields that the words give, or the message of the parser as `error`."""
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            fields = vars(parse(words))
    except SystemExit:
        return {"error": said.getvalue()[-300:]}
    except (AssertionError, OSError, TypeError, ValueError) as error:
        return {"error": str(error)[-300:]}
    return dict(fields)


def written(value: Any) -> Any:
    """Return what JSON has for an object."""
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)


main(sys.argv[1])
