"""The contract of KServe's storage initializer, with a stand-in: two arguments, and files for the engine."""

import json
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from intent.settings import Settings
from tests.builders.lws import container, lws, template
from tests.storage.pod import Pod
from webhook.expand import expanded

STAND_IN: Final = (
    sys.executable,
    "-c",
    """
import json, os, pathlib, sys
uri, target = sys.argv[1:]
told = {key: os.environ[key] for key in os.environ if key.startswith(("AWS_", "HF_", "GOOGLE_"))}
pathlib.Path(target, "config.json").write_text(json.dumps({"uri": uri, "told": told}))
""",
)
"""What fills the directory of its second argument from the URI of its first, as KServe's image does."""
SECRETS: Final = {
    "keys": {
        "AWS_ACCESS_KEY_ID": "me",
        "HF_TOKEN": "mine",
        "gcloud-application-credentials.json": '{"type": "service_account"}',
    }
}
SIZES: Final = ["--tensor-parallel-size", "8", "--pipeline-parallel-size", "2"]


def pods(root: Path, **notes: Any) -> list[Pod]:
    """Expand a group whose engine is told its model by annotations; return one pod of each template."""
    probe = {"httpGet": {"path": "/health", "port": 8000}}
    plain = template(container(args=SIZES, readinessProbe=probe))
    group = expanded(lws(2, plain, **notes), Settings())["spec"]["leaderWorkerTemplate"]
    specs = [group[field]["spec"] for field in ("leaderTemplate", "workerTemplate")]
    return [Pod(spec, root / str(at)).with_files(SECRETS) for at, spec in enumerate(specs)]


def model_of(pod: Pod) -> str:
    """Return the model that the engine serves: what follows `serve`."""
    args = pod.engine["args"]
    found: str = args[args.index("serve") + 1]
    return found


@pytest.mark.parametrize(
    ("notes", "told"),
    [
        ({"model": "s3://bucket/m", "model_secret": "keys"}, {"AWS_ACCESS_KEY_ID": "me", "HF_TOKEN": "mine"}),
        ({"model": "https://host/m.tar.gz"}, {}),
        (
            {"model": "gs://bucket/m", "model_secret": "keys"},
            {"GOOGLE_APPLICATION_CREDENTIALS": "/var/secrets/gcloud-application-credentials.json"},
        ),
        (
            {"model": "hf://org/M:v1", "model_cache": "download", "model_secret": "keys"},
            {"HF_HOME": "/tmp", "HF_TOKEN": "mine"},  # noqa: S108 - a path in the container
        ),
    ],
    ids=lambda value: value.get("model") if "model" in value else None,
)
def test_leader_and_worker_read_what_was_downloaded(
    tmp_path: Path, notes: dict[str, str], told: dict[str, str]
) -> None:
    for pod in pods(tmp_path, **notes):
        done = pod.download(STAND_IN, SECRETS)
        assert done.returncode == 0, done.stderr

        there = pod.place(pod.engine, model_of(pod))
        assert json.loads((there / "config.json").read_text()) == {"uri": notes["model"], "told": told}


def test_credentials_of_google_are_where_the_variable_says(tmp_path: Path) -> None:
    (pod, _) = pods(tmp_path, model="gs://bucket/m", model_secret="keys")
    file = {one["name"]: one["value"] for one in pod.initializer["env"]}["GOOGLE_APPLICATION_CREDENTIALS"]

    assert json.loads(pod.place(pod.initializer, file).read_text())["type"] == "service_account"


def test_the_engine_cannot_change_what_was_downloaded(tmp_path: Path) -> None:
    for pod in pods(tmp_path, model="s3://bucket/m"):
        (mount,) = [one for one in pod.engine["volumeMounts"] if one["mountPath"] == "/mnt/models"]
        assert mount["readOnly"] is True


@pytest.mark.parametrize("model", ["pvc://claim/a/b", "oci://reg/m", "oci://reg/m#x"])
def test_a_model_that_is_not_downloaded_is_in_the_volume(tmp_path: Path, model: str) -> None:
    claim = {"pvc://claim/a/b": "a/b", "oci://reg/m": "models", "oci://reg/m#x": "x"}[model]
    for pod in pods(tmp_path, model=model):
        assert pod.place(pod.engine, model_of(pod)) == pod.root / "fusioninfer-model" / claim
