"""Valid specs of Ingresses; and invalid ones, with the path of the error.

They are checked here, and compared with a real API server (`tests/cluster/test_rules.py`).
"""

from typing import Any, Final

from intent import Object

SERVICE: Final[Object] = {"service": {"name": "models", "port": {"number": 80}}}
BUCKET: Final[Object] = {"resource": {"apiGroup": "k8s.example.com", "kind": "Bucket", "name": "b"}}


def path(**fields: Any) -> Object:
    """Return an Ingress with one path."""
    one = {"path": "/v1", "pathType": "Prefix", "backend": SERVICE, **fields}
    return {"rules": [{"host": "a.example.com", "http": {"paths": [one]}}]}


def host(name: str) -> Object:
    """Return an Ingress with one host."""
    return {"rules": [{**path()["rules"][0], "host": name}]}


def port(**fields: Any) -> Object:
    """Return an Ingress with a port of a Service."""
    return {"defaultBackend": {"service": {"name": "models", "port": fields}}}


_PATH: Final = ".rules[0].http.paths[0]"
GOOD_INGRESSES: Final[dict[str, Object]] = {
    "a backend": {"defaultBackend": SERVICE, "ingressClassName": "nginx"},
    "a backend of another kind": {"defaultBackend": BUCKET},
    "a path": path(),
    "a path of the controller's own form": path(path="/%2f", pathType="ImplementationSpecific"),
    "no path": path(path="", pathType="ImplementationSpecific"),
    "a wildcard": host("*.example.com"),
    "a long label": host(f"{'a' * 64}.com"),
    "no host": host(""),
    "a port's name": port(name="http-8000"),
    "the highest port": port(number=65535),
    "certificates": {**path(), "tls": [{"hosts": ["*.example.com"], "secretName": "cert"}, {}]},
}
BROKEN_INGRESSES: Final[dict[str, tuple[Object, str]]] = {
    "a misspelt field": ({"rule": []}, ".rule"),
    "a path without a type": (path(pathType=None), f"{_PATH}.pathType"),
    "a port as a text": (port(number="80"), ".defaultBackend.service.port.number"),
}
"""Each with the path of the field that is reported."""
