#!/bin/sh
# Prints the objects that people and pipelines created in this cluster, as a List for `kubectl apply -f -` in another cluster. It leaves out images and
# machines that the operator created (for a template, a DataSync or a Workspace), because it creates them again, and what is being deleted, except images
# that something still needs, and workspacesnapshots.pelotech.ot, which are of disks of this cluster. It also leaves out which claims volumes were restored to: those
# are of this cluster too, and a volume whose claim is gone is lost. Needs jq. See docs/installation.md.
# With ADOPT=yes, images adopt what they have in the storage of this cluster, in place of a download: for a restore where that still exists
# (docs/adoption.md).
# Usage: backup.sh > backup.json
set -eu

kubectl get workspaces.pelotech.ot,virtualmachines.pelotech.ot,datasyncs.pelotech.ot,vmdiskimages.pelotech.ot -A -o json |
  jq --arg adopt "${ADOPT:-no}" '
  # What the artifact of an image is adopted by: its snapshot, or the DataVolume of its claim. Only one of the present spec.
  def adopted:
    .status as $status
    | if $adopt != "yes" or $status.artifact == null or $status.artifact.revision != $status.revision then null
      elif $status.artifact.kind == "VolumeSnapshot" then "volumesnapshot/" + $status.artifact.name
      elif $status.artifact.adoptedUID != null then $status.adoption.object
      else "datavolume/" + $status.artifact.name
      end;
  {
    apiVersion: "v1",
    kind: "List",
    items: [
      .items[]
      | select(.metadata.deletionTimestamp == null or (.status.references.count // 0) > 0)
      | select(.metadata.ownerReferences == null)
      | select(.metadata.labels["pelotech.ot/created-by"] == null)
      | adopted as $adopted
      | { apiVersion, kind, metadata: (.metadata | { name, namespace, labels, annotations }), spec }
      | del(.metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"], .metadata.annotations["pelotech.ot/volume-claims"], .metadata.annotations["pelotech.ot/adopt"])
      | if $adopted != null then .metadata.annotations["pelotech.ot/adopt"] = $adopted else . end
      | .metadata |= with_entries(select(.value != null))
    ]
  }'
