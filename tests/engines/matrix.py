"""What each release runs: a cell is a launcher, a shape, a release, and what becomes of them.

`runs`          a completion comes back from every pod and port that the record says, and from no other
`refused`       by the engine, with these words; admission says before, with this code, that it will
`not on a CPU`  the engine's line that says so

Cells with `lifted` need a platform that lifts limits of vLLM's CPU platform (`platform/`).
"""

import copy
from typing import Final, Literal, NamedTuple

from intent import Object
from tests.builders.lws import PREFIX, container, lws, template
from tests.engines.install import EARLIER, NEWEST, OLDEST, SGLANG, WITH_RAY, Release
from tests.engines.model import DENSE, WITH_EXPERTS

Outcome = Literal["runs", "refused", "not on a CPU"]
NATIVE: Final = "vllm-native"
SYMMETRIC: Final = "ray-symmetric"
START: Final = "ray-start"


class Shape(NamedTuple):
    """What an author writes for one node: the model, its arguments, and the accelerators of a pod."""

    name: str
    arguments: tuple[str, ...]
    model: str = DENSE
    gpus: int = 1
    engines: int = 1
    """Behind one port."""


def _data(name: str, size: int, local: int, *more: str, model: str = DENSE, engines: int = 1) -> Shape:
    sizes = ("--data-parallel-size", str(size), "--data-parallel-size-local", str(local))
    words = (*(sizes if local > 1 else sizes[:2]), *more, "--enforce-eager")
    return Shape(name, words, model, local, engines)


TENSOR: Final = Shape("tensor", ("--tensor-parallel-size", "2", "--enforce-eager"))
OF_RAY: Final = Shape("tensor-of-Ray", (*TENSOR.arguments, "--distributed-executor-backend", "ray"))
PIPELINE: Final = Shape("pipeline", ("--pipeline-parallel-size", "2"))
"""Compiled: without the compiler's warm-up vLLM on CPUs fails on the first request."""
DATA: Final = _data("data", 2, 1, engines=2)
EXPERTS: Final = _data("data of experts", 2, 1, model=WITH_EXPERTS, engines=2)
HYBRID: Final = _data("hybrid", 4, 2, "--data-parallel-hybrid-lb", engines=2)
EXTERNAL: Final = _data("external", 2, 1, "--data-parallel-external-lb", model=WITH_EXPERTS)
EXTERNAL_DENSE: Final = _data("external of a dense model", 2, 1, "--data-parallel-external-lb")
MULTI_PORT: Final = _data("multi-port", 4, 2, "--data-parallel-multi-port-external-lb", model=WITH_EXPERTS)

ON_CPUS: Final = (
    *("--device", "cpu", "--attention-backend", "torch_native", "--max-total-tokens", "4096"),
    *("--host", "0.0.0.0", "--enable-metrics"),  # noqa: S104 - the pod's
)
"""Of SGLang, which listens on the loopback by itself."""
OF_SGLANG: Final = Shape("tensor", ("--tp-size", "2", *ON_CPUS))
STAGES: Final = Shape("pipeline", ("--pp-size", "2", *ON_CPUS))
REPLICAS: Final = Shape("data", ("--tp-size", "2", "--dp-size", "2", *ON_CPUS), gpus=2)
ATTENTION: Final = Shape(
    "data of attention", ("--tp-size", "2", "--dp-size", "2", "--enable-dp-attention", *ON_CPUS)
)
OF_EXPERTS: Final = Shape("experts", ("--tp-size", "2", "--ep-size", "2", *ON_CPUS), WITH_EXPERTS)

NO_PADDING: Final = "'TorchNativeAttnBackend' object has no attribute 'get_cpu_graph_seq_len_fill_value'"
"""Without AMX there is no other attention on CPUs."""
ALL_EXPERTS: Final = "index -1 is out of bounds for dimension 1 with size 4"
"""Without AMX each rank takes all experts for its own."""


class Cell(NamedTuple):
    """A launcher, a shape and a release, and what becomes of them."""

    launcher: str
    shape: Shape
    release: Release
    outcome: Outcome = "runs"
    said: str = ""
    """The engine's words."""
    code: str = ""
    """What admission says of them first."""
    lifted: bool = False
    asked: bool = False
    """Whether the author names the launcher."""

    @property
    def title(self) -> str:
        """Name the cell."""
        return f"{self.launcher}-{self.shape.name}-{self.release.version}".replace(" ", "-")


_TENSOR: Final = Cell(NATIVE, TENSOR, NEWEST)
_DATA: Final = Cell(NATIVE, DATA, NEWEST)
_SYMMETRIC: Final = Cell(SYMMETRIC, TENSOR, NEWEST, lifted=True, asked=True)
_SGLANG: Final = Cell("sglang", OF_SGLANG, SGLANG, lifted=True)
FIRST: Final = (_TENSOR, _SYMMETRIC, Cell(START, TENSOR, NEWEST, lifted=True, asked=True), _SGLANG)
"""One of each launcher, in two environments: those of `make e2e`."""
CELLS: Final = (
    *FIRST,
    Cell(NATIVE, PIPELINE, NEWEST),
    _DATA,
    Cell(NATIVE, EXPERTS, NEWEST, lifted=True),
    Cell(NATIVE, DATA, WITH_RAY, lifted=True),
    Cell(NATIVE, DATA, OLDEST, lifted=True),
    Cell(NATIVE, HYBRID, NEWEST),
    Cell(NATIVE, EXTERNAL, NEWEST, lifted=True),
    Cell(NATIVE, MULTI_PORT, NEWEST, lifted=True),
    Cell(NATIVE, DATA, EARLIER),
    Cell(NATIVE, EXTERNAL, EARLIER, lifted=True),
    Cell(NATIVE, MULTI_PORT, EARLIER, lifted=True),
    Cell(START, OF_RAY, OLDEST, lifted=True),
    Cell(SYMMETRIC, TENSOR, WITH_RAY, lifted=True),
    Cell("sglang", STAGES, SGLANG, lifted=True),
    Cell("sglang", ATTENTION, SGLANG, "not on a CPU", NO_PADDING, lifted=True),
    Cell("sglang", OF_EXPERTS, SGLANG, "not on a CPU", ALL_EXPERTS, lifted=True),
    Cell(
        *("sglang", REPLICAS, SGLANG, "refused", "multi-node data-parallel replicas are not", "FI316"),
        lifted=True,
    ),
    Cell(NATIVE, EXTERNAL_DENSE, NEWEST, "refused", "Non-MoE models do not support external", "FI329"),
    Cell(
        NATIVE, MULTI_PORT, WITH_RAY, "refused", f"unrecognized arguments: {MULTI_PORT.arguments[4]}", "FI329"
    ),
    Cell(NATIVE, TENSOR, OLDEST, "refused", "unrecognized arguments: --nnodes", "FI504", asked=True),
    Cell(NATIVE, TENSOR, WITH_RAY, "refused", "inner dp world group is not initialized", "FI504", asked=True),
)


class Harm(NamedTuple):
    """A launch that runs, with words of one of its templates replaced."""

    title: str
    cell: Cell
    template: Literal["leaderTemplate", "workerTemplate"]
    old: tuple[str, ...]
    new: tuple[str, ...]
    said: str
    """What a pod says once the wrong word has its effect, from which on the group cannot become right."""
    fails: str = "are not healthy"
    """What `answered` says of it."""

    def done(self, lws: Object) -> Object:
        """Replace the words."""
        whole = copy.deepcopy(lws)
        group = whole["spec"]["leaderWorkerTemplate"]
        group.setdefault("leaderTemplate", copy.deepcopy(group["workerTemplate"]))
        (engine,) = group[self.template]["spec"]["containers"]
        words, count = [*engine["command"], *engine["args"]], len(self.old)
        (at,) = [at for at in range(len(words)) if tuple(words[at : at + count]) == self.old]
        engine |= {"command": [*words[:at], *self.new, *words[at + count :]], "args": []}
        return whole


_LEADER: Final = "$(LWS_LEADER_ADDRESS)"
_RANK: Final = ("--node-rank", "$(LWS_WORKER_INDEX)")
_NODES: Final = ("--nnodes", "2", *_RANK, "--master-addr", _LEADER)
_PORT: Final = ("--port", "8001", "--nnodes")
HARMS: Final = (
    Harm("no-headless", _TENSOR, "workerTemplate", ("--headless",), (), "not be called on follower node"),
    Harm("no-headless-data", _DATA, "workerTemplate", ("--headless",), (), "engines_only or dp_rank == 0"),
    Harm("wrong-rank", _TENSOR, "workerTemplate", _RANK, ("--node-rank", "0"), "address tcp://127.0.0.1"),
    Harm("wrong-address", _TENSOR, "workerTemplate", (_LEADER,), ("10.99.0.99",), "address 10.99.0.99:29501"),
    Harm("leader-alone", _TENSOR, "leaderTemplate", _NODES, (), "startup complete", "has joined no other"),
    Harm("wrong-port", _TENSOR, "leaderTemplate", ("--nnodes",), _PORT, "server on http://0.0.0.0:8001"),
    Harm(
        *("wrong-port-of-Ray", _SYMMETRIC, "workerTemplate", (f"{_LEADER}:6379",), (f"{_LEADER}:6380",)),
        said="Ray cluster at x-0.x.default:6380",
    ),
    Harm(
        *("wrong-port-of-SGLang", _SGLANG, "workerTemplate", (f"{_LEADER}:20000",), (f"{_LEADER}:20001",)),
        said="x-0.x.default:20001",
    ),
)
"""At least one of each kind."""


def group(cell: Cell, model: str) -> Object:
    """Return what an author writes: the plain command for one node, and the annotation."""
    resources = {
        "requests": {"cpu": "1", "memory": "4Gi"},
        "limits": {"nvidia.com/gpu": str(cell.shape.gpus)},
    }
    words, image = [*cell.release.command, model, *cell.shape.arguments], cell.release.image
    engine = container(image=image, command=words[:2], args=words[2:], resources=resources)
    whole = lws(2, template(engine))
    if cell.asked:
        whole["metadata"]["annotations"][f"{PREFIX}launcher"] = cell.launcher
    return whole
