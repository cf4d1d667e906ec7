import { expect } from 'vitest'
import { readAdoptionRule } from '../../operator/controllers/vm-disk-image/adoption-reads.ts'
import type { KubeClient } from '../../operator/kube/kube-client.ts'

/** Waits until whoever creates an image is sure to have been checked by the rule. A stage that begins installs it again, which counts as a change. */
export async function untilAdoptionIsChecked(client: KubeClient): Promise<void> {
  const { signal } = new AbortController()
  const checkedForMs = async () => {
    const { checkedSince } = await readAdoptionRule(client, signal)
    return checkedSince === undefined ? 0 : Date.now() - checkedSince
  }
  await expect.poll(checkedForMs).toBeGreaterThan(7_000)
}
