"""What is built: one go.mod a row under `components/`, its main packages, the files used of its source."""

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class Cut:
    """What is left out of a module's source: a file or folder, or the lines of a file that have a word."""

    file: str
    word: str = ""


@dataclass(frozen=True, slots=True)
class Module:
    """One Go module: the folder of its go.mod, its path, binary name to main package, and what to keep.

    A module with cuts is built from a copy of its source, without them.
    """

    name: str
    path: str
    packages: tuple[tuple[str, str], ...] = ()
    files: tuple[str, ...] = ()
    cuts: tuple[Cut, ...] = ()


_VOLCANO_CRDS: Final = "config/crd/volcano/bases/"
_KWOK_STAGES: Final = "kustomize/stage/"

MODULES: Final = (
    Module("etcd", "go.etcd.io/etcd/server/v3", (("etcd", "go.etcd.io/etcd/server/v3"),)),
    Module(
        "kubernetes",
        "k8s.io/kubernetes",
        (
            ("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
            ("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"),
            ("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
        ),
    ),
    Module(
        "lws",
        "sigs.k8s.io/lws",
        (("lws-manager", "sigs.k8s.io/lws/cmd"),),
        (
            "config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml",
            "config/crd/bases/disaggregatedset.x-k8s.io_disaggregatedsets.yaml",
            "config/webhook/manifests.yaml",
            "config/webhook/mutating-patch.yaml",
            "config/webhook/validating-patch.yaml",
        ),
    ),
    Module(
        "volcano",
        "volcano.sh/volcano",
        (("vc-scheduler", "volcano.sh/volcano/cmd/scheduler"),),
        (
            _VOLCANO_CRDS + "scheduling.volcano.sh_podgroups.yaml",
            _VOLCANO_CRDS + "scheduling.volcano.sh_queues.yaml",
            _VOLCANO_CRDS + "nodeinfo.volcano.sh_numatopologies.yaml",
            _VOLCANO_CRDS + "topology.volcano.sh_hypernodes.yaml",
        ),
    ),
    Module(
        "kwok",
        "sigs.k8s.io/kwok",
        (("kwok", "sigs.k8s.io/kwok/cmd/kwok"),),
        (
            _KWOK_STAGES + "node/fast/node-initialize.yaml",
            _KWOK_STAGES + "pod/fast/pod-ready.yaml",
            _KWOK_STAGES + "pod/fast/pod-complete.yaml",
            _KWOK_STAGES + "pod/fast/pod-delete.yaml",
        ),
    ),
)

_EXTENSION: Final = "sigs.k8s.io/gateway-api-inference-extension"
_SCHEDULER: Final = "github.com/llm-d/llm-d-inference-scheduler"
_REGISTER: Final = "pkg/plugins/register.go"
_PRECISE: Final = (Cut("pkg/plugins/scorer/precise_prefix_cache.go"), Cut(_REGISTER, "PrecisePrefixCache"))
"""The scorer that follows the engines' own cache events: it needs a tokenizer in Rust, ZeroMQ and Python in
0.4.0, and in 0.7.1 a library that the module proxy does not serve."""
_TOKENIZING: Final = (
    *(Cut("pkg/plugins/preparedata"), Cut(_REGISTER, "preparedata")),
    *(Cut("pkg/plugins/multi"), Cut(_REGISTER, "plugins/multi"), Cut(_REGISTER, "multi.")),
)
"""What in 0.7.1 needs the same library for its tokens."""


def _extension(version: str, files: tuple[str, ...] = ()) -> Module:
    """Return a release of the Gateway API Inference Extension: its endpoint picker."""
    return Module(f"gie-{version}", _EXTENSION, ((f"gie-epp-{version}", f"{_EXTENSION}/cmd/epp"),), files)


def _scheduler(version: str, cuts: tuple[Cut, ...]) -> Module:
    """Return a release of llm-d: its endpoint picker, and its sidecar of decoders."""
    packages = ((f"{name}-{version}", f"{_SCHEDULER}/cmd/{main}") for name, main in _LLM_D_MAINS)
    return Module(f"llm-d-{version}", _SCHEDULER, tuple(packages), cuts=cuts)


_LLM_D_MAINS: Final = (("llm-d-epp", "epp"), ("pd-sidecar", "pd-sidecar"))
_GATEWAY_CRDS: Final = "config/crd/standard/"
_EXTENSION_CRDS: Final = "config/crd/bases/"

ROUTE_MODULES: Final = (
    Module(
        "gateway-api",
        "sigs.k8s.io/gateway-api",
        files=(
            _GATEWAY_CRDS + "gateway.networking.k8s.io_gatewayclasses.yaml",
            _GATEWAY_CRDS + "gateway.networking.k8s.io_gateways.yaml",
            _GATEWAY_CRDS + "gateway.networking.k8s.io_httproutes.yaml",
            "config/crd/experimental/gateway.networking.k8s.io_gateways.yaml",
            "config/crd/experimental/gateway.networking.k8s.io_httproutes.yaml",
        ),
    ),
    _extension(
        "1.5.0",
        (
            _EXTENSION_CRDS + "inference.networking.k8s.io_inferencepools.yaml",
            _EXTENSION_CRDS + "inference.networking.x-k8s.io_inferencemodelrewrites.yaml",
            _EXTENSION_CRDS + "inference.networking.x-k8s.io_inferenceobjectives.yaml",
        ),
    ),
    *map(_extension, ("1.4.0", "1.3.1", "1.2.1")),
    _scheduler("0.4.0", _PRECISE),
    _scheduler("0.7.1", (*_PRECISE, *_TOKENIZING)),
    Module("istio", "istio.io/api", files=("kubernetes/customresourcedefinitions.gen.yaml",)),
)
"""What only routes need. The pickers share one set of library versions, those of the newest: so they compile
them once; what is theirs is of their release."""

SCHEDULER_MODULES: Final = (
    Module(
        "kube-scheduler", "k8s.io/kubernetes", (("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),)
    ),
)
"""The scheduler of pods that are in no gang; only plans are compared with it."""

CHART_MODULES: Final = (Module("helm", "helm.sh/helm/v4", (("helm", "helm.sh/helm/v4/cmd/helm"),)),)
EARLIER_CHART_MODULES: Final = (
    Module("helm-3", "helm.sh/helm/v3", (("helm-3", "helm.sh/helm/v3/cmd/helm"),)),
)
"""What renders our chart, and what rendered it before: both are in use."""
_CYCLONUS: Final = "github.com/mattfenwick/cyclonus"

POLICY_MODULES: Final = (Module("cyclonus", _CYCLONUS, (("cyclonus", f"{_CYCLONUS}/cmd/cyclonus"),)),)
"""What says which calls NetworkPolicies let through. It shares Kubernetes' libraries with the API server."""
_TESTBED: Final = "fusioninfer.io/testbed"

GITOPS_MODULES: Final = (
    Module("argo-cd", "github.com/argoproj/gitops-engine", (("argo-cd", f"{_TESTBED}/argo-cd"),)),
    Module("flux", "github.com/fluxcd/pkg/ssa", (("flux", f"{_TESTBED}/flux"),)),
)
"""What compares and applies manifests as GitOps tools do: their libraries, each in a program of ours beside
its go.mod. Argo CD's shares the libraries of the API server, Flux's those of Helm."""
MERGE_MODULES: Final = (
    Module("strategic-merge", "k8s.io/apimachinery", (("strategic-merge", f"{_TESTBED}/strategic-merge"),)),
)
"""What merges pod templates as `kubectl patch` does: Kubernetes' library in a program of ours."""
TEMPLATE_MODULES: Final = (
    Module("go-template", "github.com/Masterminds/sprig/v3", (("go-template", f"{_TESTBED}/go-template"),)),
)
"""What renders templates as KServe and llm-d do: Go's library and Sprig's, in a program of ours."""
MERGO_MODULES: Final = (Module("mergo", "dario.cat/mergo", (("mergo", f"{_TESTBED}/mergo"),)),)
"""What merges a ModelService over its base as llm-d does: its library in a program of ours."""
STORAGE_MODULES: Final = (Module("minio", "github.com/minio/minio", (("minio", "github.com/minio/minio"),)),)
"""What keeps models in buckets, as Amazon's S3 does."""
_CERT_MANAGER: Final = "github.com/cert-manager/cert-manager"
_CERT_MANAGER_CRDS: Final = "deploy/crds/"

CERTIFICATE_MODULES: Final = (
    Module(
        "cert-manager",
        _CERT_MANAGER,
        (
            ("cert-manager-controller", f"{_CERT_MANAGER}/cmd/controller"),
            ("cert-manager-cainjector", f"{_CERT_MANAGER}/cmd/cainjector"),
        ),
        (
            _CERT_MANAGER_CRDS + "crd-certificaterequests.yaml",
            _CERT_MANAGER_CRDS + "crd-certificates.yaml",
            _CERT_MANAGER_CRDS + "crd-challenges.yaml",
            _CERT_MANAGER_CRDS + "crd-clusterissuers.yaml",
            _CERT_MANAGER_CRDS + "crd-issuers.yaml",
            _CERT_MANAGER_CRDS + "crd-orders.yaml",
        ),
    ),
)
"""What only certificates need. Later releases have their commands in modules of their own."""

_KSERVE: Final = "github.com/kserve/kserve"

ORACLE_MODULES: Final = (
    Module(
        "kserve",
        _KSERVE,
        (("llmisvc", f"{_KSERVE}/cmd/llmisvc"),),
        (
            *("config/llmisvcconfig", "config/webhook/llmisvc", "docs/samples/llmisvc", "test/crds"),
            "test/e2e/llmisvc/fixtures.py",
        ),
    ),
)
"""What other systems make of objects that are imported: the controller of LLMInferenceServices, with its
presets and samples, which are read from its module alone."""

CRDS: Final = (("lws", "config/crd/bases"), ("volcano", _VOLCANO_CRDS))
"""Where the custom resource definitions lie: module and folder."""
ROUTE_CRDS: Final = (("gateway-api", _GATEWAY_CRDS), ("gie-1.5.0", _EXTENSION_CRDS))
"""Those of the Gateway API and of its Inference Extension."""
LATER_ROUTE_CRDS: Final = (ROUTE_CRDS[0], ("gie-1.6.0", _EXTENSION_CRDS))
"""Those of a cluster whose Inference Extension has pools alone."""
LATER_MODULES: Final = (
    Module(
        "gie-1.6.0", _EXTENSION, files=(_EXTENSION_CRDS + "inference.networking.k8s.io_inferencepools.yaml",)
    ),
)
ROUTE_DEFINITIONS: Final = tuple(
    replace(module, packages=(), cuts=()) for module in ROUTE_MODULES if module.name in dict(ROUTE_CRDS)
)
"""The modules of these custom resources, without the programs: nothing has to be compiled."""
UNSCHEDULED: Final = tuple(
    replace(module, packages=()) if module.name == "volcano" else module
    for module in MODULES
    if module.name != "kwok"
)
"""What a cluster needs in which no pod is scheduled."""
_OPENAPI: Final = tuple(
    f"api/openapi-spec/v3/apis__{group}_openapi.json"
    for group in ("autoscaling__v2", "networking.k8s.io__v1")
)
SCHEMA_MODULES: Final = (
    *(module for module in (*MODULES, *ROUTE_MODULES) if module.name in {"lws", "gateway-api"}),
    *(replace(one, packages=(), files=_OPENAPI) for one in MODULES if one.name == "kubernetes"),
)
"""The modules whose definitions and documents have the schemas that ours embeds."""
ISTIO_CRDS: Final = (("istio", "kubernetes"),)
"""Those of Istio."""
CERTIFICATE_CRDS: Final = (("cert-manager", _CERT_MANAGER_CRDS),)
"""Those of cert-manager."""
