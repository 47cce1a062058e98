"""Judge argument lists with an engine's own code: questions in, fields or the engine's words out, as JSON.

Runs in an environment of the packages that parsers need, with the sources of a release in PYTHONPATH:
`python parse.py ENGINE < questions.json`. `--flags` prints the flags. A question is a list of words and what
is known of its pod. The first word is `serve`, or `module` for `python -m`. With an empty pod the list is
parsed; else it is started as well, up to the first process. Of functions that need a model or PyTorch, the
statements about nodes and ranks run.
"""

import argparse
import ast
import inspect
import io
import json
import os
import sys
import textwrap
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import asdict, is_dataclass
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

LONG = {
    "tp_size": "tensor_parallel_size",
    "pp_size": "pipeline_parallel_size",
    "dp_size": "data_parallel_size",
    "ep_size": "expert_parallel_size",
}
"""The fields of SGLang that its older parsers have by other names (`ServerArgs.from_cli_args`)."""
Parse = Callable[[list[str]], Any]
Start = Callable[[Any, dict[str, Any]], list[int]]
"""Starts what was parsed, in a pod; returns the data-parallel ranks that it starts."""
STARTERS = ("launch_core_engines", "CoreEngineProcManager", "MultiprocExecutor")
"""What starts the processes of vLLM."""
ABOUT = ("data_parallel", "nnodes", "_check_feature", "resolving_view(")


EVEN = "assert self.world_size % self.parallel_config.nnodes_within_dp == 0"


class Begun(BaseException):
    """The engine starts its processes: nothing was refused."""


class Absent(SimpleNamespace):
    """An object of which the fields that are not set are None."""

    def __getattr__(self, _: str) -> None:
        return None


class Platform(SimpleNamespace):
    """A node with CUDA."""

    device_type = "cuda"
    device_control_env_var = "CUDA_VISIBLE_DEVICES"

    def __getattr__(self, name: str) -> Any:
        return lambda *_: name in {"is_cuda", "is_cuda_alike", "use_custom_allreduce"}


def begin(*_: Any, **__: Any) -> NoReturn:
    raise Begun


def about_ranks(function: Any) -> Any:
    """Return a function of the engine with the statements about nodes and ranks alone.

    It ends with the first one that assigns `parallel_config`, and returns that.
    """
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(tree, ast.FunctionDef)
    texts = [ast.unparse(one) for one in tree.body]
    last = next((nth for nth, text in enumerate(texts) if text.startswith("parallel_config = ")), len(texts))
    ends = ast.parse("return parallel_config" if last < len(texts) else "pass").body
    kept = zip(tree.body[: last + 1], texts, strict=False)
    tree.body = [*(one for one, text in kept if any(word in text for word in ABOUT)), *ends]
    exec(compile(ast.Module([tree], []), function.__code__.co_filename, "exec"), function.__globals__)  # noqa: S102
    return function.__globals__[function.__name__]


def vllm() -> tuple[Any, Parse, Start]:
    """Return the parser of `vllm serve`, how a list is parsed, with vLLM's own checks, and how it starts."""
    platform, ray, platforms = Platform(), import_module("ray"), import_module("vllm.platforms")
    vars(ray).update(is_initialized=lambda: False)
    vars(platforms).update(current_platform=platform)
    serve: Any = import_module("vllm.entrypoints.cli.serve")
    arguments: Any = import_module("vllm.engine.arg_utils")
    command = serve.ServeSubcommand()
    whole = serve.FlexibleArgumentParser(prog="vllm")
    parser = command.subparser_init(whole.add_subparsers(dest="subparser", required=False))
    module = serve.make_arg_parser(serve.FlexibleArgumentParser(prog="api_server"))
    configured = about_ranks(arguments.EngineArgs.create_engine_config)
    vars(arguments).update(placement_group=None, ray_runtime_env=None)
    supervisor = getattr(serve, "run_dp_supervisor", None)
    ranks: list[int] = []

    def parse(words: list[str]) -> Any:
        is_module = words[0] == "module"
        found = module.parse_args(words[1:]) if is_module else whole.parse_args(["serve", *words[1:]])
        command.validate(found)
        found.model = getattr(found, "model_tag", None) or found.model
        return found

    def create(self: Any, *given: Any, **named: Any) -> Any:
        parallel, model = configured(self, *given, **named), arguments.model_config
        local = getattr(parallel, "data_parallel_size_local", None) or 1
        first = parallel.data_parallel_rank or platform.first or 0
        ranks.extend(range(first, first + local) if parallel.data_parallel_size > 1 else ())
        check_processes(parallel, local, platform.device_count(), is_dense=not model.is_moe)
        return Absent(parallel_config=parallel, model_config=model)

    def run_server(found: Any, *_: Any, **__: Any) -> NoReturn:
        arguments.AsyncEngineArgs.from_cli_args(found).create_engine_config()
        raise Begun

    def supervise(found: Any) -> NoReturn:
        own: Any = sys.modules[supervisor.__module__]
        own.validate_multi_port_external_lb_args(found)
        for nth in range(found.data_parallel_size_local):
            child = own._build_vllm_dp_server_args(found, nth)  # noqa: SLF001 - what the supervisor starts
            with suppress(Begun):
                run_server(child)
            assert ranks[-1] == child.data_parallel_rank, "each child gets the rank of its node"
        raise Begun

    def start(found: Any, pod: dict[str, Any]) -> list[int]:
        arguments.model_config = Absent(is_moe=pod["experts"])
        platform.device_count = count = lambda: pod["devices"]
        platform.first = getattr(found, "data_parallel_start_rank", None)
        for known in [vars(one) for name, one in sys.modules.items() if name.startswith("vllm.")]:
            if "cuda_device_count_stateless" in known:
                known["cuda_device_count_stateless"] = count
        for name in ("vllm.executor.ray_utils", "vllm.v1.executor.ray_utils"):
            vars(import_module(name)).update(
                ray_import_err=None, ray_is_available=lambda: pod["ray"], assert_ray_available=needs_ray(pod)
            )
        ranks.clear()
        with suppress(Begun):
            (run_server if pod["module"] else command.cmd)(found)
        return list(ranks)

    arguments.EngineArgs.create_engine_config = create
    vars(serve).update(dict.fromkeys(STARTERS, begin), run_server=run_server, run_dp_supervisor=supervise)
    vars(serve).update(setup_server=lambda *_, **__: (None, None))
    return parser, parse, start


def needs_ray(pod: dict[str, Any]) -> Callable[[], None]:
    def check() -> None:
        if not pod["ray"]:
            raise ValueError("Failed to import Ray")

    return check


def check_processes(parallel: Any, local: int, devices: int, *, is_dense: bool) -> None:
    """Check what vLLM's processes do of a configuration; their texts decide, since they need PyTorch."""
    if "ray" in {parallel.distributed_executor_backend, getattr(parallel, "data_parallel_backend", "mp")}:
        return
    nodes = getattr(parallel, "nnodes", 1)
    within = parallel.nnodes_within_dp if nodes > 1 else 1
    assert parallel.world_size // within * local <= devices, "CUDA error: invalid device ordinal"
    folder = Path(sys.modules["vllm"].__path__[0], "v1")
    if within > 1:
        text = (folder / "executor/multiproc_executor.py").read_text()
        assert EVEN in text, "the rule about nodes of a rank has other words"
        assert parallel.world_size % within == 0, "world_size must be divisible by nnodes_within_dp"
        device, queues = map(text.find, ("self.worker.init_device()", "self._init_message_queues("))
        assert 0 < device < queues, "inner dp world group is not initialized"
    alone = "parallel_config.data_parallel_size = 1\n"
    if nodes > 1 and is_dense and alone in (folder / "engine/core.py").read_text():
        parallel.data_parallel_size = 1
        assert parallel.nnodes_within_dp == within, "ranks of a dense model are engines of their own"


def sglang() -> tuple[Any, Parse, Start]:
    """Return the parser of `sglang serve` and `sglang.launch_server`, how a list is parsed, and checked.

    The first word may be the model, as `sglang/cli/serve.py` reads it.
    """
    parser = argparse.ArgumentParser(prog="sglang serve")
    module: Any = import_module("sglang.srt.server_args")
    module.ServerArgs.add_cli_args(parser)
    try:
        checks = [
            getattr(import_module(f"sglang.srt.arg_groups.{name}"), function)
            for name, function in (
                ("parallel_hook", "handle_deprecated_dp_attention"),
                ("validation_hook", "check_server_args"),
            )
        ]
    except ModuleNotFoundError:
        checks = [about_ranks(module.ServerArgs.check_server_args)]
    else:
        for one in checks:
            one.__globals__.update(resolving_view=lambda found: found, declare_resolution=declare)
        checks[-1] = about_ranks(checks[-1])

    def parse(words: list[str]) -> Any:
        given = words[1:]
        is_model = bool(given) and not given[0].startswith("-")
        found = parser.parse_args(["--model-path", *given] if is_model else given)
        for name, long in LONG.items():
            setattr(found, name, getattr(found, long, None) or getattr(found, name, None))
        return found

    def start(found: Any, pod: dict[str, Any]) -> list[int]:
        for one in checks:
            one(found)
        local = found.tp_size * (found.pp_size or 1) // found.nnodes
        assert local <= pod["devices"], "CUDA error: invalid device ordinal"
        return []

    return parser, parse, start


def declare(found: Any, _: str, **fields: Any) -> None:
    vars(found).update(fields)


def main(engine: str) -> None:
    """Answer, on a standard output to which nothing else is written."""
    with redirect_stdout(sys.stderr):
        import_module("inert").install(engine)
        parser, parse, start = {"vllm": vllm, "sglang": sglang}[engine]()
        for one in parser._actions:  # noqa: SLF001 - argparse has no other list
            one.choices = one.choices if one.choices is None or list(one.choices) else None
        if "--flags" in sys.argv:
            found: Any = sorted(parser._option_string_actions)  # noqa: SLF001
        else:
            found = [answered(parse, start, *one) for one in json.load(sys.stdin)]
    json.dump(found, sys.stdout, default=written)


def answered(parse: Parse, start: Start, words: list[str], pod: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that the words give, or the ranks that start; the engine's message as `error`."""
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            found = parse(words)
            fields = dict(vars(found))
            return {"ranks": start(found, pod), "data": fields.get("data_parallel_size")} if pod else fields
    except SystemExit:
        return {"error": said.getvalue()[-300:]}
    except Exception as error:
        if os.environ.get("TRACE"):
            raise
        return {"error": f"{type(error).__name__}: {error}"[:300]}


def written(value: Any) -> Any:
    """Return what JSON has for an object."""
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)


main(sys.argv[1])
