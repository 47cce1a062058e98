"""Modules that do nothing, in place of those that are not installed: vLLM's parser imports PyTorch.

Runs in the environment of vLLM's sources. Of vLLM itself only the modules that define flags are imported.
"""

import sys
from collections.abc import Iterator, MutableSequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final, Optional

VLLM: Final = "vllm"
PACKAGES: Final = frozenset(
    {VLLM, *(f"{VLLM}.{name}" for name in ("engine", "entrypoints", "entrypoints.openai", "utils"))}
)
"""Packages of which some modules are imported."""
MODULES: Final = tuple(
    f"{VLLM}.{name}"
    for name in (
        "config",
        "engine.arg_utils",
        "entrypoints.constants",
        "entrypoints.openai.cli_args",
        "entrypoints.openai.models",
        "envs",
        "utils.argparse_utils",
        "version",
    )
)
"""Modules, and packages with all that is in them."""


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

    def __getitem__(cls, _: Any) -> "Inert":
        return cls

    def __iter__(cls) -> Iterator[Any]:
        return iter(())

    def __contains__(cls, _: object) -> bool:
        return False

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


def _is_imported(name: str) -> bool:
    return name in PACKAGES or any(name == one or name.startswith(f"{one}.") for one in MODULES)


class _OfVllm(MetaPathFinder):
    """Asked first: replaces the modules of vLLM that define no flags."""

    def find_spec(self, name: str, *_: Any) -> ModuleSpec | None:
        is_inert = name.partition(".")[0] == VLLM and not _is_imported(name)
        return ModuleSpec(name, _Maker(), is_package=True) if is_inert else None


class _NotInstalled(MetaPathFinder):
    """Asked last: replaces packages that nobody found; those that are installed are left alone."""

    def find_spec(self, name: str, *_: Any) -> ModuleSpec | None:
        top = name.partition(".")[0]
        is_own = top == VLLM or top in sys.stdlib_module_names
        is_below = top != name and not isinstance(sys.modules.get(top), _Module)
        return None if is_own or is_below else ModuleSpec(name, _Maker(), is_package=True)


def install() -> None:
    """Replace what is missing from now on."""
    sys.meta_path.insert(0, _OfVllm())
    sys.meta_path.append(_NotInstalled())
