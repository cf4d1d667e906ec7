/** Messages for every claim that has no volume yet, however soon it gets one, and for a conflict, which resolves immediately. */
const PROVISIONING =
  /^Waiting for a volume to be created either by the external provisioner|^waiting for first consumer|^Error saving claim: Operation cannot be fulfilled/i
/** `target PVC x Pending and [prime-…] : text`: the newest Event of either claim. */
const OF_A_CLAIM = /^(?:target )?PVC \S+ (?:Pending|Bound)(?: and (?:\[\S+\] : )?)?/

/** Returns what CDI reports about the claim of a DataVolume in addition to its phase; empty if there is nothing relevant. Also for clones. */
export function claimMessageOf({ bound }: { readonly bound: { readonly message: string } }): string {
  const text = bound.message.replace(OF_A_CLAIM, '').trim()
  return PROVISIONING.test(text) || /^Successfully provisioned|^No PVC found/.test(text) ? '' : text
}
