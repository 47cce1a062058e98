"""Builders of Intents with one engine, and their overlay and findings."""

from typing import Final

from intent import Object
from intent.lws import Accelerators, Engine, Intent, Probe, Template, TemplateField
from intent.settings import Settings
from webhook.mutate import input_of
from webhook.mutate.launch import launch as mutate
from webhook.validate.launch import launch as validate

SETTINGS: Final = Settings()
GPUS: Final = Accelerators("nvidia.com/gpu", 8)
SYMMETRIC_RUN: Final = [
    *("symmetric-run", "--address", "$(LWS_LEADER_ADDRESS):6379", "--min-nodes", "2", "--num-gpus", "8"),
    "--",
]
"""Arguments before the engine in a group of two pods with eight GPUs each."""
EXECUTOR: Final = ["--distributed-executor-backend", "ray"]


def engine(
    args: list[str] | str = "",
    command: list[str] | str = "",
    image: str = "vllm/vllm-openai:v0.17.1",
    *,
    accelerators: Accelerators = GPUS,
    variables: tuple[tuple[str, str | None], ...] = (),
    probes: tuple[Probe, ...] = (),
) -> Engine:
    """Return an engine container; text is split at spaces."""
    return Engine("vllm", image, words(command), words(args), accelerators, variables, probes=probes)


def words(text: list[str] | str) -> tuple[str, ...]:
    """Return list items, or text split at spaces."""
    return tuple(text.split() if isinstance(text, str) else text)


def group(worker: Engine, leader: Engine | None = None, size: int = 2, launcher: str = "") -> Intent:
    """Return the Intent of a group of pods."""
    fields: dict[TemplateField, Engine | None] = {"leaderTemplate": leader, "workerTemplate": worker}
    templates = tuple(Template(field, one) for field, one in fields.items() if one)
    probed = any(one.engine and (one.engine.probes or one.engine.hooks) for one in templates)
    return Intent("svc", size=size, launcher=launcher, templates=templates, probed=probed)


def written(intent: Intent, field: str = "workerTemplate") -> Object:
    """Return the overlay for the engine container of a template."""
    overlay = mutate(input_of(intent, SETTINGS))
    if not overlay:
        return {}
    container: Object = overlay["spec"]["leaderWorkerTemplate"][field]["spec"]["containers"][0]
    return container


def codes(intent: Intent) -> list[str]:
    """Return the codes of all findings."""
    return [found.code for found in validate(input_of(intent, SETTINGS))]


def path_of(code: str, intent: Intent) -> str:
    """Return the path of the first finding with a code, relative to the engine container."""
    found = next(found.path for found in validate(input_of(intent, SETTINGS)) if found.code == code)
    return found.removeprefix("spec.leaderWorkerTemplate.workerTemplate.spec.containers[0].")
