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


_RULE: Final = ".rules[0]"
_PATH: Final = f"{_RULE}.http.paths[0]"
_OF_A_PATH: Final = f"{_PATH}.backend.service"
_SERVICE: Final = ".defaultBackend.service"
_RESOURCE: Final = ".defaultBackend.resource"
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
    "a class that is no name": ({**path(), "ingressClassName": "Nginx"}, ""),
    "an empty class": ({**path(), "ingressClassName": ""}, ""),
    "a host with a port": (host("a.example.com:80"), _RULE),
    "an address as a host": (host("10.0.0.1"), _RULE),
    "a wildcard in a label": (host("a*.example.com"), _RULE),
    "a host that is too long": (host(f"*.{'a' * 252}"), _RULE),
    "a relative path": (path(path="v1"), _PATH),
    "an exact path that is empty": (path(path="", pathType="Exact"), _PATH),
    "a path with two slashes": (path(path="/a//b"), _PATH),
    "a path that leads up": (path(path="/a/.."), _PATH),
    "an unknown type": (path(pathType="Regex"), _PATH),
    "a backend of neither kind": ({"defaultBackend": {}}, ".defaultBackend"),
    "a backend of both kinds": (path(backend={**SERVICE, **BUCKET}), f"{_PATH}.backend"),
    "a Service without a name": (path(backend={"service": {**SERVICE["service"], "name": ""}}), _OF_A_PATH),
    "no port": (port(), _SERVICE),
    "a port of 0": (port(number=0), _SERVICE),
    "a port beyond the highest": (port(number=65536), _SERVICE),
    "a negative port": (port(number=-1), _SERVICE),
    "two ports": (port(number=80, name="http"), _SERVICE),
    "a port's name without a letter": (port(name="80"), _SERVICE),
    "a port's name that is too long": (port(name="a" * 16), _SERVICE),
    "a kind with a slash": ({"defaultBackend": {"resource": {"kind": "a/b", "name": "b"}}}, _RESOURCE),
    "an API group that is no domain": (
        {"defaultBackend": {"resource": {**BUCKET["resource"], "apiGroup": "A"}}},
        _RESOURCE,
    ),
    "a host of a certificate": ({**path(), "tls": [{"hosts": ["a_b"]}]}, ".tls[0].hosts[0]"),
    "a Secret that is no name": ({**path(), "tls": [{"secretName": "A"}]}, ".tls[0]"),
}
"""Each with the path of the field that is reported."""
