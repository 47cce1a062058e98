"""What etcd is asked past the API server (its JSON gateway, `etcd.io/docs` "gRPC gateway")."""

import http.client
import json

from intent import Object
from tests.cluster.testbed.cluster import Cluster


def compact(cluster: Cluster) -> int:
    """Have etcd forget all but what is stored now; return the revision from which it remembers."""
    revision = int(ask(cluster, "/v3/kv/range", {"key": "AA=="})["header"]["revision"])
    ask(cluster, "/v3/kv/compaction", {"revision": str(revision), "physical": True})
    return revision


def ask(cluster: Cluster, where: str, body: Object) -> Object:
    """Make one call; raises ValueError unless it is answered."""
    connection = http.client.HTTPConnection("127.0.0.1", cluster.ports["etcd"], timeout=10)
    try:
        connection.request("POST", where, json.dumps(body))
        answer: Object = json.loads(connection.getresponse().read())
    finally:
        connection.close()
    if "header" not in answer:
        raise ValueError(answer)
    return answer
