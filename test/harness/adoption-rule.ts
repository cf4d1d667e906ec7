import { ADOPTION_RULE } from '@open-terrain/constructs/operator'
import { expect } from 'vitest'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import type { Raw } from '../../operator/kube/kube-object.ts'
import { ADMISSION_POLICY, ADMISSION_POLICY_BINDING } from '../../operator/kube/resource-types.ts'

/** Waits until whoever creates an image is sure to have been checked by the rule. A stage that begins installs it again, which counts as a change. */
export async function untilAdoptionIsChecked(client: KubeClient): Promise<void> {
  const changedAt = async () => {
    const rule = await Promise.all(
      [ADMISSION_POLICY, ADMISSION_POLICY_BINDING].map((type) => client.get(type, { name: ADOPTION_RULE })),
    )
    const times = rule.flatMap(({ metadata: { creationTimestamp, managedFields } }: Raw) => [
      creationTimestamp,
      ...managedFields.map(({ time }: Raw) => time),
    ])
    return Math.max(...times.map((time) => Date.parse(time)))
  }
  await expect.poll(async () => Date.now() - (await changedAt())).toBeGreaterThan(7_000)
}
