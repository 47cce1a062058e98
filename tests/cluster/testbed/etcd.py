"""What etcd is asked past the API server (its JSON gateway, `etcd.io/docs` "gRPC gateway")."""

import http.client
import json

from intent import Object
from tests.cluster.testbed.cluster import Cluster


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
