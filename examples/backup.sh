#!/bin/sh
# Prints the objects that people and pipelines created in this cluster, as a List for `kubectl apply -f -` in another cluster. It leaves out images and
# machines that the operator created (for a template, a DataSync or a Workspace), because it creates them again, and what is being deleted, except images
# that something still needs, and workspacesnapshots.pelotech.ot, which are of disks of this cluster. It also leaves out which claims volumes were restored to: those
# are of this cluster too, and a volume whose claim is gone is lost. Needs jq. See docs/installation.md.
# Usage: backup.sh > backup.json
set -eu

kubectl get workspaces.pelotech.ot,virtualmachines.pelotech.ot,datasyncs.pelotech.ot,vmdiskimages.pelotech.ot -A -o json |
  jq '{
    apiVersion: "v1",
    kind: "List",
    items: [
      .items[]
      | select(.metadata.deletionTimestamp == null or (.status.references.count // 0) > 0)
      | select(.metadata.ownerReferences == null)
      | select(.metadata.labels["pelotech.ot/created-by"] == null)
      | { apiVersion, kind, metadata: (.metadata | { name, namespace, labels, annotations }), spec }
      | del(.metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"], .metadata.annotations["pelotech.ot/volume-claims"])
      | .metadata |= with_entries(select(.value != null))
    ]
  }'
