"""Stands in for an engine: `python -m tests.cluster.testbed.engine NAME PORT LOG`.

It answers as vLLM's API server does, says its own name and what it was sent, and writes every request into a
file of JSON lines. `POST /set` changes what its metrics say, and the status it answers with. It takes chunked
bodies, since Envoy sends nothing else once a picker has seen the body.
"""

import json
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

METRICS: Final = """\
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{{model_name="stand-in"}} {waiting}
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{{model_name="stand-in"}} {running}
# TYPE {cache_metric} gauge
{cache_metric}{{model_name="stand-in"}} {cache}
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{{block_size="16",num_gpu_blocks="1000"}} 1
# TYPE vllm:lora_requests_info gauge
vllm:lora_requests_info{{max_lora="{max_lora}",running_lora_adapters="{adapters}"{no_others}}} {now}
"""
"""By the names of vLLM's `vllm/v1/metrics/loggers.py`."""

IDLE: Final[dict[str, Any]] = {
    "waiting": 0,
    "running": 0,
    "cache": 0.0,
    "cache_metric": "vllm:kv_cache_usage_perc",
    "adapters": "",
    "max_lora": 4,
    "status": 200,
    "health": 200,
    "hands_over": True,
    "seconds": 0,
}
"""What `/set` may change. Before vLLM 0.10 the metric was vllm:gpu_cache_usage_perc."""


class Engine(ThreadingHTTPServer):
    """A server with the state of one engine."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, name: str, port: int, log: Path) -> None:
        super().__init__(("", port), Handler)
        self.name = name
        self.log = log
        self.state = dict(IDLE)
        self.reads = 0
        self.writing = threading.Lock()

    def note(self, request: dict[str, Any]) -> None:
        """Write a request down."""
        with self.writing, self.log.open("a") as lines:
            lines.write(json.dumps(request) + "\n")


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    server: Engine
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Answer about the engine itself."""
        if self.path == "/metrics":
            self.server.reads += 1
            self._answer(200, _metrics(self.server.state).encode(), "text/plain")
        elif self.path == "/health":
            self._answer(self.server.state["health"], b"")
        elif self.path == "/reads":
            self._say(200, {"reads": self.server.reads})
        else:
            self._say(200, {"engine": self.server.name, "object": "list", "data": [{"id": "stand-in"}]})

    def do_POST(self) -> None:
        """Answer a request for tokens, or change the state."""
        body = json.loads(b"".join(self._pieces()) or b"null")
        if self.path == "/set":
            self.server.state |= body
            self._answer(200, b"")
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.note({"path": self.path, "headers": headers, "body": body})
        time.sleep(self.server.state["seconds"])
        answer = {
            "engine": self.server.name,
            "seen_path": self.path,
            "seen_headers": headers,
            "seen_body": body,
        }
        self._say(self.server.state["status"], {**answer, **self._hand_over(body), "choices": []})

    def _hand_over(self, body: Any) -> dict[str, Any]:
        """Return where a decoder finds the cache, as NIXL's connector does, if one will ask for it."""
        asked = (body or {}).get("kv_transfer_params") or {}
        if not (asked.get("do_remote_decode") and self.server.state["hands_over"]):
            return {}
        here = {"remote_engine_id": self.server.name, "remote_block_ids": [1, 2], "remote_port": 5600}
        address = self.connection.getsockname()[0]
        return {"kv_transfer_params": {"do_remote_prefill": True, "remote_host": address, **here}}

    def _pieces(self) -> Iterator[bytes]:
        """Read the body, chunked (RFC 9112, section 7.1) or of a known length."""
        if self.headers.get("Transfer-Encoding") != "chunked":
            yield self.rfile.read(int(self.headers.get("Content-Length", 0)))
            return
        while size := int(self.rfile.readline().split(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass

    def _say(self, status: int, body: dict[str, Any]) -> None:
        self._answer(status, json.dumps(body).encode())

    def _answer(self, status: int, body: bytes, media: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("X-Engine", self.server.name)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: object) -> None:
        """Log nothing."""


def _metrics(state: dict[str, Any]) -> str:
    return METRICS.format(**state, no_others=',waiting_lora_adapters=""', now=time.time())


if __name__ == "__main__":
    Engine(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])).serve_forever()
