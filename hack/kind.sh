#!/usr/bin/env bash
# Create a kind cluster with LeaderWorkerSet, Volcano and FusionInfer, whose image is built from this clone.
#
#   hack/kind.sh         create the cluster, or install this clone again after a change
#   hack/kind.sh down    delete the cluster
#
# Needs docker (or another engine that kind supports), kind, kubectl and helm.
set -euo pipefail
cd "$(dirname "$0")/.."

CLUSTER=${CLUSTER:-fusioninfer}
LWS_VERSION=v0.9.0
VOLCANO_VERSION=v1.14.1
IMAGE=fusioninfer:quickstart

LWS=https://github.com/kubernetes-sigs/lws/releases/download/$LWS_VERSION/manifests.yaml
VOLCANO=https://raw.githubusercontent.com/volcano-sh/volcano/$VOLCANO_VERSION/installer/volcano-development.yaml

run() {
  printf '\n$ %s\n' "$*"
  "$@"
}

need() {
  for program in "$@"; do
    command -v "$program" >/dev/null || { echo "hack/kind.sh: $program is not installed" >&2; exit 2; }
  done
}

ready() {
  run kubectl --namespace "$1" rollout status "deployment/$2" --timeout 5m
}

up() {
  need docker kind kubectl helm
  if ! kind get clusters | grep -qx "$CLUSTER"; then
    run kind create cluster --name "$CLUSTER" --wait 5m
  fi
  run kubectl config use-context "kind-$CLUSTER"
  run docker build --tag "$IMAGE" .
  run kind load docker-image "$IMAGE" --name "$CLUSTER"
  run kubectl apply --server-side --filename "$LWS"
  run kubectl apply --server-side --filename "$VOLCANO"
  ready lws-system lws-controller-manager
  ready volcano-system volcano-admission
  ready volcano-system volcano-scheduler
  run helm upgrade --install fusioninfer manifests/chart --namespace fusioninfer-system --create-namespace \
    --set image.repository="${IMAGE%:*}" --set image.tag="${IMAGE#*:}" \
    --set webhook.replicas=1 --set sync.replicas=1
  run kubectl --namespace fusioninfer-system rollout restart deployment
  ready fusioninfer-system fusioninfer-sync
  ready fusioninfer-system fusioninfer-webhook
  printf '\nThe cluster is ready. Next: kubectl apply -f docs/examples/cpu-two-pods.yaml (docs/quickstart.md)\n'
}

case "${1:-up}" in
  up) up ;;
  down) need kind; run kind delete cluster --name "$CLUSTER" ;;
  *) sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
