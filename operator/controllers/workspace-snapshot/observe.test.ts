import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { shortHash } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { ScriptedClient } from '../../../test/prepared/kube/scripted-client.ts'
import { fakeLog } from '../../../test/prepared/runtime/fake-log.ts'
import { BY_NAMESPACE, byNamespace, clusterCaches } from '../../cluster/caches.ts'
import { viewClaim } from '../../cluster/views.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import { Reflectors } from '../../runtime/reflectors.ts'
import { Store } from '../../runtime/store.ts'
import {
  type KubeVirtMachine,
  type LabMachine,
  type LabPod,
  type LabWorkspace,
  WorkspaceSnapshotCaches,
} from './caches.ts'
import { isKnownEnough, observeWorkspaceSnapshot } from './observe.ts'
import type { WorkspaceSnapshotView } from './world.ts'

const LAB = { apiVersion: 'pelotech.ot/v1alpha1', kind: 'Workspace', metadata: { name: 'lab', uid: 'uid-lab' } }
const POINT: WorkspaceSnapshotView = {
  apiVersion: 'pelotech.ot/v1alpha1',
  kind: 'WorkspaceSnapshot',
  metadata: { namespace: 'lab', name: 'before-exam', uid: 'uid-point' },
  spec: {},
  status: {},
}
const VM: LabMachine = {
  apiVersion: 'pelotech.ot/v1alpha1',
  kind: 'VirtualMachine',
  metadata: { namespace: 'lab', name: 'vm', uid: 'uid-vm', ownerReferences: [ownedBy(LAB)] },
  status: {},
}
const KUBEVIRT: KubeVirtMachine = {
  apiVersion: 'kubevirt.io/v1',
  kind: 'VirtualMachine',
  metadata: { namespace: 'lab', name: 'vm', uid: 'uid-kubevirt', ownerReferences: [ownedBy(VM)] },
  spec: {},
  printableStatus: 'Stopped',
  runStrategy: 'Halted',
  restoreInProgress: '',
  lastRestore: '',
  rootClaim: '',
}

const CLAIM = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { namespace: 'lab', name: 'loot', uid: 'uid-loot', ownerReferences: [ownedBy(LAB)] },
}

function ownedBy({ apiVersion, kind, metadata: { name, uid = '' } }: KubeObject) {
  return { apiVersion, kind, name, uid, controller: true }
}

interface Seen {
  readonly workspace?: Partial<LabWorkspace>
  readonly vm?: Partial<LabMachine>
  readonly kubevirt?: Partial<KubeVirtMachine>
  readonly claims?: readonly KubeObject[]
  readonly point?: WorkspaceSnapshotView
  readonly others?: readonly WorkspaceSnapshotView[]
}

/** What a restore is decided from, in a lab of one machine. */
function restoreIn({ point = POINT, ...seen }: Seen = {}) {
  return observeWorkspaceSnapshot(point, cachesWith(seen), { workspaceSnapshotLimit: 3 }).restore
}

/** No kind has been listed. */
function cachesWith({ workspace, vm, kubevirt, claims = [CLAIM], others = [] }: Omit<Seen, 'point'>) {
  const client = new ScriptedClient()
  const { clock } = client
  const reflectors = new Reflectors({ client, clock, random: () => 0, log: fakeLog(), onRelist: () => undefined })
  const stores = {
    workspaces: new Store<LabWorkspace>(),
    machines: new Store<LabMachine>().index(BY_NAMESPACE, byNamespace),
    kubevirt: new Store<KubeVirtMachine>(),
    pods: new Store<LabPod>().index(BY_NAMESPACE, byNamespace),
    arePodsKnown: () => true,
  }
  stores.workspaces.put({ ...LAB, spec: {}, status: {}, ...workspace })
  stores.machines.put({ ...VM, ...vm })
  stores.kubevirt.put({ ...KUBEVIRT, ...kubevirt })
  const cluster = clusterCaches(reflectors)
  for (const claim of claims) cluster.claims.put(viewClaim(claim))
  const caches = new WorkspaceSnapshotCaches(reflectors, stores, cluster)
  for (const one of others) caches.snapshots.put(one)
  return caches
}

const OFF = { powerState: 'Halted' }
const saying = (phase: string, reason: string) => ({ phase, reason }) as LabWorkspace['status']
const hash = (value: string) => shortHash([value])
const asked = (value: string) => ({
  metadata: { ...VM.metadata, annotations: { [ANNOTATIONS.resetRequestedAt]: value } },
})
const REPLACING = {
  type: 'Replacing',
  status: 'True',
  reason: 'ReplacementBlocked',
  message: 'it waits',
  lastTransitionTime: '2026-01-31T12:00:00Z',
} as const

describe('a point in time', () => {
  it('is planned before KubeVirt is looked at only if it goes with its namespace', () => {
    const time = '2026-01-31T11:00:00Z'
    const caches = cachesWith({})
    const leaving = { ...POINT, metadata: { ...POINT.metadata, deletionTimestamp: time } }
    expect([POINT, leaving].map((one) => isKnownEnough(one, caches))).toEqual([false, false])
    const metadata = { name: 'lab', uid: 'uid-namespace', deletionTimestamp: time }
    caches.cluster.namespaces.put({ apiVersion: 'v1', kind: 'Namespace', metadata })
    expect([POINT, leaving].map((one) => isKnownEnough(one, caches))).toEqual([false, true])
  })
})

describe('how many come before a point in time', () => {
  const made = (name: string, creationTimestamp: string, status: WorkspaceSnapshotView['status'] = {}) => ({
    ...POINT,
    metadata: { ...POINT.metadata, name, uid: name, creationTimestamp },
    status,
  })
  const TAKEN = { members: [] }
  const one = made('m', '2026-01-31T11:00:00Z')
  const aheadOf = (other: WorkspaceSnapshotView, beginning: readonly string[] = []) =>
    observeWorkspaceSnapshot(
      one,
      cachesWith({ others: [other] }),
      { workspaceSnapshotLimit: 3 },
      { beginning: new Set(beginning) },
    ).ahead

  it.each<[what: string, other: WorkspaceSnapshotView, beginning: string[], ahead: number]>([
    ['itself', one, [], 0],
    ['an older one', made('z', '2026-01-31T10:59:59Z'), [], 1],
    ['a younger one', made('a', '2026-01-31T11:00:01Z'), [], 0],
    ['one of the same second with a name before its own', made('a', '2026-01-31T11:00:00Z'), [], 1],
    ['one of the same second with a name after its own', made('z', '2026-01-31T11:00:00Z'), [], 0],
    ['a younger one that is taken', made('z', '2026-01-31T11:00:01Z', TAKEN), [], 1],
    ['a younger one whose members are being written', made('z', '2026-01-31T11:00:01Z'), ['z'], 1],
    ['an older one, while its own members are being written', made('a', '2026-01-31T10:59:59Z'), ['m'], 0],
    [
      'an older one that is taken, while its own members are being written',
      made('a', '2026-01-31T10:59:59Z', TAKEN),
      ['m'],
      1,
    ],
  ])('counts %s', (_what, other, beginning, ahead) => {
    expect(aheadOf(other, beginning)).toBe(ahead)
  })
})

describe('what a restore is decided from', () => {
  it.each<[string, Partial<LabWorkspace>, isLabOff: boolean]>([
    ['it is on', { spec: {} }, false],
    ['it is switched off', { spec: { powerState: 'Halted' } }, true],
    ['it has ended', { status: { expiry: { source: 'policy', value: '1h', ended: true } } }, true],
    ['one of its machines is being restored', { spec: OFF, status: saying('Provisioning', 'Restoring') }, true],
    ['something in it has failed', { spec: OFF, status: saying('Failed', 'ComponentFailed') }, true],
  ])('says whether the workspace is off, where %s', (_what, workspace, isLabOff) => {
    expect(restoreIn({ workspace }).isLabOff).toBe(isLabOff)
  })

  it('says of each machine whether it is off', () => {
    const isOff = (kubevirt: Seen['kubevirt']) => restoreIn({ kubevirt }).targets['vm']?.kubevirt?.isOff
    expect([{}, { printableStatus: 'Stopping' }, { runStrategy: 'Always' }].map(isOff)).toEqual([true, false, false])
  })

  it('says which other restore was begun first: of one second by uid', () => {
    const time = '2026-01-31T11:00:00Z'
    const of = (uid: string, startTime: string): WorkspaceSnapshotView => ({
      ...POINT,
      metadata: { ...POINT.metadata, name: uid, uid },
      status: { restore: { phase: 'InProgress', request: 'hash', message: '', startTime } },
    })
    const earlier = (other: WorkspaceSnapshotView) => restoreIn({ point: of('uid-b', time), others: [other] }).earlier
    expect([of('uid-a', time), of('uid-c', time), of('uid-c', '2026-01-31T10:59:59Z')].map(earlier)).toEqual([
      'uid-a',
      undefined,
      'uid-c',
    ])
    const other = of('uid-a', time)
    const leaving = { ...other, metadata: { ...other.metadata, deletionTimestamp: time } }
    expect([other, leaving].map((one) => restoreIn({ others: [one] }).other)).toEqual(['uid-a', undefined])
  })

  it('says which claim a volume has, as the workspace has it: an older annotation yields to a claim that it has had since', () => {
    const switched = (claim: string) =>
      JSON.stringify({ loot: { claim, replaced: 'loot', at: '2026-01-31T11:00:00Z' } })
    const marks = { labels: { [LABELS.volume]: 'loot' }, annotations: { [ANNOTATIONS.rendered]: 'mark' } }
    const later = { ...CLAIM, metadata: { ...CLAIM.metadata, name: 'loot-5e6f7a8b', uid: 'later', ...marks } }
    const presentAt = (claim: string) => {
      const annotations = { [ANNOTATIONS.volumeClaims]: switched(claim) }
      return restoreIn({ workspace: { metadata: { ...LAB.metadata, annotations } }, claims: [CLAIM, later] }).volumes[
        'loot'
      ]
    }
    expect(presentAt('loot-1a2b3c4d')).toMatchObject({ claim: 'loot-5e6f7a8b', others: ['loot'] })
    expect(presentAt('loot')).toMatchObject({ claim: 'loot', others: ['loot-5e6f7a8b'] })
  })

  it('says of each machine which volumes of the workspace are disks of it', () => {
    const claims = ['restore-1-rootdisk', 'loot']
    const volumes = claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } }))
    const kubevirt = { spec: { template: { spec: { volumes: [...volumes, { name: 'cloudinit' }] } } } }
    expect(restoreIn({ kubevirt }).targets['vm']?.kubevirt?.volumes).toEqual(['loot'])
  })

  it('says of each machine which of its claims are not bound, or were not seen, and of those in the status what they are', () => {
    const claims = ['bound', 'waits', 'unseen']
    const volumes = claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } }))
    const kubevirt = {
      spec: { template: { spec: { volumes: [...volumes, { name: 'root', dataVolume: { name: 'dv' } }] } } },
    }
    const named = (name: string, phase: string) => ({
      ...CLAIM,
      metadata: { ...CLAIM.metadata, name },
      status: { phase },
    })
    const restore = {
      phase: 'WaitForFirstConsumer',
      message: '',
      startTime: '',
      unfilled: ['waits', 'unseen'],
    }
    const point = { ...POINT, status: { ...POINT.status, restore } } as unknown as WorkspaceSnapshotView
    const seen = restoreIn({ kubevirt, point, claims: [named('bound', 'Bound'), named('waits', 'Pending')] })
    expect(seen.targets['vm']?.kubevirt?.unbound).toEqual(['waits', 'unseen'])
    expect(Object.values(seen.claims).map(({ object, phase }) => [object.metadata.name, phase])).toEqual([
      ['waits', 'Pending'],
    ])
  })

  it.each<[string, Partial<LabMachine>, isReplaced: boolean, isResetAsked: boolean]>([
    ['nobody asks', {}, false, false],
    ['a replacement waits for an old disk', { status: { conditions: [REPLACING] } }, true, false],
    ['a reset is not answered', { ...asked('2'), status: { resetRequest: hash('1') } }, false, true],
    [
      'a reset was answered',
      { ...asked('1'), status: { resetRequest: hash('2'), earlierResets: hash('1') } },
      false,
      false,
    ],
  ])('says of a machine whether its root disk is replaced, or is to be: %s', (_what, vm, isReplaced, isResetAsked) => {
    expect(restoreIn({ vm }).targets['vm']).toMatchObject({ isReplaced, isResetAsked })
  })
})
