"""A group whose launch is written: each template's image, accelerators and port, then the sizes."""

from collections.abc import Iterator

from intent.command_line.flags import ASYNC_SCHEDULING, PORT
from intent.engines import described
from intent.errors import FieldError
from intent.launch import Launch, Plan, is_size, value_of, word_path
from intent.lws import Intent
from intent.settings import Settings
from webhook.launchers import LAUNCHERS
from webhook.launchers.launcher import Launcher
from webhook.launchers.plan import may_be_launched
from webhook.validate.sizes import sizes


def group(plan: Plan, launcher: Launcher, intent: Intent, settings: Settings) -> Iterator[FieldError]:
    """Check what a launch needs of every pod, and of all together."""
    for one in plan.launches:
        yield from _image(one, plan.launcher, launcher)
        yield from _accelerators(one, intent.size)
        yield from _port(one, launcher)
        yield from _async_scheduling(one, launcher)
    yield from sizes(plan, launcher, intent.size, settings.engines)


def _image(launch: Launch, name: str, launcher: Launcher) -> Iterator[FieldError]:
    """Look the image up: whether it is known to have what the launcher needs, and what else would work."""
    if not launch.image.engine or launcher.runs(launch):
        return
    ray = f" has {described(launch.facts.ray)}" if launcher.uses_ray else ""
    able = better(launch, name)
    advice = f"; launcher {able} works" if able else ""
    message = f"{launch.image}{ray}: {name} needs {launcher.needs}{advice}"
    yield FieldError(f"{launch.template.engine_path}.image", None, message, "FI504")


def better(launch: Launch, name: str) -> str:
    """Name a launcher that the image is known to run; empty if its version is not known."""
    if not launch.image.version:
        return ""
    rows = ((other, row) for other, row in LAUNCHERS.items() if other != name)
    able = (other for other, row in rows if may_be_launched(launch, row, asked=False) and row.runs(launch))
    return next(able, "")


def _accelerators(launch: Launch, size: int) -> Iterator[FieldError]:
    asked = launch.engine.accelerators
    if not asked.count and not asked.claimed:
        message = f"must request an accelerator, for example nvidia.com/gpu: the engine spans {size} pods"
        yield FieldError(f"{launch.template.engine_path}.resources.limits", None, message, "FI303")


def _port(launch: Launch, launcher: Launcher) -> Iterator[FieldError]:
    flag = launch.command.flags.last(PORT)
    port = (value_of(launch, flag) or "") if flag else ""
    if not flag or not is_size(port):
        return
    who, where = "Ray" if launcher.uses_ray else "the launch", word_path(launch, flag.value_at)
    if int(port) == launcher.port:
        message = f"must be another port: {who} takes {port} on the leader; the default is free"
        yield FieldError(where, port, message, "FI311")
    elif any(int(port) in taken for taken in launcher.others):
        message = f"{who} may take {port} too: choose another --port, for example 8000"
        yield FieldError(where, None, message, "FI529")


def _async_scheduling(launch: Launch, launcher: Launcher) -> Iterator[FieldError]:
    flag = launch.command.flags.last(ASYNC_SCHEDULING)
    if flag and launcher.uses_ray:
        message = "not checked: vLLM 0.11 refuses --async-scheduling with Ray; later releases may take it"
        yield FieldError(word_path(launch, flag.at), None, message, "FI511")
