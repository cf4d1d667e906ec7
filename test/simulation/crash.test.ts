import { ANNOTATIONS, type DataSyncSpecInput } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import type { ResourceType } from '../../operator/kube/kube-object.ts'
import {
  DATA_SOURCE,
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  SECRET,
  VIRTUAL_MACHINE_INSTANCE,
  VOLUME_SNAPSHOT,
} from '../../operator/kube/resource-types.ts'
import { IMAGE } from '../../sandbox/memory-cluster/index.ts'
import { conditionOf, DATA_SYNC, type DataSync, type Image, MACHINE, reasonOf } from '../harness/kinds.ts'
import { MINUTE } from '../prepared/runtime/times.ts'
import { FARM, SimulatedOperator, TEAM, TEMPLATE } from './simulated-operator.ts'

/** A new process starts this long after the crash, and leads once the Lease has expired. */
const RESTART_MS = 1_000
/** Later than the next operator leads: each start of an importer counts as an attempt. */
const IMPORTER_RESTART_MS = MINUTE
const VM = { namespace: TEAM, name: 'vm' }
const GOLDEN = { namespace: FARM, name: 'golden' }

let world: SimulatedOperator

/** A part of the life of a machine, of an image or of DataSyncs. The operator is killed at each of its writes. */
interface Act {
  readonly name: string
  readonly policy?: Readonly<Record<string, string>>
  readonly prepare?: () => Promise<void>
  readonly act: () => Promise<void>
  /** Minimum number of writes. With fewer, the act would not really be tried. */
  readonly least: number
  /** Kinds whose creations and deletions are compared, if not all of them. */
  readonly counted?: readonly ResourceType[]
}

const COUNTED = [MACHINE, DATA_SYNC, IMAGE, KUBEVIRT_VIRTUAL_MACHINE, VIRTUAL_MACHINE_INSTANCE, DATA_VOLUME, SECRET]

const ACTS: readonly Act[] = [
  {
    name: 'an image, from nothing to its next artifact',
    act: async () => {
      await world.syncImage('golden')
      const old = artifact()?.revision
      world.patch(IMAGE, GOLDEN, { metadata: { annotations: { [ANNOTATIONS.syncRequestedAt]: 'now' } } })
      await world.until('the next artifact', () => ![undefined, old].includes(artifact()?.revision))
    },
    least: 18,
    counted: [IMAGE, DATA_VOLUME, VOLUME_SNAPSHOT, DATA_SOURCE],
  },
  {
    name: 'an image whose source fails until no attempt is left, and the next one in the queue',
    policy: { concurrency: '1', retryLimit: '1', retryBackoffDuration: '10s' },
    act: async () => {
      const url = 'https://images.example.com/broken.qcow2'
      world.simulated.simulators.cdi.script({ namespace: FARM, image: url }, { type: 'error' })
      world.createImage('golden', { url })
      await world.until('a ticket', () => world.image('golden')?.status?.ticket !== undefined)
      await world.syncImage('other')
      await world.until('its failure', () => world.image('golden')?.status?.phase === 'Failed')
    },
    least: 20,
    counted: [IMAGE, DATA_VOLUME],
  },
  {
    name: 'an image that is suspended while it downloads, resumed, and deleted while it downloads',
    act: async () => {
      world.simulated.simulators.cdi.script({ namespace: FARM }, { type: 'stall' })
      world.createImage('golden')
      await world.until('its download', () => reasonOf(world.image('golden')) === 'Syncing')
      world.patch(IMAGE, GOLDEN, { spec: { suspend: true } })
      await world.until('its end', () => reasonOf(world.image('golden')) === 'Suspended' && dataVolumes().length === 0)
      world.patch(IMAGE, GOLDEN, { spec: { suspend: false } })
      await world.until('its download', () => reasonOf(world.image('golden')) === 'Syncing')
      world.delete(IMAGE, FARM, 'golden')
      await world.until('the end of the image', () => world.image('golden') === undefined)
    },
    least: 12,
    counted: [IMAGE, DATA_VOLUME],
  },
  {
    name: 'a machine that comes before its image',
    act: async () => {
      world.create('vm')
      await world.untilReady('vm')
    },
    least: 15,
  },
  {
    name: 'a guest that hangs, and is kicked',
    policy: { vmProvisionTimeout: '2m', kickLimit: '1' },
    prepare: ready,
    act: async () => {
      const before = instanceUid()
      const heal = world.simulated.simulators.kubevirt.script(VM, { type: 'neverReady' })
      await world.until('a kick', () => (world.vm('vm')?.status?.kicks?.count ?? 0) > 0)
      await world.until('another instance', () => ![undefined, before].includes(instanceUid()))
      heal()
      await world.untilReady('vm')
    },
    least: 4,
  },
  {
    name: 'a clone that hangs, and is made again',
    policy: { vmProvisionTimeout: '2m', kickLimit: '1' },
    prepare: async () => {
      await world.syncImage('golden')
    },
    act: async () => {
      const heal = world.simulated.simulators.cdi.script({ namespace: TEAM, name: 'vm-root' }, { type: 'cloneStalls' })
      world.create('vm')
      await world.until('a kick', () => (world.vm('vm')?.status?.kicks?.count ?? 0) > 0)
      const hung = world.vm('vm')?.status?.kicks?.dataVolumeUID
      await world.until('another disk', () => ![undefined, hung].includes(diskUid()))
      heal()
      await world.untilReady('vm')
    },
    least: 10,
    // Nothing has booted, so KubeVirt's machine may wait for the other disk. It is deleted only if the deletion of its disk is observed.
    counted: [MACHINE, IMAGE, DATA_VOLUME, SECRET],
  },
  {
    name: 'the deletion of a machine, and of its image, which waits for it',
    prepare: async () => {
      await ready()
      world.delete(IMAGE, FARM, 'golden')
      await world.until('the block', () => hasCondition('DeletionBlocked'))
    },
    act: async () => {
      world.delete(MACHINE, TEAM, 'vm')
      await world.until('the end of the machine', () => world.vm('vm') === undefined)
      await world.until('the end of the image', () => world.image('golden') === undefined)
    },
    least: 8,
  },
  {
    name: 'DataSyncs that share an image',
    act: async () => {
      release('lab', ['attacker', 'victim'])
      await untilSynced('lab', 2)
      release('next', ['attacker'])
      await untilSynced('next', 1)
    },
    least: 20,
  },
  {
    name: 'a DataSync whose images are changed, added and asked for again',
    prepare: async () => {
      release('lab', ['victim'])
      await untilSynced('lab', 1)
    },
    act: async () => {
      const key = { namespace: FARM, name: 'lab' }
      world.patch(DATA_SYNC, key, { spec: releaseOf(['victim', 'router'], '2Gi') })
      await world.until('the router', () => world.image('035-router')?.status?.phase === 'Succeeded')
      await untilSynced('lab', 2)
      world.patch(DATA_SYNC, key, { metadata: { annotations: { [ANNOTATIONS.syncRequestedAt]: 'now' } } })
      await world.until('the request', () => hasReached('035-victim') && hasReached('035-router'))
      await untilSynced('lab', 2)
    },
    least: 30,
  },
  {
    name: 'DataSyncs that go, and then the image that they kept',
    policy: { unreferencedTTL: '30s' },
    prepare: async () => {
      release('lab', ['attacker'])
      release('next', ['attacker'])
      await untilSynced('lab', 1)
      await untilSynced('next', 1)
    },
    act: async () => {
      world.delete(DATA_SYNC, FARM, 'lab')
      await world.pass(MINUTE)
      expect(world.image('035-attacker')?.metadata.deletionTimestamp).toBeUndefined()
      world.delete(DATA_SYNC, FARM, 'next')
      await world.until('the end of the image', () => world.image('035-attacker') === undefined)
    },
    least: 6,
  },
]

function releaseOf(vms: readonly string[], diskSize = '1Gi'): DataSyncSpecInput {
  const { url: _url, ...shared } = TEMPLATE
  const urlOf = (name: string) => `https://images.example.com/${name}.qcow2`
  return { workspaceId: '035', ...shared, diskSize, vms: vms.map((name) => ({ name, url: urlOf(name) })) }
}

function release(name: string, vms: readonly string[]): void {
  world.simulated.create(DATA_SYNC, { namespace: FARM, name }, { spec: releaseOf(vms) })
}

async function untilSynced(name: string, images: number): Promise<void> {
  await world.until(`${name} to be ready`, () => {
    const { status, metadata } = world.find<DataSync>(DATA_SYNC, FARM, name) ?? {}
    const isCurrent = status?.observedGeneration === metadata?.generation && status?.ready === `${images}/${images}`
    return isCurrent && status?.reason === 'Synced'
  })
}

function hasReached(image: string): boolean {
  return world.image(image)?.metadata.annotations?.[ANNOTATIONS.syncRequestedAt] === 'now'
}

describe('a crash after any write', () => {
  it.each(ACTS.map((act) => [act.name, act] as const))(
    'ends in the same place, with nothing made or deleted twice: %s',
    async (_name, act) => {
      const undisturbed = await perform(act)
      expect(undisturbed.writes).toBeGreaterThanOrEqual(act.least)
      for (let at = 0; at < undisturbed.writes; at += 1) {
        const { hasCrashed, end } = await perform(act, at)
        expect([at, hasCrashed, end]).toEqual([at, true, undisturbed.end])
      }
    },
    300_000,
  )
})

/** @param crashAt number of the write after which the operator is killed, from 0; absent: it is not killed */
async function perform({ policy, prepare, act, counted = COUNTED }: Act, crashAt?: number) {
  world = await SimulatedOperator.start(policy, { restartBaseMs: IMPORTER_RESTART_MS })
  await prepare?.()
  await world.pass(MINUTE)
  const lives = livesFromNow(counted)
  const crash = world.crashAtWrite(crashAt, RESTART_MS)
  await act()
  await world.pass(MINUTE)
  world.stop()
  return { writes: world.written.length, hasCrashed: crash.hasCrashed, end: { lives, ...whatIsThere() } }
}

/** Returns the state of everything in the end. */
function whatIsThere() {
  const { phase, kicks } = world.vm('vm')?.status ?? {}
  return {
    left: [...world.leftIn(TEAM), ...world.leftIn(FARM)],
    machine: { phase, reason: world.reason('vm'), kicks },
    images: imagesIn(FARM),
    dataSyncs: ['lab', 'next'].map((name) => {
      const { phase, reason, ready, images } = world.find<DataSync>(DATA_SYNC, FARM, name)?.status ?? {}
      return { phase, reason, ready, images }
    }),
  }
}

function imagesIn(namespace: string) {
  const { items } = world.simulated.cluster.admin.list<Image>(IMAGE, { namespace })
  return items.map(({ metadata, spec, status }) => [metadata.name, spec, status?.phase, status?.artifact?.revision])
}

/** Counts how often each object of these kinds is created and deleted from now on, by whomever. */
function livesFromNow(counted: readonly ResourceType[]): Readonly<Record<string, number>> {
  const lives: Record<string, number> = {}
  world.simulated.cluster.onCommit(({ type, resource, object }) => {
    const isCounted = counted.some(({ group, kind }) => group === resource.group && kind === resource.kind)
    if (type === 'MODIFIED' || !isCounted) return
    const { namespace, name } = object.metadata
    const line = `${type} ${resource.kind}.${resource.group} ${namespace}/${name.replace(/-[0-9a-f]{8}$/, '')}`
    lives[line] = (lives[line] ?? 0) + 1
  })
  return lives
}

async function ready(): Promise<void> {
  world.create('vm')
  await world.untilReady('vm')
}

function instanceUid(): string | undefined {
  return world.simulated.instance('vm')?.metadata.uid
}

function diskUid(): string | undefined {
  return world.find(DATA_VOLUME, TEAM, 'vm-root')?.metadata.uid
}

function artifact() {
  return world.image('golden')?.status?.artifact
}

function dataVolumes() {
  return world.simulated.cluster.admin.list(DATA_VOLUME, { namespace: FARM }).items
}

function hasCondition(type: string): boolean {
  return conditionOf(world.image('golden'), type)?.status === 'True'
}
