"""What GitOps tools show, which `tests/cluster/test_gitops.py` holds against the real ones."""

from collections.abc import Mapping
from typing import Final

from hack.markdown import table

COLUMNS: Final = ("tool", "settings", "the same file", "a flag is added", "a toleration is removed")
ALL: Final = "`args`, `command`, `env`, `ports`, `volumeMounts`"
COMMAND: Final = "`args`, `command`"
RECORD: Final = "`fusioninfer.io/expansion`, `args`"
DIFF, APPLY, WEBHOOK = "`ServerSideDiff=true`", "`ServerSideApply=true`", "`IncludeMutationWebhook=true`"
SHOWN: Final = (
    ("Argo CD", "none", ALL, ALL, f"{ALL}, `tolerations`"),
    ("Argo CD before 3.6", APPLY, COMMAND, COMMAND, f"{COMMAND}, `tolerations`"),
    ("Argo CD", DIFF, "nothing", "`args`", "nothing"),
    ("Argo CD", f"{DIFF} and {APPLY}", "nothing", "`args`", "`tolerations`"),
    ("Argo CD", f"the same, and {WEBHOOK}", "nothing", RECORD, "`tolerations`"),
    ("Argo CD", "`ignoreDifferences` of the containers", "nothing", "nothing", "`tolerations`"),
    ("Argo CD", "`managedFieldsManagers: [argocd-controller]`", "nothing", "nothing", "`tolerations`"),
    ("Flux Kustomization", "none", "nothing", RECORD, "`tolerations`"),
    ("`kubectl diff`", "none", "nothing", RECORD, "`tolerations`"),
    ("`kubectl diff`", "`--server-side`", "nothing", RECORD, "`tolerations`"),
)


def blocks() -> Mapping[str, str]:
    """Return the table."""
    return {"clients": table([dict(zip(COLUMNS, row, strict=True)) for row in SHOWN])}
