import { describe, expect, it } from 'vitest'
import { WORKSPACE_NAME } from './cast.ts'
import type { Evidence } from './evidence.ts'
import type { Entry, Fact } from './facts.ts'
import { goesWithAll, isRestored, standsUpAsOne, switchesOffAndOn } from './workspace-checks.ts'

const DELETED = { deletionTimestamp: '2026-01-01T00:00:00Z' }
const KINDS = ['Namespace', 'Image', 'Network', 'Volume', 'Ansible', 'ContainerCluster', 'VirtualMachine']
const components = (phase = 'Ready') => KINDS.map((kind) => ({ kind, name: 'a', phase, reason: phase }))
const workspace = (phase: string, ready: string, more: object = {}, of: object[] = components(), reason = phase) => ({
  kind: 'workspace',
  metadata: { name: WORKSPACE_NAME, uid: 'w', ...more },
  status: { phase, reason, ready, components: of },
})
const image = (isReady: boolean) => ({
  kind: 'image',
  metadata: { name: 'demo-vmdi', uid: 'i' },
  status: { phase: isReady ? 'Succeeded' : 'Queued' },
  isReady,
})
const machine = (phase: string, restoredClaim?: string) => ({
  kind: 'machine',
  metadata: { name: 'demo-vm', uid: 'm', namespace: WORKSPACE_NAME },
  status: { phase, restoredClaim },
})
const point = (phase: string) => ({
  kind: 'point',
  metadata: { name: 'before-exam', uid: 's', namespace: WORKSPACE_NAME },
  status: { restore: { phase } },
})
const pod = {
  kind: 'pod',
  metadata: { name: 'p', uid: 'p', namespace: WORKSPACE_NAME, labels: { 'pelotech.ot/container-cluster': 'app' } },
}

/** What an observer sees if all goes well, in order. Deletions have a cross. */
const STORY = {
  'workspace created': workspace('Provisioning', '0/7'),
  'image created': image(false),
  'image ready': image(true),
  'machine created': machine('Provisioning'),
  'pod created': pod,
  'machine ready': machine('Ready'),
  'workspace ready': workspace('Ready', '7/7'),
  'first pod gone ✗': pod,
  'workspace off': workspace('Ready', '7/7', {}, components(), 'Halted'),
  'restore begun': point('InProgress'),
  'restore waits': point('WaitForFirstConsumer'),
  'machine restored': machine('Ready', 'restore-1-rootdisk'),
  'second pod created': { ...pod, metadata: { ...pod.metadata, name: 'q', uid: 'q' } },
  'workspace on': workspace('Ready', '7/7'),
  'restore done': point('Succeeded'),
  'workspace deleted': workspace('Provisioning', '7/7', DELETED),
  'machine gone ✗': machine('Ready'),
  'pod gone ✗': { ...pod, metadata: { ...pod.metadata, name: 'q', uid: 'q' } },
  'workspace gone ✗': workspace('Provisioning', '7/7', DELETED),
}
type Moment = keyof typeof STORY
const story = Object.entries(STORY)

const toEvidence = (told: readonly (readonly [string, object])[], left: readonly string[] = []): Evidence => {
  const journal = told.map(([moment, fact], at): Entry => {
    const { metadata } = fact as Fact
    const resourceVersion = String(at + 1)
    const seen = { ...fact, metadata: { ...metadata, resourceVersion } } as Fact
    return { revision: resourceVersion, at: 10 * at, isDeleted: moment.endsWith('✗'), fact: seen }
  })
  const cast = [{ name: 'demo-vmdi', role: 'workspace' }]
  return { journal, cast, acts: { workspace: { left } } } as unknown as Evidence
}
const without = (moment: Moment) => story.filter(([one]) => one !== moment)
const instead = (moment: Moment, fact: object) =>
  story.map(([one, usual]): [string, object] => (one === moment ? [one, fact] : [one, usual]))
const swapped = (first: Moment, second: Moment) =>
  story.map(([one, fact]): [string, object] => {
    if (one === first) return [second, STORY[second]]
    return one === second ? [first, STORY[first]] : [one, fact]
  })

const neverReady = story.filter(
  ([moment, fact]) => moment === 'workspace created' || (fact as Fact).kind !== 'workspace',
)

describe('a workspace that comes and goes', () => {
  it('holds when all of it came, and all of it went', () => {
    expect(standsUpAsOne(toEvidence(story))).toMatchObject({
      held: true,
      detail: '7 components of 7 kinds, demo-vmdi first; Ready 60 ms after it was created, told in 2 steps',
    })
    expect(switchesOffAndOn(toEvidence(story))).toMatchObject({
      held: true,
      detail: 'pods stopped: 1; the machine and its disk stayed; Ready again 50 ms after it was off',
    })
    expect(isRestored(toEvidence(story))).toMatchObject({
      held: true,
      detail: 'InProgress, WaitForFirstConsumer, Succeeded; the machine starts from the disk of then',
    })
    expect(goesWithAll(toEvidence(story))).toMatchObject({
      held: true,
      detail: expect.stringContaining('gone in 30 ms, with nothing left but image demo-vmdi'),
    })
  })

  it.each<[string, readonly (readonly [string, object])[], string]>([
    ['was never Ready', neverReady, 'it was never seen that the workspace was Ready'],
    ['had its machine before its image', swapped('image ready', 'machine created'), 'its machine was created before'],
    [
      'lacks a kind',
      instead('workspace ready', workspace('Ready', '1/1', {}, components().slice(1))),
      'it has no component of kind Namespace',
    ],
    [
      'was Ready too early',
      instead('workspace ready', workspace('Ready', '7/7', {}, components('Failed'))),
      'it was Ready while Namespace a was Failed',
    ],
    ['failed on the way', instead('workspace created', workspace('Failed', '0/7')), 'it was Failed on the way'],
    [
      'told nothing',
      instead('workspace created', workspace('Provisioning', '7/7')),
      'it told no more of its way than 7/7',
    ],
  ])('does not stand up where it %s', (_what, told, problem) => {
    expect(standsUpAsOne(toEvidence(told))).toMatchObject({ held: false, detail: expect.stringContaining(problem) })
  })

  it.each<[string, readonly (readonly [string, object])[], string]>([
    ['failed', instead('restore done', point('Failed')), 'the restore is Failed'],
    ['came late', swapped('restore waits', 'workspace on'), 'was on again before its machine was restored'],
    ['left the disk of before', without('machine restored'), 'its machine does not tell that its disk'],
  ])('is not restored where it %s', (_what, told, problem) => {
    expect(isRestored(toEvidence(told))).toMatchObject({ held: false, detail: expect.stringContaining(problem) })
  })

  it.each<[string, readonly (readonly [string, object])[], string]>([
    ['was never off', without('workspace off'), 'it was never seen that the workspace was off'],
    ['stayed off', without('workspace on'), 'it was never seen that the workspace was on again'],
    ['ran on', swapped('first pod gone ✗', 'workspace off'), 'the workspace was off before its containers had stopped'],
    [
      'lost its machine',
      story.flatMap((one) =>
        one[0] === 'workspace on' ? [['machine lost ✗', machine('Ready')] as const, one] : [one],
      ),
      'its machine was deleted',
    ],
  ])('is not switched off and on where it %s', (_what, told, problem) => {
    expect(switchesOffAndOn(toEvidence(told))).toMatchObject({ held: false, detail: expect.stringContaining(problem) })
  })

  it.each<[string, Evidence, string]>([
    ['stays', toEvidence(without('workspace gone ✗')), 'it was never seen that the workspace was gone'],
    [
      'goes before its machine',
      toEvidence(swapped('machine gone ✗', 'workspace gone ✗')),
      'its containers were gone before',
    ],
    [
      'leaves a pod',
      toEvidence([...story, ['another pod', { ...pod, metadata: { ...pod.metadata, uid: 'r' } }]]),
      '1 of its pods are still there',
    ],
    ['leaves something', toEvidence(story, ['Secret a']), 'Secret a is left of it'],
    [
      'takes the image along',
      toEvidence([...story, ['image gone ✗', image(true)]]),
      'image demo-vmdi is not there any more',
    ],
  ])('does not go where it %s', (_what, evidence, problem) => {
    expect(goesWithAll(evidence)).toMatchObject({ held: false, detail: expect.stringContaining(problem) })
  })
})
