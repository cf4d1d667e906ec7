import { expect } from 'vitest'
import { CONFIG_MAP, NAMESPACE, POD } from '../../operator/kube/resource-types.ts'
import { IMAGE } from '../../sandbox/memory-cluster/index.ts'
import { create, type Full, HOLD, untilGone, untilIs } from './objects.ts'
import { conform, refusalOf, type Subject } from './subjects.ts'

const LATER = { timeout: 10_000 }

/** For watches of cluster-scoped objects. */
function clusterWide({ client }: Subject): Subject {
  return { client } as Subject
}

conform('a namespace that is deleted', {
  'goes with all that is in it': async (subject) => {
    const { client, namespace } = subject
    const before = await client.get<Full>(NAMESPACE, { name: namespace })
    expect(before).toMatchObject({ status: { phase: 'Active' }, spec: { finalizers: ['kubernetes'] } })
    expect(before.metadata.labels).toEqual({ 'kubernetes.io/metadata.name': namespace })
    const contents = [await create(IMAGE, subject, 'a'), await create(POD, subject, 'a')]
    await client.delete(NAMESPACE, before.metadata)
    await untilGone(subject, IMAGE, contents[0] as Full)
    await untilGone(subject, POD, contents[1] as Full)
    await untilGone(clusterWide(subject), NAMESPACE, before)
    // The admission of the API server has a cache of namespaces, which may be behind: until then it says that this one is terminating.
    await expect.poll(async () => (await refusalOf(create(CONFIG_MAP, subject, 'b'))).status, LATER).toBe(404)
  },
  'takes nothing new, and waits for what a finalizer holds': async (subject) => {
    const { client, namespace } = subject
    const before = await client.get<Full>(NAMESPACE, { name: namespace })
    const held = await create(IMAGE, subject, 'held', { finalizers: [HOLD] })
    await client.delete(NAMESPACE, before.metadata)
    const during = await client.get<Full>(NAMESPACE, before.metadata)
    expect(during.status?.['phase']).toBe('Terminating')
    expect(during.metadata.deletionTimestamp).toBeDefined()
    const refusal = { reason: 'Rejected', status: 403, serverReason: 'Forbidden', causes: ['NamespaceTerminating'] }
    expect(await refusalOf(create(CONFIG_MAP, subject, 'new'))).toEqual(refusal)
    expect(await refusalOf(create(IMAGE, subject, 'new'))).toEqual(refusal)
    await client.delete(NAMESPACE, before.metadata)
    const going = await untilIs(subject, IMAGE, held, ({ metadata }) => metadata.deletionTimestamp !== undefined)
    await client.replaceStatus<Full>(IMAGE, { ...going, status: { phase: 'Failed' } })
    await client.mergePatch(IMAGE, held.metadata, { metadata: { finalizers: null } })
    await untilGone(clusterWide(subject), NAMESPACE, during)
  },
})
