import { expect, vi } from 'vitest'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import { PERSISTENT_VOLUME_CLAIM, POD, RESOURCE_QUOTA } from '../../operator/kube/resource-types.ts'
import { create, type Full, object, untilGone, untilIs } from './objects.ts'
import { conform, refusalOf, type Subject } from './subjects.ts'

const REFUSED = { reason: 'Rejected', status: 403, serverReason: 'Forbidden', causes: [] }

/** Creates a quota, and waits until its status shows what is used, which admission needs. */
async function createQuota(subject: Subject, hard: Readonly<Record<string, string>>): Promise<KubeObject> {
  const { client } = subject
  const quota = await client.create<Full>(RESOURCE_QUOTA, {
    ...object(RESOURCE_QUOTA, subject, 'room'),
    spec: { hard },
  })
  return await untilUsed(subject, quota, Object.fromEntries(Object.keys(hard).map((resource) => [resource, '0'])))
}

function untilUsed(subject: Subject, quota: KubeObject, used: Readonly<Record<string, string>>): Promise<KubeObject> {
  return untilIs(subject, RESOURCE_QUOTA, quota, ({ status }) => {
    const said = (status?.['used'] ?? {}) as Readonly<Record<string, string>>
    return Object.entries(used).every(([resource, amount]) => said[resource] === amount)
  })
}

/** Retries a creation: admission reads quotas from its own cache, which sees free room a moment later than others do. */
function createSoon(...args: Parameters<typeof create>): Promise<KubeObject> {
  return vi.waitFor(async () => await create(...args), { timeout: 300_000, interval: 20 })
}

/** Returns the message of admission for an object that exceeds the quota, once admission knows the quota. */
async function refusedFor(type: ResourceType, subject: Subject, name: string): Promise<string> {
  return await vi.waitFor(
    async () => {
      const request = create(type, subject, name)
      expect(await refusalOf(request)).toEqual(REFUSED)
      const message = await request.then(() => '', String)
      expect(message).not.toContain('status unknown')
      return message
    },
    { timeout: 300_000, interval: 20 },
  )
}

conform('ResourceQuotas', {
  'refuse a claim that they have no room for, until there is more': async (subject) => {
    const { client } = subject
    const quota = await createQuota(subject, { persistentvolumeclaims: '1', 'requests.storage': '10Gi' })
    await createSoon(PERSISTENT_VOLUME_CLAIM, subject, 'a')
    await untilUsed(subject, quota, { persistentvolumeclaims: '1' })
    expect(await refusedFor(PERSISTENT_VOLUME_CLAIM, subject, 'b')).toContain(
      'persistentvolumeclaims "b" is forbidden: exceeded quota: room, requested: persistentvolumeclaims=1, used: persistentvolumeclaims=1, limited: persistentvolumeclaims=1',
    )
    await client.mergePatch(RESOURCE_QUOTA, quota.metadata, { spec: { hard: { persistentvolumeclaims: '2' } } })
    await untilIs(subject, RESOURCE_QUOTA, quota, ({ status }) => JSON.stringify(status?.['hard']).includes('"2"'))
    await createSoon(PERSISTENT_VOLUME_CLAIM, subject, 'b')
    await untilUsed(subject, quota, { persistentvolumeclaims: '2' })
  },

  'refuse a claim that is too large, and name that alone': async (subject) => {
    await createQuota(subject, { persistentvolumeclaims: '1', 'requests.storage': '1Mi' })
    expect(await refusedFor(PERSISTENT_VOLUME_CLAIM, subject, 'a')).toMatch(
      /exceeded quota: room, requested: requests.storage=1\w+, used: requests.storage=0,/,
    )
  },

  'count what goes no more': async (subject) => {
    const { client } = subject
    const quota = await createQuota(subject, { pods: '1' })
    const pod = await createSoon(POD, subject, 'a')
    await untilUsed(subject, quota, { pods: '1' })
    expect(await refusedFor(POD, subject, 'b')).toContain('exceeded quota: room')
    await client.delete(POD, pod.metadata)
    await untilGone(subject, POD, pod)
    await untilUsed(subject, quota, { pods: '0' })
    await createSoon(POD, subject, 'b')
  },
})
