"""Stands in for `vllm`: writes what it was given and which nodes Ray has, then stays as a server does."""

import importlib
import json
import os
import signal
import sys
from pathlib import Path

ray = importlib.import_module("ray")
ray.init(address="auto", log_to_driver=False)
record = {
    "argv": [Path(sys.argv[0]).name, *sys.argv[1:]],
    "environment": dict(os.environ),
    "nodes": ray.nodes(),
    "process": os.getpid(),
}
unfinished = Path("/tmp/unfinished.json")  # noqa: S108 - the pod's own
unfinished.write_text(json.dumps(record, default=str))
unfinished.rename("/tmp/record.json")  # noqa: S108 - the pod's own
signal.pause()
