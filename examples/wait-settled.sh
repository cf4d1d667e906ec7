#!/bin/sh
# Waits until a VMDiskImage, DataSync, VirtualMachine or Workspace has settled, and prints what became of it.
# Usage: [TIMEOUT=1h] wait-settled.sh [-n NAMESPACE] vmdi/NAME (or dsync/NAME, otvm/NAME, otws/NAME)
# Exits with 0 if it is ready, with 1 if it has failed, with 2 if it was neither in time.
set -u

kubectl wait --for=condition=Settled --timeout="${TIMEOUT:-1h}" "$@" >/dev/null
waited=$?
phase=$(kubectl get "$@" -o jsonpath='{.status.phase}') || exit 2
printf '%s: %s\n' "$phase" "$(kubectl get "$@" -o jsonpath='{.status.message}')"
[ "$waited" -eq 0 ] || exit 2
[ "$phase" != Failed ] || exit 1
