"""The script of KServe's presets, run by bash with a stand-in for vLLM that tells its arguments."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from intent import Object
from intent.image import read_image
from intent.shapes import listed, text

UNKNOWN: Final = "0.22.1"
"""The version that the engine of an image without a known one says."""
LEADER: Final = "127.0.0.1"
STAND_IN: Final = """#!/bin/bash
if [ "$1" = --version ]; then echo "$VERSION"; exit; fi
printf '%s\\0' "$@" > "$ARGUMENTS"
"""


def add_stand_in(folder: Path) -> Path:
    """Put the stand-in into a folder, and return the folder."""
    (folder / "vllm").write_text(STAND_IN)
    (folder / "vllm").chmod(0o755)
    return folder


def is_script(container: Object) -> bool:
    """Return whether a container's command is the script of a preset."""
    command = listed(container.get("command"))
    return command[:1] == ["/bin/bash"] and 'eval "exec vllm' in command[2]


def arguments(container: Object, stand_in: Path) -> list[str]:
    """Run a container's script, and return the arguments that the engine got."""
    command = _words(container)
    version = ".".join(map(str, read_image(text(container.get("image"))).version)) or UNKNOWN
    said = stand_in / "arguments"
    said.unlink(missing_ok=True)
    variables = {
        one["name"]: one["value"] for one in listed(container.get("env")) if isinstance(one.get("value"), str)
    }
    environment = {
        **variables,
        "KSERVE_INFER_ROCE": "false",
        "LWS_LEADER_ADDRESS": LEADER,
        "LWS_WORKER_INDEX": "1",
        "PATH": f"{stand_in}:{os.environ['PATH']}",
        "VERSION": version,
        "ARGUMENTS": str(said),
    }
    subprocess.run(
        [shutil.which("bash") or command[0], *command[1:]], env=environment, check=True, capture_output=True
    )
    return said.read_text().split("\0")[:-1]


def engine_arguments(container: Object, stand_in: Path) -> list[str]:
    """Return the arguments of `vllm serve`, or the whole command if another program is started."""
    words = _words(container)
    if is_script(container) or words[:2] == ["/bin/sh", "-c"]:
        return arguments(container, stand_in)
    return words[1:] if words[:2] == ["vllm", "serve"] else words


def _words(container: Object) -> list[str]:
    """Return command and arguments as the kubelet gives them."""
    words = [*listed(container.get("command")), *listed(container.get("args"))]
    return [text(one).replace("$(LWS_LEADER_ADDRESS)", LEADER) for one in words]
