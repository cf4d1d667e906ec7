import { LABELS } from '@open-terrain/constructs'
import { MANAGER, type VMDiskImageStatus } from '@open-terrain/constructs/operator'
import { afterEach, describe, expect, it } from 'vitest'
import { apiError } from '../../../test/prepared/kube/api-error.ts'
import { MINUTE, SECOND } from '../../../test/prepared/runtime/times.ts'
import { CDI } from '../../../test/prepared/vm-disk-image/image-objects.ts'
import { ImageWalk } from '../../../test/prepared/vm-disk-image/image-walk.ts'
import { NO_REFERENCES, ONE_USER } from '../../../test/prepared/vm-disk-image/image-world.ts'
import { LEDGER, Term } from '../../../test/prepared/vm-disk-image/term.ts'
import type { KubeObject } from '../../kube/kube-object.ts'

const HOUR = 60 * MINUTE

let term = new Term()

afterEach(async () => {
  await term.stop()
  term = new Term()
})

const isStatusOf =
  (name: string) =>
  ({ verb, kind, key }: { verb: string; kind: string; key: string }) =>
    verb === 'status' && kind === 'VMDiskImage' && key === `team/${name}`

describe('a download', () => {
  it('whose create is carried out without an answer is counted once', async () => {
    term.image('only')
    term.client.after = ({ verb, kind }) => {
      if (verb === 'create' && kind === 'DataVolume') throw apiError('NoAnswer')
    }
    await term.start()
    expect(term.client.all('DataVolume')).toHaveLength(1)
    expect(await term.runtimeMetrics.render()).toContain('\not_sync_started_total 1\n')
  })
})

describe('which fields the DataVolumes of the cluster have', () => {
  const isRead = () => term.client.callsOf('list').some((line) => line.startsWith('list CustomResourceDefinition'))

  it.each([
    ['is not read for an image that any CDI can download', {}, false],
    ['is read for one with a checksum', { sourceType: 'http', checksum: `md5:${'0'.repeat(32)}` }, true],
    ['is read for one in a bucket of Google', { url: 'gs://b/k', sourceType: 'gcs' }, true],
  ])('%s', async (_what, spec, expected) => {
    term.image('only', spec)
    await term.start()
    expect(isRead()).toBe(expected)
  })
})

describe('a process that has just taken over', () => {
  it('does not call a download failed that its caches have not heard of', async () => {
    const walk = new ImageWalk({ metadata: { name: 'running' } })
    walk.settle().admit().report(CDI.running).settle()
    const { image, dataVolumes } = walk.world
    const [dataVolume] = dataVolumes
    if (dataVolume === undefined) throw new Error(walk.stand)
    term.client.put(image)
    await term.start(() => {
      term.client.delayWatches(HOUR)
      term.client.put(running(dataVolume))
    })
    await term.clock.advance(5 * SECOND)
    expect(term.client.callsOf('get')).toContain(`get DataVolume team/${dataVolume.metadata.name}`)
    expect(term.client.peek<typeof image>('VMDiskImage', 'team/running')?.status.attempts).toBeUndefined()
    expect(term.client.callsOf('delete')).toEqual([])
  })
})

/** Returns a DataVolume as CDI shows it while its importer runs. */
function running(view: KubeObject): KubeObject {
  const { apiVersion, kind, metadata } = view
  return { apiVersion, kind, metadata, status: { phase: 'ImportInProgress', progress: '12.0%' } } as KubeObject
}

describe('the first of two images', () => {
  const begin = async () => {
    term.image('first')
    term.image('second')
  }

  const startRefused = async () => {
    term.client.before = (call) => {
      if (isStatusOf('first')(call)) throw apiError('Rejected')
    }
    await term.start()
  }

  it('is not overtaken while its writes meet conflicts', async () => {
    await begin()
    let conflicts = 4
    term.client.before = (call) => {
      if (isStatusOf('first')(call) && conflicts-- > 0) throw apiError('Conflict')
    }
    await term.start()
    await term.clock.advance(10 * SECOND)
    expect(conflicts).toBeLessThan(0)
    expect(term.created).toEqual(['first'])
    expect(term.holding).toEqual(['first'])
  })

  it('does not hold up the second while its writes are refused', async () => {
    await begin()
    await startRefused()
    expect(term.created).toEqual(['second'])
  })

  it('is told of a refusal by an Event, and goes on by itself when nothing refuses any more', async () => {
    await begin()
    await startRefused()
    expect(term.client.all('Event')).toContainEqual(expect.objectContaining({ type: 'Warning', reason: 'Refused' }))
    term.client.before = undefined
    await term.clock.advance(60 * SECOND)
    const first = term.client.peek<KubeObject & { status: VMDiskImageStatus }>('VMDiskImage', 'team/first')
    expect(first?.status.phase).toBe('Queued')
  })

  it('holds up the second for some seconds at most while its writes hang, and not again at each try', async () => {
    await begin()
    term.client.before = async (call) => {
      if (!isStatusOf('first')(call)) return
      await new Promise<void>((resolve) => term.clock.setTimer(resolve, 30 * SECOND))
      throw apiError('NoAnswer')
    }
    await term.start()
    expect(term.created).toEqual([])
    await term.clock.advance(6 * SECOND)
    expect(term.created).toEqual(['second'])
    await term.clock.advance(30 * SECOND)
    term.limit = 3
    term.image('third')
    await term.clock.advance(SECOND)
    expect(term.created).toEqual(['second', 'third'])
  })
})

describe('an image whose Secret is not read yet', () => {
  const isRead = ({ verb, kind }: { verb: string; kind: string }) => verb === 'get' && kind === 'Secret'

  it('keeps its place for some seconds, lets others pass then, and starts when the Secret is read', async () => {
    term.image('first')
    term.image('second', { secretRef: undefined })
    term.limit = 2
    let isAnswering = false
    term.client.before = (call) => {
      if (isRead(call) && !isAnswering) throw apiError('Unavailable')
    }
    await term.start()
    expect(term.created).toEqual([])
    await term.clock.advance(6 * SECOND)
    expect(term.created).toEqual(['second'])
    isAnswering = true
    await term.clock.advance(MINUTE)
    expect(term.created).toEqual(['second', 'first'])
    expect(term.log.lines.some((line) => JSON.stringify(line).includes('a2V5'))).toBe(false)
  })

  it('does not overtake another, and waits for nothing where the content is refused', async () => {
    term.image('first')
    term.image('second', { secretRef: undefined })
    term.client.before = (call) => {
      if (isRead(call)) throw apiError('Rejected')
    }
    await term.start()
    expect(term.created).toEqual(['first'])
  })
})

describe('a ledger that is deleted', () => {
  it('is made again because the watch tells of it, and stops no download', async () => {
    term.image('only')
    await term.start()
    expect(term.holding).toEqual(['only'])
    term.client.drop('ConfigMap', LEDGER)
    await term.clock.advance(SECOND)
    expect(term.holding).toEqual(['only'])
    expect(term.client.callsOf('delete')).toEqual([])
    const [dataVolume] = term.client.all('DataVolume')
    expect(dataVolume?.metadata.labels?.[LABELS.managedBy]).toBe(MANAGER)
  })
})

describe('an image that is let go', () => {
  it('is let go once, though its watch is late and another one asks for a look at it', async () => {
    term.leavingImage('gone')
    await term.start(() => term.client.delayWatches(HOUR, ['VMDiskImage']))
    expect(term.client.callsOf('patch')).toEqual(['patch VMDiskImage team/gone'])
    const metadata = {
      name: 'gone',
      namespace: 'team',
      labels: { [LABELS.imageUid]: 'uid-gone' },
    }
    term.client.put({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata })
    await term.clock.advance(SECOND)
    expect(term.client.callsOf('patch')).toHaveLength(1)
  })
})

describe('an image that cannot be planned', () => {
  it('is told to people and to the log, and holds up nobody', async () => {
    term.oddImage('odd', { phase: 'Queued', ticket: '1', attempts: 'none' })
    term.image('next')
    await term.start()
    await term.clock.advance(60 * SECOND)
    expect(term.created).toEqual(['next'])
    const { status } = term.client.peek<KubeObject & { status: VMDiskImageStatus }>('VMDiskImage', 'team/odd') ?? {}
    expect(status?.conditions).toMatchObject([{ type: 'Stalled', status: 'True', reason: 'InternalError' }])
    expect(status?.message).toContain('report it')
    expect(term.log.lines.filter(({ level }) => level === 'error').length).toBeGreaterThan(0)
    const writes = term.client.callsOf('status').filter((line) => line.endsWith('team/odd')).length
    await term.clock.advance(600 * SECOND)
    expect(term.client.callsOf('status').filter((line) => line.endsWith('team/odd'))).toHaveLength(writes)
  })

  it('holds up nobody either where not even that can be written', async () => {
    term.oddImage('odd', { phase: 'Queued', ticket: '1', attempts: 'none', conditions: 'none' })
    term.image('next')
    await term.start()
    await term.clock.advance(60 * SECOND)
    expect(term.created).toEqual(['next'])
  })
})

/** Puts an image and its snapshots into the API server. */
function published({ world: { image, snapshots } }: ImageWalk): void {
  term.client.put(image)
  for (const { apiVersion, kind, metadata } of snapshots) {
    const source = { persistentVolumeClaimName: metadata.name }
    term.client.put({ apiVersion, kind, metadata, spec: { volumeSnapshotClassName: 'snap', source } } as KubeObject)
  }
}

describe('an image that somebody deletes', () => {
  it('keeps what a user has that the caches do not know yet', async () => {
    term.users = ['VirtualMachine/a/vm']
    published(new ImageWalk().publish().markDeleted())
    await term.start()
    await term.clock.advance(60 * SECOND)
    expect(term.client.callsOf('delete')).toEqual([])
    term.users = []
    await term.clock.advance(2 * SECOND)
    expect(term.client.callsOf('delete')).toEqual([expect.stringContaining('delete VolumeSnapshot team/img-')])
  })
})

describe('another backoff in the policy', () => {
  it('is written to all images that wait for their next attempt, no faster than 50 a second', async () => {
    const count = 120
    const nextRetryTimes = () =>
      term.client
        .all('VMDiskImage')
        .map(({ status }: KubeObject & { status?: VMDiskImageStatus }) => status?.nextRetryTime)
    for (let number = 0; number < count; number += 1) {
      const metadata = { name: `failed-${number}`, uid: `uid-${number}` }
      const { image } = new ImageWalk({ metadata }).settle().fail().world
      term.client.put(image)
    }
    await term.start()
    expect(term.client.callsOf('status')).toEqual([])
    const before = nextRetryTimes()
    term.setPolicy({ retryBackoffMs: 40 * MINUTE })
    await term.clock.advance(SECOND)
    const first = term.client.callsOf('status').length
    expect(first).toBeGreaterThan(0)
    expect(first).toBeLessThanOrEqual(51)
    await term.clock.advance(2 * SECOND)
    expect(term.client.callsOf('status')).toHaveLength(count)
    expect(nextRetryTimes().every((time, at) => (time ?? '') > (before[at] ?? ''))).toBe(true)
  })
})

describe('an image that nobody refers to', () => {
  it('downloads on while a machine, which the cache does not know yet, refers to it, and is stopped before it goes', async () => {
    const spec = { reclaimPolicy: 'Delete', unreferencedTTL: '30s' }
    const walk = new ImageWalk({ spec, references: ONE_USER }).settle().admit().report(CDI.running)
    const [dataVolume] = walk.set({ references: NO_REFERENCES }).settle().world.dataVolumes
    if (dataVolume === undefined) throw new Error(walk.stand)
    term.client.put(walk.world.image)
    term.client.put(running(dataVolume))
    term.users = ['VirtualMachine/a/vm']
    await term.start()
    await term.clock.advance(60 * SECOND)
    expect(term.client.callsOf('delete')).toEqual([])
    term.users = []
    await term.clock.advance(2 * SECOND)
    expect(term.client.callsOf('delete')).toEqual([
      `delete DataVolume team/${dataVolume.metadata.name}`,
      'delete VMDiskImage team/img',
    ])
  })

  it('is not deleted while a clone of it, which the cache does not know yet, is unfinished', async () => {
    const spec = { reclaimPolicy: 'Delete', unreferencedTTL: '30s' }
    published(new ImageWalk({ spec }).publish())
    await term.start(() => term.client.delayWatches(HOUR, ['DataVolume']))
    term.client.put({
      apiVersion: 'cdi.kubevirt.io/v1beta1',
      kind: 'DataVolume',
      metadata: { name: 'clone', namespace: 'other' },
      spec: { sourceRef: { kind: 'DataSource', name: 'img', namespace: 'team' } },
      status: { phase: 'CloneInProgress' },
    } as KubeObject)
    await term.clock.advance(600 * SECOND)
    expect(term.client.callsOf('delete')).toEqual([])
    term.client.drop('DataVolume', 'other/clone')
    await term.clock.advance(60 * SECOND)
    expect(term.client.callsOf('delete')).toEqual([
      'delete VMDiskImage team/img',
      'delete DataSource team/img',
      expect.stringMatching(/^delete VolumeSnapshot team\/img-/),
    ])
    expect(await term.runtimeMetrics.render()).toContain('\not_vmdi_removed_total{why="NeverReferenced"} 1\n')
  })
})
