"""Stands in for KServe's storage initializer: `python -m tests.cluster.testbed.initializer URI FOLDER …`.

Pairs of a URI and a folder, as `python/storage-initializer/scripts/initializer-entrypoint` takes them.
"""

import json
import sys
from pathlib import Path


def main(words: list[str]) -> None:
    """Put a model into each folder that says where it came from."""
    for uri, folder in zip(words[::2], words[1::2], strict=True):
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / "config.json").write_text(json.dumps({"from": uri}))


if __name__ == "__main__":
    main(sys.argv[1:])
