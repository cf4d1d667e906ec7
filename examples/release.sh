#!/bin/sh
# For a cluster from which the operator has been removed. Objects of its kinds that are being deleted wait for its finalizers. This script removes these
# finalizers, so that the objects are deleted, and with each object what it owns: snapshots, disks, guests, and the whole namespace of a Workspace.
# It changes nothing else. See docs/installation.md.
# Usage: release.sh
set -eu

if [ -n "$(kubectl get deployments -A -l app.kubernetes.io/name=open-terrain-operator -o name)" ]; then
  echo 'the operator is still installed, and removes its finalizers itself. To see why an object is not deleted, use kubectl describe' >&2
  exit 1
fi

has_crd() {
  [ -n "$(kubectl get crd "$1.pelotech.ot" --ignore-not-found -o name)" ]
}

release() {
  has_crd "$1" || return 0
  # In each line: namespace (- for none), name, and the finalizers that are not the operator's, as a list in JSON.
  held=$(kubectl get "$1.pelotech.ot" -A -o go-template='{{range .items}}{{if .metadata.deletionTimestamp}}{{or .metadata.namespace "-"}} {{.metadata.name}} [{{range .metadata.finalizers}}{{if not (eq . "pelotech.ot/disk-image" "pelotech.ot/virtual-machine" "pelotech.ot/workspace" "pelotech.ot/workspace-snapshot")}}"{{.}}",{{end}}{{end}}]{{"\n"}}{{end}}{{end}}') || {
    # The CRD may have been deleted in the meantime.
    if has_crd "$1"; then return 1; fi
    return 0
  }
  echo "$held" | sed 's/,]$/]/' |
    while read -r namespace name others; do
      [ -n "$name" ] || continue
      [ "$namespace" = - ] && namespace=default
      # It may have been deleted with its owner in the meantime.
      kubectl -n "$namespace" patch "$1.pelotech.ot/$name" --type merge -p "{\"metadata\":{\"finalizers\":$others}}" ||
        [ -z "$(kubectl -n "$namespace" get "$1.pelotech.ot/$name" --ignore-not-found -o name)" ]
    done
}

# Namespaces whose Workspace no longer exists. The garbage collector deletes them, and only then what is in them.
left_behind() {
  for namespace in $(kubectl get namespaces -l pelotech.ot/workspace -o jsonpath='{.items[*].metadata.name}'); do
    kubectl get "workspaces.pelotech.ot/$namespace" -o name >/dev/null 2>&1 || echo "$namespace"
  done
}

seconds=0
while :; do
  for kind in workspaces virtualmachines vmdiskimages datasyncs workspacesnapshots; do release "$kind"; done
  left=$(left_behind)
  [ -n "$left" ] || break
  if [ "$seconds" -ge 120 ]; then
    # On one line.
    # shellcheck disable=SC2086
    echo "these namespaces of Workspaces still exist after 120 s; to see why, use kubectl describe namespace:" $left >&2
    exit 1
  fi
  sleep 1
  seconds=$((seconds + 1))
done
