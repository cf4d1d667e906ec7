#!/bin/sh
# Waits until a VMDiskImage, DataSync, VirtualMachine or Workspace has settled, and prints what became of it.
# Usage: [TIMEOUT=1h] [REQUEST=sync] wait-settled.sh [-n NAMESPACE] vmdi/NAME (or dsync/NAME, otvm/NAME, otws/NAME)
# Exits with 0 if it is ready, with 1 if it has failed, with 2 if it was neither in time.
#
# REQUEST=sync (download again) or REQUEST=retry, of a VMDiskImage or DataSync, first sets the annotation pelotech.ot/sync-requested-at or
# retry-requested-at to a new value. An annotation does not raise the generation, so Settled stays True until the operator has seen it. Here the
# script knows the status of the moment of the request, and takes no answer from it. Of an annotation that somebody else has set it knows nothing,
# and a DataSync whose retry has just reached its images may for a moment still tell of the failure before.
set -u

TIMEOUT=${TIMEOUT:-1h}
# Hours, minutes and seconds, such as 1h30m.
seconds=$(printf '%s' "$TIMEOUT" | sed 's/h/*3600+/; s/m/*60+/; s/s/+/; s/+$//')
end=$(($(date +%s) + $seconds)) || exit 2

asked=none
if [ -n "${REQUEST:-}" ]; then
  value=$(date -u +%FT%TZ)-$$
  asked=$(kubectl annotate --overwrite "$@" "pelotech.ot/$REQUEST-requested-at=$value" -o jsonpath='{.status}') || exit 2
fi

settled='{.status.conditions[?(@.type=="Settled")]'
look="{.metadata.generation} $settled.observedGeneration} $settled.status} {.status.phase}{'\n'}{.status.phase}: {.status.message}{'\n'}{.status}"
while :; do
  left=$((end - $(date +%s)))
  [ "$left" -gt 0 ] || left=0
  kubectl wait --for=condition=Settled --timeout="${left}s" "$@" >/dev/null
  # One look, so that phase, message and condition are of the same moment.
  seen=$(kubectl get "$@" -o jsonpath="$look") || exit 2
  stand=$(printf '%s\n' "$seen" | sed -n 1p)
  said=$(printf '%s\n' "$seen" | sed -n 2p)
  status=$(printf '%s\n' "$seen" | sed 1,2d)
  generation=${stand%% *}
  if [ "$status" != "$asked" ]; then
    case $stand in
      "$generation $generation True Succeeded" | "$generation $generation True Ready") code=0 ;;
      "$generation $generation True Failed") code=1 ;;
      *) code=2 ;;
    esac
    [ "$code" -eq 2 ] || { printf '%s\n' "$said"; exit "$code"; }
  fi
  [ "$(date +%s)" -lt "$end" ] || break
  sleep 1
done
[ "$status" != "$asked" ] || said='the operator has not answered the request'
printf 'Not settled within %s; %s\n' "$TIMEOUT" "$said"
exit 2
