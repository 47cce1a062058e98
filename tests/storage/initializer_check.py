"""KServe's own storage initializer against a real S3 server: `make soak SOAK=storage`.

The package of KServe is installed into an environment of its own, outside the tree. MinIO is built from its
Go module. What the initializer gets is what admission writes: arguments and variables of the init container.
"""

import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.cluster.testbed.build import build, cache_directory
from tests.cluster.testbed.modules import STORAGE_MODULES
from tests.cluster.testbed.ports import free_ports
from tests.storage.pod import Pod, Secrets
from tests.storage.test_contract import model_of, pods

PACKAGE: Final = "kserve-storage==0.21.0"
"""Of the release whose image is the default of the settings."""
ENTRYPOINT: Final = "import sys; from kserve_storage import Storage; Storage.download(*sys.argv[1:3])"
"""What the image runs (kserve/kserve `python/storage-initializer/scripts/initializer-entrypoint`)."""
FILES: Final = {"config.json": b"{}", "weights/model-00001.safetensors": bytes(range(256)) * 4096}
FILL: Final = """
import boto3, os, pathlib, sys
s3 = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
s3.create_bucket(Bucket="models")
root = pathlib.Path(sys.argv[1])
for file in root.rglob("*"):
    if file.is_file():
        s3.upload_file(str(file), "models", f"qwen/{file.relative_to(root)}")
"""
USER, PASSWORD = "minio-user", "minio-password"


@pytest.fixture(scope="module")
def python() -> str:
    """Return the Python of the environment that has KServe's package."""
    folder = cache_directory().parent / PACKAGE.replace("==", "-")
    program = folder / "bin" / "python"
    if not (folder / "installed").exists():
        venv.create(folder, with_pip=True, clear=True)
        install = [str(program), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE]
        subprocess.run(install, check=True)
        (folder / "installed").touch()
    return str(program)


@pytest.fixture(scope="module")
def s3(python: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secrets]:
    """Start MinIO with a model in a bucket; yield the Secret by which clients reach it."""
    binary = build(sys.stderr, STORAGE_MODULES).binary("minio")
    port, data = free_ports(["minio"])["minio"], tmp_path_factory.mktemp("minio")
    keys = {
        "AWS_ACCESS_KEY_ID": USER,
        "AWS_SECRET_ACCESS_KEY": PASSWORD,
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    environment = {"MINIO_ROOT_USER": USER, "MINIO_ROOT_PASSWORD": PASSWORD, "HOME": str(data)}
    command = [str(binary), "server", "--quiet", "--address", f"127.0.0.1:{port}", str(data / "disk")]
    with subprocess.Popen(command, env=environment) as server:
        try:
            filled(python, keys, written(tmp_path_factory.mktemp("model")))
            yield {"keys": keys}
        finally:
            server.terminate()


def written(folder: Path) -> Path:
    """Write the files of the model into a folder."""
    for name, content in FILES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return folder


def filled(python: str, keys: dict[str, str], folder: Path) -> None:
    """Upload the model as soon as the server answers."""
    for _ in range(60):
        command = [python, "-c", FILL, str(folder)]
        done = subprocess.run(command, env=keys, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return
        time.sleep(1)
    pytest.fail(done.stderr)


def found(pod: Pod) -> dict[str, bytes]:
    """Return the files that the engine finds at its model."""
    root = pod.place(pod.engine, model_of(pod))
    return {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*") if file.is_file()}


def test_leader_and_worker_get_the_files_of_a_bucket(python: str, s3: Secrets, tmp_path: Path) -> None:
    began = time.monotonic()
    for pod in pods(tmp_path, model="s3://models/qwen", model_secret="keys"):
        done = pod.download((python, "-c", ENTRYPOINT), s3)

        assert done.returncode == 0, done.stderr
        assert found(pod) == FILES
    size, seconds = sum(map(len, FILES.values())), time.monotonic() - began
    sys.stdout.write(f"summary: {PACKAGE} downloaded {size} bytes twice in {seconds:.1f} s\n")


def test_without_the_keys_the_init_container_fails(python: str, s3: Secrets, tmp_path: Path) -> None:
    (pod, _) = pods(tmp_path, model="s3://models/qwen", model_secret="keys")
    wrong = {"keys": {**s3["keys"], "AWS_SECRET_ACCESS_KEY": "wrong"}}

    done = pod.download((python, "-c", ENTRYPOINT), wrong)

    assert done.returncode != 0
    assert found(pod) == {}


def test_a_prefix_without_files_fails_the_init_container(python: str, s3: Secrets, tmp_path: Path) -> None:
    (pod, _) = pods(tmp_path, model="s3://models/other", model_secret="keys")

    done = pod.download((python, "-c", ENTRYPOINT), s3)

    assert done.returncode != 0
    assert "No model found" in done.stderr
