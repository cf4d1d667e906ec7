#!/bin/sh
# Waits until a VMDiskImage, DataSync, VirtualMachine, Workspace or WorkspaceSnapshot has settled, and prints its phase and message.
# Usage: [TIMEOUT=1h] [REQUEST=sync] wait-settled.sh [-n NAMESPACE] vmdi/NAME (or dsync/NAME, otvm/NAME, otws/NAME, otwss/NAME)
# Exit code: 0 if it is ready, 1 if it has failed, 2 if it is neither before the timeout.
#
# With REQUEST=sync (download again) or REQUEST=retry, for a VMDiskImage or DataSync, it first sets the annotation pelotech.ot/sync-requested-at or
# pelotech.ot/retry-requested-at to a new value. An annotation does not change the generation, so Settled stays True until the operator has seen the
# request. The script therefore ignores the status that it read when it made the request. It cannot do so for an annotation that somebody else has
# set. A DataSync may also report the previous failure for a moment after its images have started the retry.
set -u

TIMEOUT=${TIMEOUT:-1h}
# Hours, minutes and seconds, such as 1h30m.
seconds=$(printf '%s' "$TIMEOUT" | sed 's/h/*3600+/; s/m/*60+/; s/s/+/; s/+$//')
# It is a sum, which not every shell would work out from the name of the variable.
# shellcheck disable=SC2004
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
