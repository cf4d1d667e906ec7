import { randomBytes } from 'node:crypto'
import { workspace } from '@open-terrain/constructs/operator'
import { expect } from 'vitest'
import { apiVersionOf, type KubeObject, type ResourceType } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP, DEPLOYMENT, NAMESPACE } from '../../operator/kube/resource-types.ts'
import { IMAGE } from '../../sandbox/memory-cluster/index.ts'
import { create, eventsUntil, type Full, HOLD, type Meta, ownedBy, summary, untilGone, untilIs } from './objects.ts'
import { conform, refusalOf, type Subject } from './subjects.ts'

const WORKSPACE: ResourceType = workspace

const isGoing = ({ metadata }: Full) => metadata.deletionTimestamp !== undefined

/** Creates a cluster-scoped object with a name that no other test has. */
function createOne({ client }: Subject, type: ResourceType, metadata: Meta = {}): Promise<Full> {
  const name = `conformance-${randomBytes(4).toString('hex')}`
  const object = { apiVersion: apiVersionOf(type), kind: type.kind, metadata: { name, ...metadata } }
  return client.create<Full>(type, type === WORKSPACE ? { ...object, spec: {} } : object)
}

/** For watches of cluster-scoped objects. */
function everywhere({ client }: Subject): Subject {
  return { client } as Subject
}

/** Metadata with labels of this test only. */
function here(subject: Subject, tier: string): Meta {
  return { labels: { test: subject.namespace, tier } }
}

conform('an owner that is in no namespace', {
  'takes along what is in any namespace, and what is in none': async (subject) => {
    const owner = await createOne(subject, WORKSPACE)
    const inside = await create(CONFIG_MAP, subject, 'inside', ownedBy(owner))
    const namespace = await createOne(subject, NAMESPACE, ownedBy(owner))
    const elsewhere = await create(
      IMAGE,
      { ...subject, namespace: namespace.metadata.name },
      'elsewhere',
      ownedBy(owner),
    )
    await subject.client.delete(WORKSPACE, owner.metadata, { propagationPolicy: 'Background' })
    await untilGone(subject, CONFIG_MAP, inside)
    await untilGone({ ...subject, namespace: namespace.metadata.name }, IMAGE, elsewhere)
    await untilGone(everywhere(subject), NAMESPACE, namespace)
  },
  'and that is deleted in the foreground waits for what is in a namespace, and for the namespace': async (subject) => {
    const { client } = subject
    const owner = await createOne(subject, WORKSPACE)
    const inside = await create(CONFIG_MAP, subject, 'inside', { ...ownedBy(owner), finalizers: [HOLD] })
    const namespace = await createOne(subject, NAMESPACE, ownedBy(owner))
    await client.delete(WORKSPACE, owner.metadata, { propagationPolicy: 'Foreground' })
    await untilGone(everywhere(subject), NAMESPACE, namespace)
    const going = await untilIs(subject, CONFIG_MAP, inside, isGoing)
    const waiting = await client.get<Full>(WORKSPACE, owner.metadata)
    expect(waiting.metadata.finalizers).toEqual(['foregroundDeletion'])
    await client.mergePatch(CONFIG_MAP, going.metadata, { metadata: { finalizers: null } })
    await untilGone(everywhere(subject), WORKSPACE, waiting)
  },
  'leaves alone what names a namesake of another life': async (subject) => {
    const owner = await createOne(subject, WORKSPACE)
    await subject.client.delete(WORKSPACE, owner.metadata)
    const { name } = owner.metadata
    const again = await createOne(subject, WORKSPACE, { name })
    const old = await create(CONFIG_MAP, subject, 'old', ownedBy(owner))
    const present = await create(CONFIG_MAP, subject, 'present', ownedBy(again))
    await untilGone(subject, CONFIG_MAP, old)
    const kept = await subject.client.get<Full>(CONFIG_MAP, present.metadata)
    expect(kept.metadata.uid).toBe(present.metadata.uid)
    await subject.client.delete(WORKSPACE, again.metadata)
  },
})

conform('what is in no namespace', {
  'is listed and watched by its labels': async (subject) => {
    const { client, namespace } = subject
    const gold = await createOne(subject, WORKSPACE, here(subject, 'gold'))
    const silver = await createOne(subject, WORKSPACE, here(subject, 'silver'))
    await createOne(subject, WORKSPACE)
    const labelSelector = `test=${namespace}`
    const { items, resourceVersion } = await client.list<Full>(WORKSPACE, { labelSelector })
    const names = (objects: readonly KubeObject[]) => objects.map(({ metadata }) => metadata.name).toSorted()
    expect(names(items)).toEqual(names([gold, silver]))
    await client.mergePatch(WORKSPACE, gold.metadata, { metadata: { labels: { test: null } } })
    await client.delete(WORKSPACE, gold.metadata)
    await client.delete(WORKSPACE, silver.metadata)
    const isLast = ({ object }: { object: Full }) => object.metadata.name === silver.metadata.name
    const events = await eventsUntil(everywhere(subject), WORKSPACE, resourceVersion, isLast, { labelSelector })
    expect(summary(events)).toEqual([`DELETED ${gold.metadata.name}`, `DELETED ${silver.metadata.name}`])
  },
  'has its status beside its spec, and counts changes of the spec': async (subject) => {
    const { client } = subject
    const made = await createOne(subject, WORKSPACE)
    expect(made.metadata).toMatchObject({ generation: 1 })
    expect(made.metadata.namespace).toBeUndefined()
    const told = await client.replaceStatus<Full>(WORKSPACE, { ...made, status: { phase: 'Failed' } })
    expect([told.metadata.generation, told.status]).toEqual([1, { phase: 'Failed' }])
    const changed = await client.mergePatch<Full>(WORKSPACE, made.metadata, { spec: { volumes: [] } })
    expect([changed.metadata.generation, changed.status]).toEqual([2, { phase: 'Failed' }])
    await client.delete(WORKSPACE, made.metadata)
  },
  'exists once, and is not found when it is gone': async (subject) => {
    const made = await createOne(subject, WORKSPACE)
    const { name } = made.metadata
    expect((await refusalOf(createOne(subject, WORKSPACE, { name }))).reason).toBe('AlreadyExists')
    await subject.client.delete(WORKSPACE, made.metadata)
    expect((await refusalOf(subject.client.get(WORKSPACE, { name }))).reason).toBe('NotFound')
  },
})

conform('a namespace that belongs to somebody', {
  'refuses what is to be made in it as soon as its owner is gone, and goes with its contents': async (subject) => {
    const { client } = subject
    const owner = await createOne(subject, WORKSPACE)
    const namespace = await createOne(subject, NAMESPACE, ownedBy(owner))
    const inside = { client, namespace: namespace.metadata.name }
    const held = await create(CONFIG_MAP, inside, 'held', { finalizers: [HOLD] })
    await client.delete(WORKSPACE, owner.metadata)
    const going = await untilIs(everywhere(subject), NAMESPACE, namespace, isGoing)
    expect(await refusalOf(create(CONFIG_MAP, inside, 'late'))).toMatchObject({
      status: 403,
      causes: ['NamespaceTerminating'],
    })
    const last = await untilIs(inside, CONFIG_MAP, held, isGoing)
    await client.mergePatch(CONFIG_MAP, last.metadata, { metadata: { finalizers: null } })
    await untilGone(everywhere(subject), NAMESPACE, going)
  },
})

conform('a Deployment', {
  'counts changes of its spec alone, and takes no status when it is created': async (subject) => {
    const { client, namespace } = subject
    const labels = { app: 'web' }
    const spec = {
      replicas: 1,
      strategy: { type: 'Recreate' },
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'example.com/web:1' }] } },
    }
    const metadata = { namespace, name: 'web' }
    const object = { apiVersion: apiVersionOf(DEPLOYMENT), kind: DEPLOYMENT.kind, metadata, spec }
    const made = await client.create<Full>(DEPLOYMENT, { ...object, status: { replicas: 7 } } as Full)
    expect([made.metadata.generation, made.status?.['replicas']]).toEqual([1, undefined])
    const changed = await client.mergePatch<Full>(DEPLOYMENT, metadata, { spec: { replicas: 0 } })
    expect(changed.metadata.generation).toBe(2)
    const labelled = await client.mergePatch<Full>(DEPLOYMENT, metadata, { metadata: { labels: { a: 'b' } } })
    expect(labelled.metadata.generation).toBe(2)
  },
})
