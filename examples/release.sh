#!/bin/sh
# Where the operator is gone for good: takes its finalizers off the objects of its kinds that are being deleted, so that they go, and with each of
# them what it owns (snapshots, disks, guests). Nothing else is touched. See docs/installation.md.
# Usage: release.sh
set -eu

if [ -n "$(kubectl get deployments -A -l app.kubernetes.io/name=open-terrain-operator -o name)" ]; then
  echo 'the operator is installed, and lets go of what is deleted by itself: see kubectl describe of what stays' >&2
  exit 1
fi

for kind in workspaces virtualmachines vmdiskimages datasyncs; do
  # In each line: namespace (- for none), name, and the finalizers of others as a list in JSON.
  kubectl get "$kind.pelotech.ot" -A -o go-template='{{range .items}}{{if .metadata.deletionTimestamp}}{{or .metadata.namespace "-"}} {{.metadata.name}} [{{range .metadata.finalizers}}{{if not (eq . "pelotech.ot/disk-image" "pelotech.ot/virtual-machine" "pelotech.ot/workspace")}}"{{.}}",{{end}}{{end}}]{{"\n"}}{{end}}{{end}}' |
    sed 's/,]$/]/' |
    while read -r namespace name others; do
      [ "$namespace" = - ] && namespace=default
      kubectl -n "$namespace" patch "$kind.pelotech.ot/$name" --type merge -p "{\"metadata\":{\"finalizers\":$others}}"
    done
done
