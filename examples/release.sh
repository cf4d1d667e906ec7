#!/bin/sh
# Where the operator is gone for good: takes its finalizers off the objects of its kinds that are being deleted, so that they go, and with each of
# them what it owns (snapshots, disks, guests; the namespace of a Workspace, with all that is in it). Nothing else is touched. See docs/installation.md.
# Usage: release.sh
set -eu

if [ -n "$(kubectl get deployments -A -l app.kubernetes.io/name=open-terrain-operator -o name)" ]; then
  echo 'the operator is installed, and lets go of what is deleted by itself: see kubectl describe of what stays' >&2
  exit 1
fi

has_crd() {
  [ -n "$(kubectl get crd "$1.pelotech.ot" --ignore-not-found -o name)" ]
}

release() {
  has_crd "$1" || return 0
  # In each line: namespace (- for none), name, and the finalizers of others as a list in JSON.
  held=$(kubectl get "$1.pelotech.ot" -A -o go-template='{{range .items}}{{if .metadata.deletionTimestamp}}{{or .metadata.namespace "-"}} {{.metadata.name}} [{{range .metadata.finalizers}}{{if not (eq . "pelotech.ot/disk-image" "pelotech.ot/virtual-machine" "pelotech.ot/workspace")}}"{{.}}",{{end}}{{end}}]{{"\n"}}{{end}}{{end}}') || {
    # The CRD may have been deleted meanwhile.
    ! has_crd "$1"
    return
  }
  echo "$held" | sed 's/,]$/]/' |
    while read -r namespace name others; do
      [ -n "$name" ] || continue
      [ "$namespace" = - ] && namespace=default
      # It may have gone with its owner meanwhile.
      kubectl -n "$namespace" patch "$1.pelotech.ot/$name" --type merge -p "{\"metadata\":{\"finalizers\":$others}}" ||
        [ -z "$(kubectl -n "$namespace" get "$1.pelotech.ot/$name" --ignore-not-found -o name)" ]
    done
}

# Namespaces of Workspaces that are gone: they go too, and only then what is in them.
left_behind() {
  for namespace in $(kubectl get namespaces -l pelotech.ot/workspace -o jsonpath='{.items[*].metadata.name}'); do
    kubectl get "workspaces.pelotech.ot/$namespace" -o name >/dev/null 2>&1 || echo "$namespace"
  done
}

seconds=0
while :; do
  for kind in workspaces virtualmachines vmdiskimages datasyncs; do release "$kind"; done
  left=$(left_behind)
  [ -n "$left" ] || break
  if [ "$seconds" -ge 120 ]; then
    echo "these namespaces of Workspaces stay: see kubectl describe namespace of" $left >&2
    exit 1
  fi
  sleep 1
  seconds=$((seconds + 1))
done
