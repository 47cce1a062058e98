"""Facts about engines by image and version, as data with sources; the rules that use them are elsewhere.

A version is that of the engine (vLLM, SGLang), as in the tag of a stock image. A range includes `since` and
excludes `below`. The first matching row applies, so rows that an operator adds come first.
"""

import re
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache
from typing import Final, Literal, NamedTuple

Version = tuple[int, ...]
Entrypoint = Literal["", "none", "api_server", "vllm serve"]
"""`api_server` ignores a positional model and serves its default (vllm-project/vllm#32292). `none`: none."""

DEFAULT_PORT: Final = 8000


def shown(version: Version) -> str:
    """Format a version."""
    return ".".join(map(str, version))


@dataclass(frozen=True, slots=True)
class Product:
    """An inference engine, whatever its version."""

    title: str
    command: str
    """An example of the command that starts it, for messages."""
    port: int = DEFAULT_PORT
    """The port of its API without a flag."""
    shares_ranks: bool = False
    """Whether data-parallel ranks use the accelerators of tensor parallelism, so that they count once."""


PRODUCTS: Final = {
    "vllm": Product("vLLM", "[vllm, serve]"),
    "sglang": Product("SGLang", "[python3, -m, sglang.launch_server]", 30000),
    "lmdeploy": Product("LMDeploy", "[lmdeploy, serve, api_server]", 23333, shares_ranks=True),
    "tensorrt-llm": Product("TensorRT-LLM", "[trtllm-serve]"),
}
"""The engines whose commands are read, by the name that tables and settings use.

Source: `DistConfig` of LMDeploy (`lmdeploy/pytorch/config.py`).
"""

NEWEST: Final[Version] = (9999,)
LATEST: Final[Version] = (9998,)
"""Used for an unknown version: the facts of the newest versions are assumed."""


class Ray(NamedTuple):
    """A range of Ray releases, one of which is in an image."""

    lowest: Version = ()
    highest: Version = NEWEST


UNKNOWN_RAY: Final = Ray()
NO_RAY: Final = Ray(NEWEST, ())
SOME_RAY: Final = Ray((2, 10))
"""One that vLLM's requirements of any release allow."""


@dataclass(frozen=True, slots=True)
class Stock:
    """Facts about the images of a repository, of some tags, with some versions of the engine."""

    repository: str
    """A pattern (`*`, `?`) for the repository; without a `/`, for its last segment only."""
    engine: str
    tag: str = "*"
    """A pattern for the tag."""
    since: Version = ()
    below: Version = NEWEST
    version: Version = ()
    """The engine's version, if the tag does not contain it."""
    least: Version = ()
    """The least version of the engine, if neither is known."""
    entrypoint: Entrypoint = ""
    ray: Ray = UNKNOWN_RAY
    source: str = ""


@dataclass(frozen=True, slots=True)
class Trait:
    """A flag or behaviour of an engine, and the versions that have it."""

    name: str
    engine: str = "vllm"
    since: Version = ()
    below: Version = NEWEST
    source: str = ""


@dataclass(frozen=True, slots=True)
class Connector:
    """A connector of vLLM's `--kv-transfer-config` and a range of versions. A name may have several rows."""

    name: str
    since: Version = ()
    below: Version = NEWEST
    source: str = "vLLM `vllm/distributed/kv_transfer/kv_connector/factory.py`"


HANGS: Final = Trait(
    "disable-custom-all-reduce",
    since=(0, 26, 1),
    below=(0, 29),
    source="tensor parallelism over nodes: vllm-project/vllm#52907, #53894; repaired by #53253",
)
"""The flag without which a launch hangs at start in these releases."""


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model, and whether it has experts: data parallelism starts the ranks of others apart."""

    name: str
    """A pattern (`*`, `?`) for the last segment of its name."""
    experts: bool = False
    """Whether it is a mixture of experts."""
    source: str = "its `config.json`"


@dataclass(frozen=True, slots=True, eq=False)
class Engines:
    """All facts. Compared by identity, so that a lookup in a cache costs no comparison of rows."""

    images: tuple[Stock, ...] = ()
    traits: tuple[Trait, ...] = ()
    connectors: tuple[Connector, ...] = ()
    models: tuple[KnownModel, ...] = ()


COMPARED: Final[dict[str, Version]] = {"vllm": (0, 33, 0), "sglang": (0, 5, 23)}
"""The newest release with which the rows of an engine were compared (`make soak SOAK=catalogue`)."""
SYMMETRIC_RUN: Final[Version] = (2, 54)
"""The first Ray whose `ray symmetric-run` works over nodes (ray-project/ray#59795, fixed by #59794)."""

NNODES: Final = "--nnodes"
NAMES_EXECUTOR: Final = "names-executor"
NATIVE_DATA: Final = "--data-parallel-address"
NNODES_DATA: Final = "--nnodes with data parallelism"
NNODES_SPAN: Final = "--nnodes over the pods of one rank"
NARROWER_DECODERS: Final = "NixlConnector transfers to a decoder with fewer tensor-parallel shards"

_METADATA: Final = "`Requires-Dist` and `docker/Dockerfile` of vLLM's releases"
_WITHOUT_RAY: Final = (
    "no `Requires-Dist: ray` from vLLM 0.18.0; gpustack/gpustack#5430, ai-dynamo/dynamo#8515"
)
_LLM_D: Final = "llm-d release notes, component summary"
_LLM_D_0_5: Final = "llm-d `docker/Dockerfile.cuda` 0.5, commit d7de043 of vLLM"
_KINDS: Final = ("cuda*", "aws*", "rocm*", "xpu", "hpu", "cpu")
_NGC: Final = "NVIDIA `vllm-release-notes`, rel-"
_AWS: Final = "aws/deep-learning-containers, `CHANGELOG` of vLLM; "

_IMAGES: Final = (
    *(
        Stock(
            "*vllm/vllm-openai*",
            "vllm",
            tag=tag,
            least=(0, 18),
            entrypoint="vllm serve",
            ray=NO_RAY,
            source="newer than vLLM 0.18.0 since March 2026",
        )
        for tag in ("latest*", "nightly*")
    ),
    Stock(
        *("vllm-openai*", "vllm"),
        below=(0, 11, 1),
        entrypoint="api_server",
        ray=Ray((), (2, 49)),
        source=f"{_METADATA}: built before Ray 2.50.0",
    ),
    *(
        Stock("vllm-openai*", "vllm", "*", since, below, ray=ray, entrypoint="vllm serve", source=source)
        for since, below, ray, source in (
            ((0, 11, 1), (0, 17), Ray((2, 51), (2, 53)), f"{_METADATA}, by date of build"),
            ((0, 17), (0, 18), Ray((2, 54), (2, 54)), f"{_METADATA}; vllm-project/production-stack#1056"),
            ((0, 18), NEWEST, NO_RAY, _WITHOUT_RAY),
        )
    ),
    *(
        Stock(f"*llm-d/llm-d-{kind}", "vllm", tag, version=version, entrypoint="none", ray=ray, source=source)
        for tag, version, ray, source, kinds in (
            ("v0.7.*", (0, 19, 1), NO_RAY, _LLM_D, _KINDS),
            ("v0.8.*", (0, 23), NO_RAY, _LLM_D, _KINDS),
            ("v0.9.*", (0, 26), NO_RAY, _LLM_D, _KINDS),
            ("v0.5.*", (0, 14, 1), UNKNOWN_RAY, _LLM_D_0_5, ("cuda*", "aws*")),
        )
        for kind in kinds
    ),
    *(
        Stock(
            *(repository, "vllm", tag),
            below=below,
            least=least,
            entrypoint="none",
            ray=ray,
            source=f"{_AWS}{source}",
        )
        for repository in ("*.dkr.ecr.*/vllm", "*deep-learning-containers/vllm")
        for tag, below, least, ray, source in (
            ("*-gpu-py*", (0, 11, 1), (), Ray((), (2, 49)), "built on vllm/vllm-openai"),
            ("*-gpu-py*", (0, 18), (), SOME_RAY, "vLLM's requirements"),
            ("*-gpu-py*", NEWEST, (), UNKNOWN_RAY, "the release is in the tag"),
            ("server-*cuda*", NEWEST, (0, 19, 1), UNKNOWN_RAY, "the first is 0.19.1"),
        )
    ),
    *(
        Stock(
            *("*nvidia/vllm", "vllm", f"{tag}-*"),
            version=version,
            entrypoint="none",
            ray=ray,
            source=f"{_NGC}{tag}",
        )
        for tag, version, ray in (
            ("25.10", (0, 10, 2), SOME_RAY),
            ("26.01", (0, 11, 1), SOME_RAY),
            ("26.03", (0, 17, 1), SOME_RAY),
            ("26.05", (0, 20, 1), UNKNOWN_RAY),
            ("26.10", (0, 31), UNKNOWN_RAY),
        )
    ),
    *(
        Stock(
            *("*rocm/vllm", "vllm", "*vllm*"),
            below=below,
            entrypoint="none",
            ray=ray,
            source="ROCm/vllm, tags `…_vllm_0.11.1_…`; `requirements/rocm.txt`",
        )
        for below, ray in (((0, 18), SOME_RAY), (NEWEST, UNKNOWN_RAY))
    ),
    Stock(
        "*vllm/vllm-tpu",
        "vllm",
        entrypoint="none",
        ray=SOME_RAY,
        source="vLLM `requirements/tpu.txt`, tpu-inference `docker/Dockerfile`",
    ),
    Stock(
        "*rhaiis/vllm-*-rhel9",
        "vllm",
        "3.0*",
        version=(0, 8, 4),
        entrypoint="api_server",
        source="Red Hat AI Inference Server 3.0, product and version compatibility",
    ),
    Stock(
        "*ascend/vllm-ascend",
        "vllm",
        entrypoint="none",
        ray=Ray((2, 47), (2, 48)),
        source="vllm-ascend on PyPI: vLLM of the same version; `Dockerfile`",
    ),
    Stock("lmsysorg/sglang", "sglang", ray=NO_RAY, source="SGLang `docker/Dockerfile`"),
    Stock("openmmlab/lmdeploy", "lmdeploy", source="LMDeploy `docker/Dockerfile`"),
    Stock("*/nvidia/tensorrt-llm/*", "tensorrt-llm", source="TensorRT-LLM `docker/Dockerfile.multi`"),
)

_TRAITS: Final = (
    Trait(NNODES, since=(0, 11, 1), source="vLLM `vllm/engine/arg_utils.py`"),
    *(
        Trait(NNODES_DATA, since=since, below=below, source="verl-project/verl#6856; `v1/engine/core.py`")
        for since, below in (((0, 12), (0, 14)), ((0, 28), NEWEST))
    ),
    *(
        Trait(
            NNODES_SPAN, since=since, below=below, source="vllm-project/vllm#36389; `multiproc_executor.py`"
        )
        for since, below in (((0, 11, 1), (0, 17)), ((0, 18), NEWEST))
    ),
    Trait(NAMES_EXECUTOR, since=(0, 11, 1), source="vllm-project/vllm#29447"),
    Trait(NATIVE_DATA, since=(0, 9), source="vLLM `vllm/engine/arg_utils.py`; absent in 0.8.5"),
    Trait(NARROWER_DECODERS, since=(0, 14), source="vllm-project/vllm#27274, vllm-project/vllm#43523"),
    Trait(NNODES, engine="sglang", source="SGLang `server_args.py`, 0.4.3 to 0.5.23"),
)

_CONNECTORS: Final = (
    Connector("PyNcclConnector", below=(0, 10, 1)),
    Connector("LMCacheConnector", below=(0, 10, 1)),
    Connector("MooncakeConnector", below=(0, 10, 1)),
    Connector("MooncakeConnector", since=(0, 13)),
    Connector("MooncakeStoreConnector", below=(0, 10, 1)),
    Connector("MooncakeStoreConnector", since=(0, 21)),
    Connector("SharedStorageConnector", below=(0, 13)),
    Connector("ExampleConnector", since=(0, 13)),
    Connector("P2pNcclConnector", since=(0, 9, 2), below=(0, 24)),
    Connector("NixlConnector", since=(0, 9)),
    Connector("NixlPullConnector", since=(0, 24)),
    Connector("NixlPushConnector", since=(0, 24)),
    Connector("MultiConnector", since=(0, 9)),
    Connector("LMCacheConnectorV1", since=(0, 8, 5)),
    Connector("LMCacheMPConnector", since=(0, 11, 1)),
    Connector("DecodeBenchConnector", since=(0, 11, 1)),
    Connector("OffloadingConnector", since=(0, 11)),
    Connector("MoRIIOConnector", since=(0, 14)),
    Connector("FlexKVConnectorV1", since=(0, 18)),
    Connector("SimpleCPUOffloadConnector", since=(0, 19)),
    Connector("HF3FSKVConnector", since=(0, 20)),
    Connector("HiSparseConnector", since=(0, 30)),
    Connector("ExampleHiddenStatesConnector", since=(0, 17)),
)

_DENSE: Final = (
    *("*Llama-3-8B*", "*Llama-3-70B*", "*Llama-3.1-8B*", "*Llama-3.1-70B*", "*Llama-3.1-405B*"),
    *("*Llama-3.2-3B*", "Llama-3.3-70B*", "DeepSeek-R1-Distill-*"),
    *("Qwen2.5-7B*", "Qwen2.5-14B*", "Qwen2.5-32B*", "Qwen2.5-72B*"),
    *("Qwen3-4B*", "Qwen3-8B*", "Qwen3-14B*", "Qwen3-32B*"),
)
_OF_EXPERTS: Final = (
    *("DeepSeek-V3", "DeepSeek-V3-0324", "DeepSeek-V3.1", "DeepSeek-R1", "DeepSeek-R1-0528"),
    *("Qwen3-30B-A3B*", "Qwen3-235B-A22B*", "Mixtral-8x7B*", "gpt-oss-20b*", "gpt-oss-120b*"),
)
_MODELS: Final = (
    *(KnownModel(name) for name in _DENSE),
    *(KnownModel(name, experts=True) for name in _OF_EXPERTS),
)

ENGINES: Final = Engines(_IMAGES, _TRAITS, _CONNECTORS, _MODELS)
"""The facts of this release."""


def holds(since: Version, below: Version, version: Version) -> bool:
    """Return whether a version is in a range."""
    return since <= version < below


def has(engines: Engines, engine: str, name: str, version: Version) -> bool:
    """Return whether a version of an engine has a trait."""
    return any(
        row.name == name and row.engine == engine and holds(row.since, row.below, version)
        for row in engines.traits
    )


def ships(engines: Engines, connector: str, version: Version) -> bool:
    """Return whether a version of vLLM has a connector."""
    return any(row.name == connector and holds(row.since, row.below, version) for row in engines.connectors)


def known_model(engines: Engines, name: str) -> KnownModel | None:
    """Return the facts about a model by the last segment of its name; None if there are none."""
    last = name.rstrip("/").rpartition("/")[2]
    match = _names(engines).match(last) if last and engines.models else None
    return engines.models[match.lastindex - 1] if match and match.lastindex else None


@lru_cache(maxsize=4)
def _names(engines: Engines) -> re.Pattern[str]:
    """Compile one expression of the names of all models; the index of the matching group is the row."""
    return re.compile("|".join(f"({translate(row.name)})" for row in engines.models))


def described(ray: Ray) -> str:
    """Describe the Ray of an image, for messages."""
    lowest, highest = map(shown, ray)
    if ray in (NO_RAY, UNKNOWN_RAY):
        return "no Ray" if ray == NO_RAY else "an unknown Ray"
    if not ray.lowest or ray.highest == NEWEST:
        return f"Ray {highest} or older" if not ray.lowest else f"Ray {lowest} or newer"
    return f"Ray {lowest}" if lowest == highest else f"Ray {lowest} to {highest}"
