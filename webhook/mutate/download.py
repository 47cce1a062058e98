"""The init container that downloads files before the engine starts: KServe's storage initializer.

Its contract is two arguments: a URI, and the path to which it is downloaded. The Secret is named, never read.
"""

from dataclasses import dataclass
from typing import Final

from intent import Object
from intent.lws import Engine
from intent.model import SECRET_VOLUME, Uri
from intent.settings import Settings
from webhook.mutate.concern import of_templates, values
from webhook.mutate.templates import unprivileged

LIMITS: Final = {"cpu": "2", "memory": "4Gi"}
"""They default the requests, so a Guaranteed pod stays so. KServe's 1Gi is too little for large files."""
TOKEN: Final = "HF_TOKEN"  # noqa: S105 - the name of a variable, and of a key in the Secret
GOOGLE_SECRETS: Final = "/var/secrets"
GOOGLE_FILE: Final = "gcloud-application-credentials.json"
"""The key of the Secret of a Google service account, as KServe names it (`pkg/credentials/gcs`)."""
_CONTAINER: Final = {
    **values("name", "image", "args", "envFrom", "resources", "securityContext"),
    "env": values("name", "value", "valueFrom"),
    "volumeMounts": values("name", "mountPath", "readOnly", "subPath"),
}
_VOLUMES: Final = values("name", "emptyDir", "persistentVolumeClaim", "image", "secret")
WRITES: Final = of_templates({"spec": {"volumes": _VOLUMES, "initContainers": _CONTAINER}})
"""The paths of volumes and init containers."""


@dataclass(frozen=True, slots=True)
class Download:
    """What one init container downloads, and where to."""

    name: str
    """The name of the container."""
    uri: Uri
    mount: Object
    """The mount to whose path it downloads."""
    secret: str = ""

    @property
    def secret_volumes(self) -> list[Object]:
        """The volume with the Secret as a file: Google's libraries read one, and no variable."""
        if self.uri.scheme != "gs" or not self.secret:
            return []
        return [{"name": SECRET_VOLUME, "secret": {"secretName": self.secret}}]


def token(secret: str) -> Object:
    """Return the variable with the token for Hugging Face, which the kubelet takes from the Secret."""
    return {"name": TOKEN, "valueFrom": {"secretKeyRef": {"name": secret, "key": TOKEN}}}


def init_container(download: Download, engine: Engine, settings: Settings) -> Object:
    """Return the init container, with the security context of the engine."""
    files = [
        {"name": one["name"], "mountPath": GOOGLE_SECRETS, "readOnly": True}
        for one in download.secret_volumes
    ]
    return {
        "name": download.name,
        "image": settings.storage_initializer_image,
        "args": [download.uri.text, download.mount["mountPath"]],
        **_credentials(download),
        "volumeMounts": [download.mount, *files],
        "resources": settings.storage_initializer_resources or {"limits": dict(LIMITS)},
        "securityContext": unprivileged(engine),
    }


def _credentials(download: Download) -> Object:
    """Return the variables of the download. For S3 and HTTPS every key of the Secret is one, as in KServe."""
    secret = download.secret
    if download.uri.scheme == "hf":
        home = {"name": "HF_HOME", "value": "/tmp"}  # noqa: S108 - any user of the container may write there
        return {"env": [home, token(secret)] if secret else [home]}
    if not secret:
        return {}
    if download.uri.scheme == "gs":
        file = f"{GOOGLE_SECRETS}/{GOOGLE_FILE}"
        return {"env": [{"name": "GOOGLE_APPLICATION_CREDENTIALS", "value": file}]}
    return {"envFrom": [{"secretRef": {"name": secret}}]}
