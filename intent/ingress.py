"""The rules of Kubernetes about the spec of an Ingress, for values of the right types.

The API server applies them when the Ingress is created, and the schema has none of them. What has no backend
leads to the service's own Service, so a backend may be absent.

Source: `k8s.io/kubernetes` v1.35.4 `pkg/apis/networking/validation`.
"""

import re
from ipaddress import AddressValueError, IPv4Address
from typing import Final

from intent import Object
from intent.names import SUBDOMAIN, is_dns_1035_label, is_path_segment, is_subdomain
from intent.schema import FieldCheck, Rules
from intent.shapes import mapping

PATH_TYPES: Final = ("Exact", "Prefix", "ImplementationSpecific")
_AMONG: Final = ("//", "/./", "/../", "%2f", "%2F")
_AT_THE_END: Final = ("/..", "/.")
PORT_NAME: Final = 15
HIGHEST_PORT: Final = 65535
_PORT_NAME: Final = re.compile("(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*").fullmatch


def _class(spec: Object) -> str:
    wrong = not is_subdomain(spec.get("ingressClassName", "any"))
    return "ingressClassName must be the name of an IngressClass" if wrong else ""


def _hostname(host: str) -> str:
    fits = len(host) <= SUBDOMAIN and is_subdomain(host.removeprefix("*."))
    return "" if fits else "must be a hostname; *. may begin it"


def _host(rule: Object) -> str:
    host = rule.get("host", "")
    if _is_ip(host):
        return "host must be a hostname, not an IP address"
    wrong = _hostname(host) if host else ""
    return f"host {wrong}" if wrong else ""


def _is_ip(host: str) -> bool:
    try:
        IPv4Address(host)
    except AddressValueError:
        return False
    return True


def _secret(tls: Object) -> str:
    name = tls.get("secretName", "")
    return "secretName must be the name of a Secret" if name and not is_subdomain(name) else ""


# --- paths --------------------------------------------------------------------------------------------


def _path(path: Object) -> str:
    kind, value = path["pathType"], path.get("path", "")
    if kind not in PATH_TYPES:
        return f"pathType must be one of {', '.join(PATH_TYPES)}"
    is_free = kind == "ImplementationSpecific"
    if not value.startswith("/") and (value or not is_free):
        return "path must start with /"
    bad = [part for part in _AMONG if part in value] + [end for end in _AT_THE_END if value.endswith(end)]
    return f"path must not have {bad[0]}" if bad and not is_free else ""


# --- backends -----------------------------------------------------------------------------------------


def _backend(backend: Object) -> str:
    """Require one of two fields; a backend that is absent as a whole is the service's own."""
    given = backend.keys() & {"service", "resource"}
    return "" if len(given) == 1 else "must have exactly one of service and resource, or be absent"


def _service(service: Object) -> str:
    if not is_dns_1035_label(service["name"]):
        return "name must be the name of a Service"
    port = mapping(service.get("port"))
    name, number = port.get("name", ""), port.get("number", 0)
    if bool(name) == bool(number):
        return "port must have exactly one of name and number"
    if number and not 0 < number <= HIGHEST_PORT:
        return f"port.number must be from 1 to {HIGHEST_PORT}"
    wrong = name and not (len(name) <= PORT_NAME and _PORT_NAME(name))
    return f"port.name must have at most {PORT_NAME} lower-case letters, digits and '-'" if wrong else ""


def _resource(resource: Object) -> str:
    if not is_subdomain(resource.get("apiGroup", "any")):
        return "apiGroup must be an API group"
    wrong = [field for field in ("kind", "name") if not is_path_segment(resource[field])]
    return f"{wrong[0]} must be a name, without / and %" if wrong else ""


def _of_backend(path: str) -> dict[str, tuple[FieldCheck, ...]]:
    return {path: (_backend,), f"{path}.service": (_service,), f"{path}.resource": (_resource,)}


OF_INGRESS: Final[Rules] = {
    "": (_class,),
    ".rules[]": (_host,),
    ".rules[].http.paths[]": (_path,),
    ".tls[]": (_secret,),
    ".tls[].hosts[]": (_hostname,),
    **_of_backend(".defaultBackend"),
    **_of_backend(".rules[].http.paths[].backend"),
}
"""The rules about the spec, by path."""
