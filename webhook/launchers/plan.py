"""Choose the launcher of a LeaderWorkerSet, and decide whether the launch is written.

Without a launcher in the annotation (`auto`):

    candidates  launchers of the engine that support the flags and the executor of every template
    order       that of the table of launchers; with data-parallel ranks, those that spread ranks come first
    choice      the operator's default, unless the image is known not to run it; else the first that the image
                is known to run; else the first for which that is unknown, with a warning

A launcher that the image is known not to run is used only if the annotation names it.
"""

from collections.abc import Callable

from catalog.engines import described
from intent.annotations import LAUNCHER
from intent.command_line.flags import BACKEND, DATA, SIZES, Flag
from intent.launch import (
    AUTO,
    NONE,
    RAY_SYMMETRIC,
    VLLM_NATIVE,
    Choice,
    Launch,
    LaunchPlan,
    read_launches,
    read_size,
    text_of,
    value_of,
)
from intent.lws import Intent
from intent.ranks import balance
from intent.settings import Settings
from webhook.launchers import LAUNCHERS
from webhook.launchers.launcher import Launcher
from webhook.launchers.vllm_native import is_older


def read_plan(intent: Intent, settings: Settings) -> LaunchPlan:
    """Read every template, choose the launcher, and decide whether the launch is written for them."""
    if NONE in (intent.launcher, "" if intent.launcher else settings.launcher):
        return LaunchPlan(Choice(NONE))
    launches = tuple(read_launches(intent, settings))
    choice = choose(launches, intent.launcher, settings.launcher)
    launcher = LAUNCHERS.get(choice.launcher)
    complete = bool(launches) and len(launches) == len(intent.templates)
    rewritten = (
        intent.size > 1
        and complete
        and choice.starts
        and launcher is not None
        and all(may_be_launched(one, launcher, asked=intent.launcher == choice.launcher) for one in launches)
    )
    older = rewritten and is_older(launches[0], launches[-1], intent.size)
    return LaunchPlan(choice, launches, rewritten, older and choice.launcher == VLLM_NATIVE)


def may_be_launched(launch: Launch, launcher: Launcher, *, asked: bool) -> bool:
    """Return whether the launcher can rewrite the command that starts one node of this engine."""
    return (
        serves(launch, launcher, asked=asked)
        and launcher.takes(launch)
        and not other_backend(launch, launcher)
    )


def serves(launch: Launch, launcher: Launcher, *, asked: bool) -> bool:
    """Return whether the launcher starts this engine; some only if the annotation names it (`asked`)."""
    engine = launch.command.engine
    return engine in launcher.engines or (asked and engine in launcher.on_request)


def other_backend(launch: Launch, launcher: Launcher) -> Flag | None:
    """Return the flag that selects an executor which the launcher does not support, if there is one."""
    flag = launch.command.flags.last(BACKEND) if launcher.executors else None
    value = value_of(launch, flag) if flag else None
    return flag if value and value not in launcher.executors else None


def runs(launch: Launch, launcher: Launcher) -> bool | None:
    """Return whether the image is known to run the launcher's command; None if that is unknown.

    An image of another engine cannot: it lacks this engine's program.
    """
    if launch.image.engine not in ("", launch.command.engine):
        return False
    return launcher.runs(launch)


def is_same_kind(now: Intent, earlier: Callable[[], Intent | None], settings: Settings) -> bool:
    """Return whether an edit leaves the kind of launch, and nothing is known of the images.

    A release that chooses another launcher for them, or other flags, then changes nothing that is stored.
    """
    launches = tuple(read_launches(now, settings))
    if not launches or any(one.image.version or not one.command.engine for one in launches):
        return False
    then = earlier()
    return then is not None and _kind(now, launches) == _kind(then, tuple(read_launches(then, settings)))


def _kind(intent: Intent, launches: tuple[Launch, ...]) -> tuple[object, ...]:
    return (
        *(intent.size, intent.launcher, intent.refresh),
        *((one.image.version, one.command.engine, balance(one)) for one in launches),
        *(read_size(one, name) != 1 for one in launches for name in SIZES),
    )


# --- the choice -------------------------------------------------------------------------------------


def choose(launches: tuple[Launch, ...], requested: str, default: str) -> Choice:
    """Choose one launcher for all templates.

    `requested` is the annotation, empty if there is none; `default` is the operator's (`Settings.launcher`).
    """
    if requested not in ("", AUTO):
        return Choice(requested, f"{LAUNCHER} names it")
    order = _order(launches)
    is_default = not requested and default in order and _fits(launches, default)
    if is_default and _runs(launches, default) is not False:
        return Choice(default, "it is the default of the settings")
    verdicts = _verdicts(launches, order)
    if not verdicts:
        able = (name for name in order if _runs(launches[:1], name) is not False)
        other = default if default in LAUNCHERS else RAY_SYMMETRIC
        return Choice(next(able, order[0] if order else other), starts=False)
    fits = [*verdicts]
    known = fits[-1] if verdicts[fits[-1]] else ""
    unknown = (name for name in (default, *fits) if verdicts.get(name, False) is None)
    name = known or next(unknown, "")
    if not name:
        at = _decides(launches, fits[0])
        newer = "" if launches[at].facts.nnodes_span else ", vLLM 0.18 or later can"
        message = (
            f"{launches[at].image} cannot run {', '.join(fits)}{newer}; name one in {LAUNCHER} to force it"
        )
        return Choice(fits[0], f"left as it is: {message}", "FI532", starts=False, at=at)
    return _explained(launches, name, passed=fits[: fits.index(name)], is_asked=requested == AUTO)


def _fits(launches: tuple[Launch, ...], name: str) -> bool:
    """Return whether a launcher can rewrite the commands of all templates."""
    return all(may_be_launched(one, LAUNCHERS[name], asked=False) for one in launches)


def _verdicts(launches: tuple[Launch, ...], order: list[str]) -> dict[str, bool | None]:
    """Return the launchers that fit, with what is known of the images, up to the first that they run."""
    found: dict[str, bool | None] = {}
    for name in order:
        if _fits(launches, name):
            found[name] = _runs(launches, name)
            if found[name]:
                break
    return found


def _order(launches: tuple[Launch, ...]) -> list[str]:
    """Return the engine's launchers in order of preference.

    With data parallelism Ray comes last: it places all ranks on the leader's pod. Source: vLLM
    `vllm/v1/engine/utils.py`, `CoreEngineProcManager`; `--data-parallel-backend ray` is the exception.
    """
    if not launches:
        return []
    engine, has_ranks = launches[0].command.engine, text_of(launches[0], DATA) not in ("", "1")
    able = [name for name, row in LAUNCHERS.items() if engine in row.engines]
    return sorted(able, key=lambda name: has_ranks and not LAUNCHERS[name].spreads)


def _runs(launches: tuple[Launch, ...], name: str) -> bool | None:
    """Return whether the images of all templates run a launcher; None if that is unknown for one of them."""
    verdicts = [runs(one, LAUNCHERS[name]) for one in launches]
    return False if False in verdicts else None if None in verdicts else True


def _explained(launches: tuple[Launch, ...], name: str, *, passed: list[str], is_asked: bool) -> Choice:
    """Return the choice with its reason: an assumption, or what the image lacks for preferred launchers."""
    row = LAUNCHERS[name]
    if _runs(launches, name) is None:
        why = f"not known to have {row.needs}, which is assumed; to confirm, set {LAUNCHER}: {name}"
        return Choice(name, why, "FI527", at=_decides(launches, name))
    if passed:
        at = _decides(launches, passed[0])
        why = f"{lacks(launches[at], passed[0])}; {name} is used"
        return Choice(name, why, "" if is_asked else "FI531", at=at)
    return Choice(name, f"{launches[0].image} runs it")


def _decides(launches: tuple[Launch, ...], name: str) -> int:
    """Return the index of the template whose image rules a launcher out, or leaves it uncertain."""
    verdicts = [runs(one, LAUNCHERS[name]) for one in launches]
    return verdicts.index(False if False in verdicts else None)


def lacks(launch: Launch, name: str) -> str:
    """Return a message that compares what the launcher needs with what the image has."""
    row = LAUNCHERS[name]
    has = f" has {described(launch.facts.ray)}" if row.uses_ray else ""
    is_late = name == VLLM_NATIVE and launch.facts.nnodes and not launch.facts.nnodes_span
    return f"{launch.image}{has}: {name} needs {'vLLM 0.18 or later' if is_late else row.needs}"
