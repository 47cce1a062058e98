"""Which launcher a LeaderWorkerSet gets, and whether it is written."""

from functools import lru_cache
from typing import Final

from intent.command_line.flags import BACKEND, DATA_BACKEND, Flag
from intent.launch import (
    AUTO,
    NONE,
    RAY_SYMMETRIC,
    Launch,
    Plan,
    countable,
    read_launches,
    read_sizes,
    text_of,
    value_of,
)
from intent.lws import Intent
from intent.settings import Settings
from webhook.launchers import LAUNCHERS, OWN
from webhook.launchers.launcher import Launcher
from webhook.launchers.vllm_native import is_data_only

_NATIVE: Final = "vllm-native"
_RAY_START: Final = "ray-start"


@lru_cache(maxsize=2)
def read_plan(intent: Intent, settings: Settings) -> Plan:
    """Read every template, choose the launcher, and decide whether the launch is written for them."""
    if NONE in (intent.launcher, "" if intent.launcher else settings.launcher):
        return Plan(NONE)
    launches = tuple(read_launches(intent, settings))
    name, guessed = _chosen(intent, settings, launches)
    launcher = LAUNCHERS.get(name)
    complete = bool(launches) and len(launches) == len(intent.templates)
    rewritten = (
        intent.size > 1
        and complete
        and launcher is not None
        and all(may_be_launched(one, launcher, asked=intent.launcher == name) for one in launches)
    )
    return Plan(name, launches, rewritten, guessed)


def may_be_launched(launch: Launch, launcher: Launcher, *, asked: bool) -> bool:
    """Whether one node of an engine is started in a way that the launcher can take over."""
    return (
        serves(launch, launcher, asked=asked)
        and launcher.takes(launch)
        and not other_backend(launch, launcher)
    )


def serves(launch: Launch, launcher: Launcher, *, asked: bool) -> bool:
    """Whether the launcher starts this engine: some only if their authors ask for it by name."""
    engine = launch.command.engine
    return engine in launcher.engines or (asked and engine in launcher.on_request)


def other_backend(launch: Launch, launcher: Launcher) -> Flag | None:
    """Give the flag that asks for an executor that the launcher cannot work with."""
    flag = launch.command.flags.last(BACKEND) if launcher.executors else None
    value = value_of(launch, flag) if flag else None
    return flag if value and value not in launcher.executors else None


def _chosen(intent: Intent, settings: Settings, launches: tuple[Launch, ...]) -> tuple[str, bool]:
    """Choose by annotation, else by engine; and say whether that was a guess."""
    wanted = intent.launcher or settings.launcher
    if (intent.launcher and wanted != AUTO) or not launches:
        return (RAY_SYMMETRIC if wanted == AUTO else wanted), False
    engine = launches[0].command.engine
    if engine in OWN and engine != "vllm":
        return OWN[engine], False
    default = RAY_SYMMETRIC if settings.launcher in (AUTO, NONE) else settings.launcher
    return _by_image(launches[0], default) if wanted == AUTO else (_by_executor(launches[0], wanted), False)


def _by_image(launch: Launch, default: str) -> tuple[str, bool]:
    """Choose for `auto`: by the executor that is asked for, then by the version."""
    facts, version = launch.facts, launch.image.version
    if "ray" in (text_of(launch, BACKEND), text_of(launch, DATA_BACKEND)):
        return (RAY_SYMMETRIC if facts.symmetric_run else _RAY_START), False
    if text_of(launch, BACKEND) or (version and facts.nnodes) or _fits_data_only(launch):
        return _NATIVE, False
    if facts.symmetric_run:
        return RAY_SYMMETRIC, False
    return (_RAY_START, False) if version else (default, launch.command.is_vllm)


def _fits_data_only(launch: Launch) -> bool:
    """Whether each data-parallel rank fits a pod, so that the older flags are enough."""
    sizes, pod = read_sizes(launch), countable(launch.engine)
    return bool(sizes and pod and sizes.accelerators // sizes.data <= pod and is_data_only(launch))


def _by_executor(launch: Launch, wanted: str) -> str:
    """Take the default, or vLLM's own where an executor is named that the default cannot use."""
    row = LAUNCHERS.get(wanted)
    is_refused = row is not None and other_backend(launch, row) is not None
    can_native = bool(launch.image.version) and launch.facts.nnodes
    return _NATIVE if is_refused and can_native else wanted
