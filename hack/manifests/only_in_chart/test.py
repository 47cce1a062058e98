"""Ask webhook and controller whether they are ready, and send the webhook an admission request over TLS.

Arguments: the webhook's URL, the file of its CA, and the URLs to ask. Without that file, its certificate is
not verified. Without its URL (its callers need a certificate), no request is sent.
"""

import json
import ssl
import sys
import urllib.request
from pathlib import Path

webhook, bundle, *ready = sys.argv[1:]
for url in ready:
    with urllib.request.urlopen(url, timeout=10) as answer:
        print(f"{url}: {answer.status}")
if not webhook:
    sys.exit(0)
verified = Path(bundle).exists()
context = ssl.create_default_context(cafile=bundle if verified else None)
if not verified:
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
pod = {"spec": {"containers": [{"name": "engine", "image": "example.com/engine", "command": ["serve"]}]}}
review = {
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "request": {
        "uid": "helm-test",
        "kind": {"group": "leaderworkerset.x-k8s.io", "version": "v1", "kind": "LeaderWorkerSet"},
        "resource": {"group": "leaderworkerset.x-k8s.io", "version": "v1", "resource": "leaderworkersets"},
        "name": "helm-test",
        "namespace": "default",
        "operation": "CREATE",
        "userInfo": {"username": "helm-test"},
        "dryRun": True,
        "object": {
            "apiVersion": "leaderworkerset.x-k8s.io/v1",
            "kind": "LeaderWorkerSet",
            "metadata": {
                "name": "helm-test",
                "namespace": "default",
                "annotations": {"fusioninfer.io/service": "helm-test", "fusioninfer.io/launcher": "none"},
            },
            "spec": {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": pod}},
        },
    },
}
request = urllib.request.Request(
    f"{webhook}/mutate?timeout=5s", json.dumps(review).encode(), {"Content-Type": "application/json"}
)
with urllib.request.urlopen(request, timeout=10, context=context) as answer:
    response = json.load(answer)["response"]
if not response["allowed"] or "patch" not in response:
    sys.exit(f"{webhook}: the LeaderWorkerSet was not expanded: {response}")
print(f"{webhook}: expands a LeaderWorkerSet" + ("" if verified else "; its certificate was not verified"))
