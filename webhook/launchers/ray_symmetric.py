"""`ray symmetric-run`: the same command on every pod, the engine on the leader (Ray 2.54 and later).

Source: Ray `python/ray/scripts/symmetric_run.py`. The pod whose address is `--address` becomes the head;
it waits until exactly `--min-nodes` nodes are there, then runs what stands behind the first `--`.
"""

from typing import Final

from intent.flags import BACKEND
from intent.launch import Launch, gpus, serve_words
from intent.shell import Script, insert
from webhook.launchers.container import Container

PORT: Final = 6379
"""Ray's GCS, on the leader."""
_ADDRESS: Final = f"$(LWS_LEADER_ADDRESS):{PORT}"
_EXECUTOR: Final = (f"--{BACKEND}", "ray")


def ray_symmetric(launch: Launch, size: int) -> Container:
    """Wrap one node of vLLM; a shell that must stay keeps its script, and Ray is written into it."""
    shell = launch.command.shell
    start, behind = _symmetric_run(launch, size), _executor(launch)
    if shell is not None and shell.script is not None and shell.kept:
        return _in_script(launch, shell.script, shell.index, " ".join(("ray", *start, "")), behind)
    return Container(("ray",), (*start, *serve_words(launch), *behind), (PORT,))


def _symmetric_run(launch: Launch, size: int) -> tuple[str, ...]:
    count = gpus(launch.engine)
    num_gpus = () if count is None else ("--num-gpus", str(count))
    return ("symmetric-run", "--address", _ADDRESS, "--min-nodes", str(size), *num_gpus, "--")


def _executor(launch: Launch) -> tuple[str, ...]:
    """Name Ray as the executor where vLLM would not find out, and its author has not."""
    is_named = launch.command.flags.last(BACKEND) is not None
    return _EXECUTOR if launch.facts.names_executor and not is_named else ()


def _in_script(launch: Launch, script: Script, index: int, before: str, behind: tuple[str, ...]) -> Container:
    """Write into the script; flags go behind its last word, or behind the items that `"$@"` stands for."""
    engine = launch.engine
    items = [*engine.command, *engine.args]
    follows = script.rest and index + 1 < len(items)
    items[index] = insert(script, before, "" if follows else "".join(f" {word}" for word in behind))
    if follows:
        items += behind
    command, args = tuple(items[: len(engine.command)]), tuple(items[len(engine.command) :])
    return Container(_changed(command, engine.command), _changed(args, engine.args), (PORT,))


def _changed(new: tuple[str, ...], old: tuple[str, ...]) -> tuple[str, ...] | None:
    return new if new != old else None
