import { expect } from 'vitest'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP, PERSISTENT_VOLUME_CLAIM, POD } from '../../operator/kube/resource-types.ts'
import { IMAGE } from '../../sandbox/memory-cluster/index.ts'
import { BINDING } from '../../sandbox/simulators/scheduler.ts'
import {
  create,
  essence,
  eventsUntil,
  type Full,
  HOLD,
  object,
  ownedBy,
  position,
  untilGone,
  untilIs,
  versionOf,
} from './objects.ts'
import { conform, refusalOf, type Subject } from './subjects.ts'

/** Puts a pod on a node that nobody serves. */
const bindingOf = ({ name, namespace }: Full['metadata']): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { name, namespace },
    target: { kind: 'Node', name: 'node-1' },
  }) as KubeObject

const isTerminating = ({ metadata }: Full) => metadata.deletionTimestamp !== undefined

conform('deletion', {
  'is at once where nothing holds the object': async (subject) => {
    const before = await create(CONFIG_MAP, subject, 'a')
    await subject.client.delete(CONFIG_MAP, before.metadata, { uid: before.metadata.uid ?? '' })
    expect((await refusalOf(subject.client.get(CONFIG_MAP, before.metadata))).reason).toBe('NotFound')
    const last = await untilGone(subject, CONFIG_MAP, before)
    expect(versionOf(last)).toBeGreaterThan(versionOf(before))
    expect({ ...last.metadata, resourceVersion: '' }).toEqual({ ...before.metadata, resourceVersion: '' })
  },
  'gives the name free for another object': async (subject) => {
    const before = await create(CONFIG_MAP, subject, 'a')
    await subject.client.delete(CONFIG_MAP, before.metadata)
    const after = await create(CONFIG_MAP, subject, 'a')
    expect(after.metadata.uid).not.toBe(before.metadata.uid)
  },
  'waits for finalizers, and asking again changes nothing': async (subject) => {
    const { client } = subject
    for (const type of [CONFIG_MAP, IMAGE, POD]) {
      const once = await heldBack(type, subject)
      const { metadata } = once
      expect(isTerminating(once)).toBe(true)
      expect(once.metadata).toMatchObject({ deletionGracePeriodSeconds: 0, finalizers: [HOLD] })
      await client.delete(type, metadata)
      expect(await client.get(type, metadata)).toEqual(once)
    }
  },
  'of a pod on a node waits for what runs there, until somebody says that it has ended': async (subject) => {
    const { client } = subject
    const { metadata } = await create(POD, subject, 'a')
    await client.create(BINDING, bindingOf(metadata))
    await client.delete(POD, metadata)
    const going = await client.get<Full>(POD, metadata)
    expect(isTerminating(going)).toBe(true)
    expect(going.metadata).toMatchObject({ deletionGracePeriodSeconds: 30 })
    await client.delete(POD, metadata)
    expect((await client.get<Full>(POD, metadata)).metadata).toMatchObject({ deletionGracePeriodSeconds: 30 })
    await client.delete(POD, metadata, { gracePeriodSeconds: 0 })
    expect((await refusalOf(client.get(POD, metadata))).reason).toBe('NotFound')
  },
  'of a pod without a node is at once, and a pod with a gate gets no node': async (subject) => {
    const { client } = subject
    const plain = object(POD, subject, 'a')
    const spec = { ...plain.spec, schedulingGates: [{ name: 'example.com/wait' }] }
    const { metadata } = await client.create<Full>(POD, { ...plain, spec })
    expect((await refusalOf(client.create(BINDING, bindingOf(metadata)))).status).toBe(409)
    const nodeSelectorTerms = [{ matchFields: [{ key: 'metadata.name', operator: 'NotIn', values: ['other'] }] }]
    const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } }
    await client.mergePatch(POD, metadata, { spec: { schedulingGates: null, affinity } })
    await client.create(BINDING, bindingOf(metadata))
    const bound = await client.get<Full & { readonly spec: object }>(POD, metadata)
    expect(bound.spec).toMatchObject({ nodeName: 'node-1', affinity })
    expect(bound.spec).not.toHaveProperty('schedulingGates')
    await client.delete(POD, metadata, { gracePeriodSeconds: 0 })
    const { metadata: other } = await create(POD, subject, 'a')
    await client.delete(POD, other)
    expect((await refusalOf(client.get(POD, other))).reason).toBe('NotFound')
  },
  'takes updates while it waits, and cannot be taken back': async (subject) => {
    const { metadata } = await create(CONFIG_MAP, subject, 'a', { finalizers: [HOLD] })
    await subject.client.delete(CONFIG_MAP, metadata)
    const change = { metadata: { deletionTimestamp: null, labels: { a: 'b' } } }
    const after = await subject.client.mergePatch<Full>(CONFIG_MAP, metadata, change)
    expect(isTerminating(after)).toBe(true)
    expect(after.metadata.labels).toEqual({ a: 'b' })
  },
  'is over with the last finalizer; its last state still has it': async (subject) => {
    const { client } = subject
    for (const type of [CONFIG_MAP, IMAGE, POD]) {
      const held = await heldBack(type, subject)
      const { metadata } = held
      const { resourceVersion } = metadata
      const answer = await client.mergePatch<Full>(type, metadata, { metadata: { resourceVersion, finalizers: [] } })
      expect(answer.metadata.finalizers).toBeUndefined()
      expect(answer.metadata.resourceVersion).toBe(resourceVersion)
      expect((await refusalOf(client.get(type, metadata))).reason).toBe('NotFound')
      const last = await untilGone(subject, type, held)
      expect(essence({ ...last, metadata: { ...last.metadata, resourceVersion: '' } })).toEqual(
        essence({ ...held, metadata: { ...held.metadata, resourceVersion: '' } }),
      )
      expect(versionOf(last)).toBeGreaterThan(versionOf(held))
    }
  },
  'of a claim waits for its protection': async (subject) => {
    const { metadata } = await create(PERSISTENT_VOLUME_CLAIM, subject, 'a', { finalizers: [HOLD] })
    expect(metadata.finalizers?.toSorted()).toEqual([HOLD, 'kubernetes.io/pvc-protection'].toSorted())
    await subject.client.delete(PERSISTENT_VOLUME_CLAIM, metadata)
    expect(isTerminating(await subject.client.get<Full>(PERSISTENT_VOLUME_CLAIM, metadata))).toBe(true)
  },
})

conform('propagation', {
  'in the background: dependents go after their owner, of their own kind or another': async (subject) => {
    const { client } = subject
    const owner = await create(IMAGE, subject, 'owner')
    const dependent = await create(CONFIG_MAP, subject, 'dependent', ownedBy(owner))
    const ofDependent = await create(IMAGE, subject, 'of-dependent', ownedBy(dependent))
    await client.delete(IMAGE, owner.metadata, { propagationPolicy: 'Background' })
    expect((await refusalOf(client.get(IMAGE, owner.metadata))).reason).toBe('NotFound')
    const ends = [await untilGone(subject, CONFIG_MAP, dependent), await untilGone(subject, IMAGE, ofDependent)]
    expect(versionOf(ends[0] as Full)).toBeLessThan(versionOf(ends[1] as Full))
  },
  'in the background is what happens unless somebody says otherwise': async (subject) => {
    for (const type of [IMAGE, CONFIG_MAP, POD]) {
      const owner = await create(type, subject, 'owner')
      const dependent = await create(CONFIG_MAP, subject, `of-${type.plural}`, ownedBy(owner))
      await subject.client.delete(type, owner.metadata)
      expect((await refusalOf(subject.client.get(type, owner.metadata))).reason).toBe('NotFound')
      await untilGone(subject, CONFIG_MAP, dependent)
    }
  },
  'in the foreground: the owner waits for dependents that block it': async (subject) => {
    const { client } = subject
    const owner = await create(IMAGE, subject, 'owner')
    const dependent = await create(CONFIG_MAP, subject, 'dependent', { ...ownedBy(owner), finalizers: [HOLD] })
    await client.delete(IMAGE, owner.metadata, { propagationPolicy: 'Foreground', uid: owner.metadata.uid ?? '' })
    const waiting = await client.get<Full>(IMAGE, owner.metadata)
    expect(waiting.metadata.finalizers).toEqual(['foregroundDeletion'])
    expect(isTerminating(waiting)).toBe(true)
    const going = await untilIs(subject, CONFIG_MAP, dependent, isTerminating)
    await client.mergePatch(CONFIG_MAP, going.metadata, { metadata: { finalizers: null } })
    const ends = [await untilGone(subject, CONFIG_MAP, going), await untilGone(subject, IMAGE, waiting)]
    expect(versionOf(ends[0] as Full)).toBeLessThan(versionOf(ends[1] as Full))
  },
  'in the foreground reaches dependents of dependents first': async (subject) => {
    const owner = await create(IMAGE, subject, 'owner')
    const dependent = await create(CONFIG_MAP, subject, 'dependent', ownedBy(owner))
    const ofDependent = await create(POD, subject, 'of-dependent', ownedBy(dependent))
    await subject.client.delete(IMAGE, owner.metadata, { propagationPolicy: 'Foreground' })
    const ends = [
      await untilGone(subject, POD, ofDependent),
      await untilGone(subject, CONFIG_MAP, dependent),
      await untilGone(subject, IMAGE, owner),
    ].map(versionOf)
    expect(ends).toEqual(ends.toSorted((a, b) => (a < b ? -1 : 1)))
  },
  'in the foreground does not wait for dependents that do not block': async (subject) => {
    const { client } = subject
    const owner = await create(IMAGE, subject, 'owner')
    const dependent = await create(CONFIG_MAP, subject, 'dependent', { ...ownedBy(owner, false), finalizers: [HOLD] })
    await client.delete(IMAGE, owner.metadata, { propagationPolicy: 'Foreground' })
    await untilGone(subject, IMAGE, owner)
    await untilIs(subject, CONFIG_MAP, dependent, isTerminating)
  },
  'in the foreground without dependents is over soon': async (subject) => {
    const owner = await create(IMAGE, subject, 'owner')
    await subject.client.delete(IMAGE, owner.metadata, { propagationPolicy: 'Foreground' })
    await untilGone(subject, IMAGE, owner)
  },
  'can change from foreground to background': async (subject) => {
    const { client } = subject
    const owner = await create(IMAGE, subject, 'owner')
    const dependent = await create(CONFIG_MAP, subject, 'dependent', { ...ownedBy(owner), finalizers: [HOLD] })
    await client.delete(IMAGE, owner.metadata, { propagationPolicy: 'Foreground' })
    await untilIs(subject, CONFIG_MAP, dependent, isTerminating)
    await client.delete(IMAGE, owner.metadata, { propagationPolicy: 'Background' })
    expect((await refusalOf(client.get(IMAGE, owner.metadata))).reason).toBe('NotFound')
  },
  'in the foreground is over when what blocks it no longer does': async (subject) => {
    const { client } = subject
    const owner = await create(POD, subject, 'owner')
    const dependent = await create(CONFIG_MAP, subject, 'dependent', { ...ownedBy(owner), finalizers: [HOLD] })
    await client.delete(POD, owner.metadata, { propagationPolicy: 'Foreground' })
    const going = await untilIs(subject, CONFIG_MAP, dependent, isTerminating)
    await client.mergePatch(CONFIG_MAP, going.metadata, { metadata: ownedBy(owner, false) })
    await untilGone(subject, POD, owner)
    expect(isTerminating(await client.get<Full>(CONFIG_MAP, dependent.metadata))).toBe(true)
  },
  'by orphaning: dependents lose their owner and live on': async (subject) => {
    const { client } = subject
    const owner = await create(IMAGE, subject, 'owner')
    const dependent = await create(CONFIG_MAP, subject, 'dependent', ownedBy(owner))
    // The garbage collector orphans only what it has observed. When it has collected a later object, it has observed this one.
    const gone = { ...owner, metadata: { ...owner.metadata, uid: 'gone' } }
    await untilGone(subject, CONFIG_MAP, await create(CONFIG_MAP, subject, 'late', ownedBy(gone)))
    await client.delete(IMAGE, owner.metadata, { propagationPolicy: 'Orphan' })
    await untilGone(subject, IMAGE, owner)
    const after = await client.get<Full>(CONFIG_MAP, dependent.metadata)
    expect(after.metadata).not.toHaveProperty('ownerReferences')
    expect(isTerminating(after)).toBe(false)
  },
})

conform('garbage collection', {
  'spares what has another owner, and takes the one that is gone out of it': async (subject) => {
    const [one, other] = [await create(IMAGE, subject, 'one'), await create(IMAGE, subject, 'other')]
    const ownerReferences = [one, other].flatMap((owner) => ownedBy(owner).ownerReferences ?? [])
    const dependent = await create(CONFIG_MAP, subject, 'dependent', { ownerReferences })
    await subject.client.delete(IMAGE, one.metadata)
    const hasOneOwner = ({ metadata }: Full) => metadata.ownerReferences?.length === 1
    const after = await untilIs(subject, CONFIG_MAP, dependent, hasOneOwner)
    expect(after.metadata.ownerReferences?.[0]?.uid).toBe(other.metadata.uid)
    expect(isTerminating(after)).toBe(false)
  },
  'deletes what was created for an owner that is gone': async (subject) => {
    const owner = await create(IMAGE, subject, 'owner')
    await subject.client.delete(IMAGE, owner.metadata)
    const late = await create(CONFIG_MAP, subject, 'late', ownedBy(owner))
    await untilGone(subject, CONFIG_MAP, late)
  },
  'is not deceived by a namesake of the owner': async (subject) => {
    const owner = await create(IMAGE, subject, 'owner')
    await subject.client.delete(IMAGE, owner.metadata)
    await create(IMAGE, subject, 'owner')
    const late = await create(CONFIG_MAP, subject, 'late', ownedBy(owner))
    await untilGone(subject, CONFIG_MAP, late)
  },
  'respects finalizers of dependents': async (subject) => {
    const owner = await create(IMAGE, subject, 'owner')
    const from = await position(subject, CONFIG_MAP)
    const dependent = await create(CONFIG_MAP, subject, 'dependent', { ...ownedBy(owner), finalizers: [HOLD] })
    await subject.client.delete(IMAGE, owner.metadata)
    await untilIs(subject, CONFIG_MAP, dependent, isTerminating)
    await subject.client.mergePatch(CONFIG_MAP, dependent.metadata, { metadata: { finalizers: null } })
    const events = await eventsUntil(subject, CONFIG_MAP, from, ({ type }) => type === 'DELETED', {
      fieldSelector: 'metadata.name=dependent',
    })
    expect(events.map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED', 'DELETED'])
  },
})

/** Creates an object with a finalizer, deletes it, and returns its state. */
async function heldBack(type: ResourceType, subject: Subject): Promise<Full> {
  const { metadata } = await create(type, subject, 'a', { finalizers: [HOLD] })
  await subject.client.delete(type, metadata)
  return await subject.client.get<Full>(type, metadata)
}
