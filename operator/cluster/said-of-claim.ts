/** What Kubernetes says of every claim that has no volume yet, however quickly one comes; and of a conflict, which is over at once. */
const PROVISIONING =
  /^Waiting for a volume to be created either by the external provisioner|^waiting for first consumer|^Error saving claim: Operation cannot be fulfilled/i
/** `target PVC x Pending and [prime-…] : text`: the newest event of either claim. */
const OF_A_CLAIM = /^(?:target )?PVC \S+ (?:Pending|Bound)(?: and (?:\[\S+\] : )?)?/

/** What CDI says about the claim of a DataVolume beyond its phase; empty where that is nothing new. Also for clones. */
export function saidOfClaim({ bound }: { readonly bound: { readonly message: string } }): string {
  const text = bound.message.replace(OF_A_CLAIM, '').trim()
  return PROVISIONING.test(text) || /^Successfully provisioned|^No PVC found/.test(text) ? '' : text
}
