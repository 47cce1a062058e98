"""Stands in for vLLM over several pods: takes its flags, and serves once every pod has joined with the model.

A flag that is not here ends it, as it ends vLLM. The model is a folder with a `config.json`, or the name of a
repository, which is not downloaded.
"""

import argparse
import http.server
import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any


def flags() -> argparse.ArgumentParser:
    """Return the flags that this stand-in knows, by the names of `vllm/engine/arg_utils.py`."""
    known = argparse.ArgumentParser(allow_abbrev=False)
    known.add_argument("command", choices=["serve"])
    known.add_argument("model", type=Path)
    known.add_argument("--served-model-name", nargs="+", required=True)
    known.add_argument("--port", type=int, default=8000)
    known.add_argument("--tensor-parallel-size", type=int, default=1)
    known.add_argument("--pipeline-parallel-size", type=int, default=1)
    known.add_argument("--nnodes", type=int, default=1)
    known.add_argument("--node-rank", type=int, default=0)
    known.add_argument("--master-addr", default="localhost")
    known.add_argument("--master-port", type=int, default=29501)
    known.add_argument("--headless", action="store_true")
    known.add_argument("--disable-access-log-for-endpoints")
    known.add_argument("--shutdown-timeout", type=int)
    return known


def about(asked: argparse.Namespace) -> dict[str, Any]:
    """Return what a pod says of itself: its rank, its sizes, and the model that it read."""
    is_folder = asked.model.is_absolute()
    model = json.loads((asked.model / "config.json").read_text())["from"] if is_folder else str(asked.model)
    sizes = [asked.tensor_parallel_size, asked.pipeline_parallel_size]
    return {"pod": os.environ["HOSTNAME"], "rank": asked.node_rank, "sizes": sizes, "model": model}


def work(asked: argparse.Namespace) -> None:
    """Join the leader, and end when it ends."""
    line = json.dumps(about(asked)).encode() + b"\n"
    while True:
        try:
            with socket.create_connection((asked.master_addr, asked.master_port)) as leader:
                leader.sendall(line)
                leader.recv(1)
                return
        except OSError:
            time.sleep(0.2)


def lead(asked: argparse.Namespace) -> None:
    """Wait for all workers, and serve."""
    own = about(asked)
    with socket.create_server(("", asked.master_port)) as server:
        joined = [server.accept()[0] for _ in range(asked.nnodes - 1)]
    pods = [own, *(json.loads(each.makefile().readline()) for each in joined)]
    Api.names, Api.pods = asked.served_model_name, pods
    http.server.ThreadingHTTPServer(("", asked.port), Api).serve_forever()


class Api(http.server.BaseHTTPRequestHandler):
    """Answers as vLLM's API server does, with the pods in place of a text."""

    names: list[str]
    pods: list[dict[str, Any]]

    def do_GET(self) -> None:
        """List the models."""
        self._say(200, {"object": "list", "data": [{"id": name, "object": "model"} for name in self.names]})

    def do_POST(self) -> None:
        """Complete a prompt of a model that is served."""
        model = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["model"]
        if model in self.names:
            self._say(200, {"object": "text_completion", "model": model, "pods": self.pods, "choices": []})
        else:
            self._say(404, {"object": "error", "message": f"The model `{model}` does not exist."})

    def _say(self, status: int, body: dict[str, Any]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_words: object) -> None:
        """Log nothing."""


def main(words: list[str]) -> None:
    """Run a pod of the group."""
    asked = flags().parse_args(words)
    (work if asked.headless else lead)(asked)


if __name__ == "__main__":
    main(sys.argv[1:])
