"""An editor for `kubectl edit`: another image, one more variable, a sidecar, one more group."""

import sys
from pathlib import Path

import yaml


def main(file: Path) -> None:
    """Edit the LeaderWorkerSet in a file."""
    lws = yaml.safe_load(file.read_text())
    lws["spec"]["replicas"] = 2
    for template in ("leaderTemplate", "workerTemplate"):
        containers = lws["spec"]["leaderWorkerTemplate"][template]["spec"]["containers"]
        engine = next(container for container in containers if container["name"] == "vllm")
        engine["image"] = "vllm/vllm-openai:v0.17.2"
        engine["env"].append({"name": "ADDED", "value": "by hand"})
        containers.append({"name": "sidecar", "image": "example.com/sidecar:1"})
    file.write_text(yaml.safe_dump(lws))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
