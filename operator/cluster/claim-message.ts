/** Messages for every claim that has no volume yet, however soon it gets one, and for a conflict, which resolves immediately. */
const PROVISIONING =
  /^Waiting for a volume to be created either by the external provisioner|^waiting for first consumer|^Error saving claim: Operation cannot be fulfilled/i
/** CDI copies Events of the prime claim to the target claim, with the name of the prime claim before them. */
const COPIED = String.raw`\[\S+\] : `
const COPIED_AT_START = new RegExp(`^${COPIED}`)
/** `target PVC x Pending and [prime-…] : text`: the newest Event of either claim. */
const OF_A_CLAIM = new RegExp(String.raw`^(?:target )?PVC \S+ (?:Pending|Bound)(?: and (?:${COPIED})?)?`)

/** Returns the message of an Event of a claim as it was before CDI copied it. */
export function originalMessage(message: string): string {
  return message.replace(COPIED_AT_START, '')
}

/** Returns what CDI reports about the claim of a DataVolume in addition to its phase; empty if there is nothing relevant. Also for clones. */
export function claimMessageOf({ bound }: { readonly bound: { readonly message: string } }): string {
  const text = bound.message.replace(OF_A_CLAIM, '').trim()
  return PROVISIONING.test(text) || /^Successfully provisioned|^No PVC found/.test(text) ? '' : text
}
