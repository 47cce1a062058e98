"""What is built: one go.mod a row under `components/`, its main packages, the files used of its source."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Module:
    """One Go module: the folder of its go.mod, its path, binary name to main package, files to keep."""

    name: str
    path: str
    packages: tuple[tuple[str, str], ...]
    files: tuple[str, ...] = ()


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
CRDS: Final = (("lws", "config/crd/bases"), ("volcano", _VOLCANO_CRDS))
"""Where the custom resource definitions lie: module and folder."""
