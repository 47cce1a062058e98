"""Choose the launcher of a LeaderWorkerSet, and decide whether the launch is written.

Without a launcher in the annotation (`auto`):

    candidates  launchers of the engine that support the flags and the executor of every template
    order       that of the table of launchers
    choice      the operator's default, unless the image is known not to run it; else the first that the image
                is known to run; else the first without Ray for which that is unknown, with a warning

Ray is never guessed: the image is known to have it, or the author's flags ask for it. A launcher that the
image is known not to run is used only if the annotation names it. A stored launcher that was assumed stays as
long as an edit leaves the kind of launch (`stays`).
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from catalog.engines import described
from intent.accelerators import TPU
from intent.annotations import AUTO, LAUNCHER, NONE
from intent.command_line.flags import BACKEND, MULTI_PORT, SIZES, Flag
from intent.launch import Launch, LaunchPlan, read_launches, read_size, text_of
from intent.lws import Intent
from intent.ranks import balance
from intent.settings import Settings
from webhook.launchers import LAUNCHERS
from webhook.launchers.launcher import Launcher
from webhook.launchers.ray import asks_for_ray
from webhook.launchers.vllm_native import VLLM_NATIVE, has_ranks, is_older

ASSUMED: Final = "FI527"
"""The code of a choice that rests on an assumption about the image."""
_OLDER: Final = "the flags of data parallelism alone run on every vLLM from 0.9 on"


def read_plan(intent: Intent, settings: Settings) -> LaunchPlan:
    """Read every template, choose the launcher, and decide whether the launch is written for them."""
    launches = tuple(read_launches(intent, settings))
    if NONE in (intent.launcher, "" if intent.launcher else settings.launcher):
        return LaunchPlan(NONE, launches)
    plan = choose(launches, intent.launcher, settings.launcher)
    launcher = LAUNCHERS.get(plan.launcher)
    complete = bool(launches) and len(launches) == len(intent.templates)
    rewritten = (
        intent.size > 1
        and complete
        and plan.starts
        and launcher is not None
        and (plan.launcher != intent.launcher or _fits(launches, plan.launcher, asked=True))
    )
    is_spread = rewritten and plan.launcher == VLLM_NATIVE and has_ranks(launches[0])
    older = is_older(launches[0], launches[-1]) if is_spread else None
    answers = bool(launcher and launcher.answers)
    paths = rewritten and (answers or launches[0].command.flags.last(MULTI_PORT) is not None)
    is_assumed = bool(older) and plan.code == ASSUMED
    why, code = (f"not known, and {_OLDER}", "") if is_assumed else (plan.why, plan.code)
    return replace(plan, why=why, code=code, rewritten=rewritten, older=older, paths=paths)


def serves(launch: Launch, launcher: Launcher, *, asked: bool) -> bool:
    """Return whether the launcher starts this engine; some only if the annotation names it (`asked`)."""
    engine = launch.command.engine
    return engine in launcher.engines or (asked and engine in launcher.on_request)


def other_backend(launch: Launch, launcher: Launcher) -> Flag | None:
    """Return the flag that selects an executor which the launcher does not support, if there is one."""
    flag = launch.command.flags.last(BACKEND) if launcher.executors else None
    return flag if flag and text_of(launch, BACKEND) not in ("", *launcher.executors) else None


def runs(launches: Iterable[Launch], launcher: Launcher) -> bool | None:
    """Return whether all images are known to run the launcher's command; None if one may.

    An image of another engine cannot: it lacks this engine's program.
    """
    verdicts = [
        launch.image.engine in ("", launch.command.engine) and launcher.runs(launch) for launch in launches
    ]
    return False if False in verdicts else None if None in verdicts else True


def stays(launcher: str, now: LaunchPlan, then: LaunchPlan) -> bool:
    """Return whether a recorded launcher, and the form of its flags, outlive an edit that leaves the size.

    They do while it is unknown whether the images run it and the kind of launch is the same, if the launcher
    takes the commands: a release that chooses otherwise for such images changes nothing that is stored.
    """
    launches = now.launches
    is_able = now.launcher != NONE and launcher in LAUNCHERS and bool(launches) and _fits(launches, launcher)
    return is_able and runs(launches, LAUNCHERS[launcher]) is None and _kind(now) == _kind(then)


def _kind(plan: LaunchPlan) -> tuple[object, ...]:
    """Return the engines, the load balancing and the sizes that are not 1."""
    launches = plan.launches
    return (
        *((launch.image.version, launch.command.engine, balance(launch)) for launch in launches),
        *(read_size(launch, name) != 1 for launch in launches for name in SIZES),
    )


# --- the choice -------------------------------------------------------------------------------------


def choose(launches: tuple[Launch, ...], requested: str, default: str) -> LaunchPlan:
    """Choose one launcher for all templates, which is not written yet.

    `requested` is the annotation, empty if there is none; `default` is the operator's (`Settings.launcher`).
    """
    if requested not in ("", AUTO):
        return LaunchPlan(requested, launches, f"{LAUNCHER} names it")
    order, verdicts = _order(launches), verdicts_of(launches)
    if not requested and verdicts.get(default, False) is not False:
        return LaunchPlan(default, launches, "it is the default of the settings")
    if not verdicts:
        able = (name for name in order if runs(launches[:1], LAUNCHERS[name]) is not False)
        name = next(able, order[0] if order else next(iter(LAUNCHERS)))
        return LaunchPlan(name, launches, starts=False)
    fits = [*verdicts]
    unknown = [name for name in fits if verdicts[name] is None]
    may_be = (name for name in unknown if not LAUNCHERS[name].uses_ray)
    name = next((name for name in fits if verdicts[name]), "") or next(may_be, "")
    if not name:
        able_to_run = [name for name in order if runs(launches, LAUNCHERS[name])]
        return _left(launches, unknown[-1] if unknown else fits[0], able_to_run)
    return _explained(launches, name, fits[: fits.index(name)], is_known=bool(verdicts[name]))


def verdicts_of(launches: tuple[Launch, ...]) -> dict[str, bool | None]:
    """Return the launchers that take the commands, by preference, and whether the images run each."""
    return {name: runs(launches, LAUNCHERS[name]) for name in _order(launches) if _fits(launches, name)}


def _left(launches: tuple[Launch, ...], name: str, able: list[str]) -> LaunchPlan:
    """Return that nothing is written, since no launcher that takes the flags starts; `able` take others."""
    i = _decides(launches, name)
    without = f", without --{BACKEND}" if launches[i].command.flags.last(BACKEND) else ""
    advice = f"set {LAUNCHER}: {able[0]}{without}" if able else f"name a launcher in {LAUNCHER} to force it"
    code = "FI504" if name == VLLM_NATIVE and _is_late(launches[i]) else "FI532"
    return LaunchPlan(
        name, launches, f"left as it is: {lacks(launches[i], name)}; {advice}", code, starts=False, at=i
    )


def _fits(launches: tuple[Launch, ...], name: str, *, asked: bool = False) -> bool:
    """Return whether a launcher can rewrite the commands of all templates, each of which starts one node."""
    row = LAUNCHERS[name]
    return all(
        serves(launch, row, asked=asked) and row.takes(launch) and not other_backend(launch, row)
        for launch in launches
    )


def _order(launches: tuple[Launch, ...]) -> list[str]:
    """Return the engine's launchers in order of preference.

    Data parallelism gets Ray only if its flags ask for it: Ray places all ranks on the leader's pod. Source:
    vLLM `vllm/v1/engine/utils.py`, `CoreEngineProcManager`.
    """
    if not launches:
        return []
    is_spread = has_ranks(launches[0]) and not asks_for_ray(launches[0])
    able = [name for name, row in LAUNCHERS.items() if launches[0].command.engine in row.engines]
    return [name for name in able if not (is_spread and LAUNCHERS[name].uses_ray)]


def _explained(launches: tuple[Launch, ...], name: str, passed: list[str], *, is_known: bool) -> LaunchPlan:
    """Return the choice with its reason: an assumption, or what the image lacks for preferred launchers."""
    if not is_known:
        needs = f"not known to have {LAUNCHERS[name].needs}, which is assumed"
        why = f"{needs}; to confirm, set {LAUNCHER}: {name}, or ray-start if it is older"
        return LaunchPlan(name, launches, why, ASSUMED, at=_decides(launches, name))
    if passed:
        why = f"{lacks(launches[_decides(launches, passed[0])], passed[0])}; {name} is used"
        return LaunchPlan(name, launches, why)
    return LaunchPlan(name, launches, f"{launches[0].image} runs it")


def _decides(launches: tuple[Launch, ...], name: str) -> int:
    """Return the index of the template whose image rules a launcher out, or leaves it uncertain."""
    verdicts = [runs([launch], LAUNCHERS[name]) for launch in launches]
    return verdicts.index(False if False in verdicts else None)


def lacks(launch: Launch, name: str) -> str:
    """Return a message that compares what the launcher needs with what the image has."""
    row = LAUNCHERS[name]
    if launch.image.engine not in ("", launch.command.engine):
        return f"{launch.image} cannot run {name}"
    has = f" has {described(launch.facts.ray)}" if row.uses_ray else ""
    needs = row.needs
    if name == VLLM_NATIVE and launch.engine.accelerators.resource == TPU:
        needs = "other accelerators, since vLLM spans pods of TPUs with Ray alone"
    elif name == VLLM_NATIVE and _is_late(launch):
        needs = "vLLM 0.18 or later"
    return f"{launch.image}{has}: {name} needs {needs}"


def _is_late(launch: Launch) -> bool:
    """Return whether `--nnodes` starts no rank that spans pods in this release, although it has the flag."""
    return launch.facts.nnodes and not launch.facts.nnodes_span
