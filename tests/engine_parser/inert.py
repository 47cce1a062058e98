"""Modules that do nothing, in place of those that are not installed: the engines' parsers import PyTorch.

Runs in the environment of an engine's sources. Of the engine only the modules that define flags are imported.
"""

import sys
from collections.abc import Iterable, Iterator, MutableSequence
from importlib import metadata
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final, NamedTuple, Optional


class Sources(NamedTuple):
    """The modules of an engine that are imported; its others do nothing."""

    name: str
    packages: frozenset[str]
    """Those of which some modules are imported."""
    modules: tuple[str, ...]
    """Modules, and packages with all that is in them."""


def _of(name: str, packages: Iterable[str], modules: Iterable[str]) -> Sources:
    full = frozenset({name, *(f"{name}.{one}" for one in packages)})
    return Sources(name, full, tuple(f"{name}.{one}" for one in modules))


ENGINES: Final = {
    "vllm": _of(
        "vllm",
        ("engine", "entrypoints", "entrypoints.cli", "entrypoints.launchers", "entrypoints.openai", "utils"),
        (
            *("config", "engine.arg_utils", "entrypoints.constants", "entrypoints.openai.cli_args"),
            *("entrypoints.cli.serve", "entrypoints.cli.types", "entrypoints.common"),
            *("entrypoints.launchers.cli_args", "entrypoints.launchers.dp_supervisor"),
            *(
                "entrypoints.openai.dp_supervisor",
                "entrypoints.openai.models",
                "envs",
                "utils.argparse_utils",
                "version",
            ),
        ),
    ),
    "sglang": _of(
        "sglang",
        ("srt", "srt.arg_groups", "srt.function_call", "srt.parser"),
        (
            *("srt.server_args", "srt.arg_groups.arg_utils", "srt.arg_groups.argparse_actions"),
            *("srt.arg_groups.choices", "srt.arg_groups.field_order", "srt.arg_groups.fields"),
            *("srt.arg_groups.parallel_hook", "srt.arg_groups.validation_hook"),
            *("srt.function_call.parser_names", "srt.parser.reasoning_parser_names"),
        ),
    ),
}


class Inert(type):
    """A class that has every attribute, and is its own result; a decorator returns what it decorates."""

    def __getattr__(cls, name: str) -> Any:
        if name == "__get_pydantic_core_schema__":
            return lambda *_: {"type": "any"}
        if name.startswith("__"):
            raise AttributeError(name)
        return inert(name)

    def __call__(cls, *given: Any, **named: Any) -> Any:
        """Return the function that is decorated, or the class."""
        return given[0] if len(given) == 1 and not named and callable(given[0]) else cls

    def __or__(cls, other: Any) -> Any:
        """Return the type that is known of two."""
        return Optional[str] if other is None else other  # noqa: UP045 - None alone is no type

    __ror__ = __or__

    def __add__(cls, other: Any) -> Any:
        """Return the list that is known of two."""
        return other

    __radd__ = __add__

    def __getitem__(cls, _: Any) -> "Inert":
        return cls

    def __iter__(cls) -> Iterator[Any]:
        return iter(())

    def __contains__(cls, _: object) -> bool:
        return False

    def __instancecheck__(cls, one: object) -> bool:
        return type(one) is Inert

    def __enter__(cls) -> "Inert":
        return cls

    def __exit__(cls, *_: object) -> None: ...


def inert(name: str) -> Inert:
    """Return a class that does nothing."""
    return Inert(name, (), {})


class _Module(ModuleType):
    """A module that has every attribute; a submodule of it is one too."""

    __path__: MutableSequence[str] = []  # noqa: RUF012 - what Python calls a package
    __version__ = "0"

    def __getattr__(self, name: str) -> Inert:
        if name.startswith("__"):
            raise AttributeError(name)
        return inert(name)


class _Maker(Loader):
    """Makes them."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None: ...


class _OfEngine(MetaPathFinder):
    """Asked first: replaces the modules of the engine that define no flags."""

    def __init__(self, own: Sources) -> None:
        self.own = own

    def find_spec(self, name: str, *_: Any) -> ModuleSpec | None:
        is_inert = name.partition(".")[0] == self.own.name and not self._is_imported(name)
        return ModuleSpec(name, _Maker(), is_package=True) if is_inert else None

    def _is_imported(self, name: str) -> bool:
        own = self.own
        return name in own.packages or any(name == one or name.startswith(f"{one}.") for one in own.modules)


class _NotInstalled(MetaPathFinder):
    """Asked last: replaces packages that nobody found; those that are installed are left alone."""

    def __init__(self, own: Sources) -> None:
        self.own = own

    def find_spec(self, name: str, *_: Any) -> ModuleSpec | None:
        top = name.partition(".")[0]
        is_own = top == self.own.name or top in sys.stdlib_module_names
        is_below = top != name and not isinstance(sys.modules.get(top), _Module)
        return None if is_own or is_below else ModuleSpec(name, _Maker(), is_package=True)


def install(engine: str) -> None:
    """Replace what is missing from now on."""
    sys.meta_path.insert(0, _OfEngine(ENGINES[engine]))
    sys.meta_path.append(_NotInstalled(ENGINES[engine]))
    metadata.version = lambda distribution_name: "0"  # noqa: ARG005 - its name
