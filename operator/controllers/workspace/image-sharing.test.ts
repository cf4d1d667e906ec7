import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import type { VMDiskImageStatus } from '@open-terrain/constructs/operator'
import { describe, expect, it, vi } from 'vitest'
import { ScriptedClient } from '../../../test/prepared/kube/scripted-client.ts'
import { fakeLog } from '../../../test/prepared/runtime/fake-log.ts'
import { SECOND } from '../../../test/prepared/runtime/times.ts'
import {
  aWorkspace,
  IMAGE_NAMESPACE,
  MACHINE_ALONE,
  READY_IMAGE,
  start,
  startReady,
  VM,
} from '../../../test/prepared/workspace/workspace-bench.ts'
import { clusterCaches } from '../../cluster/caches.ts'
import type { ImageView } from '../../images/image-view.ts'
import { Reflectors } from '../../runtime/reflectors.ts'
import { Store } from '../../runtime/store.ts'
import { WorkspaceCaches } from './caches.ts'
import { listenForWorkspaceTriggers } from './triggers.ts'
import type { MachineFacts, WorkspaceView } from './world.ts'

type Vm = NonNullable<WorkspaceSpecInput['vms']>[number]
type References = NonNullable<VMDiskImageStatus['references']>

const DATA_SYNC = 'DataSync/vmdi-farm/release'
const FAILED: VMDiskImageStatus = { phase: 'Failed', reason: 'NotFound', message: 'the source says 404' }
const CORRECTION = `patch VMDiskImage ${IMAGE_NAMESPACE}/demo-vmdi`

/** Returns the references as the status of the image shows them: machines first, and only the first ten by name. */
function shown(machines: number, ...others: readonly string[]): References {
  const names = [...Array.from({ length: machines }, (_none, at) => `VirtualMachine/lab/vm-${at}`), ...others]
  return { count: names.length + 1, names: [...names, 'Workspace/lab'].slice(0, 10) }
}

/** Machines of the image, and others of another image. */
function machinesOf(count: number, others: number, url: string): { vms: Vm[] } {
  const { vmDiskImageTemplate: template, ...rest } = VM
  const vms = Array.from({ length: count + others }, (_none, at): Vm => {
    const backingVMDiskImage = at < count ? VM.backingVMDiskImage : 'other-vmdi'
    return {
      ...rest,
      name: `vm-${at}`,
      interfaces: [],
      backingVMDiskImage,
      vmDiskImageTemplate: { ...template, url } as never,
    }
  })
  return { vms }
}

describe('an image without an artifact', () => {
  it.each([
    [1, 0],
    [9, 0],
    [10, 0],
    [15, 0],
    [10, 3],
  ])(
    'of %i machines, beside %i of another image, is corrected from its template once nothing else refers to it',
    async (count, others) => {
      const bench = await startReady(machinesOf(count, others, 'https://images.example/wrong.qcow2'))
      bench.reportImage('demo-vmdi', { ...FAILED, references: shown(count, DATA_SYNC) })
      await bench.clock.advance(2 * SECOND)
      bench.client.calls.length = 0
      bench.change(machinesOf(count, others, 'https://images.example/right.qcow2'))
      await bench.clock.advance(30 * SECOND)
      expect(bench.client.callsOf('patch')).not.toContain(CORRECTION)
      bench.reportImage('demo-vmdi', { ...FAILED, references: shown(count) })
      await bench.clock.advance(2 * SECOND)
      expect(bench.client.callsOf('patch')).toContain(CORRECTION)
    },
  )
})

it('an image that labs share is corrected when both have corrected their templates, once, and until then each is told who wants what', async () => {
  const [wrong, right] = ['wrong', 'right'].map((name) => machinesOf(1, 0, `https://images.example/${name}.qcow2`))
  if (wrong === undefined || right === undefined) throw new Error('there are two')
  const bench = await start(wrong)
  bench.create(wrong, 'lab-b')
  await bench.clock.advance(2 * SECOND)
  bench.reportImage('demo-vmdi', { ...FAILED, references: { count: 2, names: ['Workspace/lab', 'Workspace/lab-b'] } })
  await bench.clock.advance(2 * SECOND)
  const { message } = bench.status()
  expect(message).toContain('it follows the template as soon as all that refer to it want the same')
  bench.client.calls.length = 0
  bench.change(right)
  await bench.clock.advance(30 * SECOND)
  expect(bench.client.callsOf('patch')).not.toContain(CORRECTION)
  expect(bench.status().message).toContain('Workspace lab-b wants url "https://images.example/wrong.qcow2"')
  bench.change(right, 'lab-b')
  await bench.clock.advance(30 * SECOND)
  expect(bench.client.callsOf('patch').filter((call) => call === CORRECTION)).toEqual([CORRECTION])
  expect(bench.client.peek('VMDiskImage', `${IMAGE_NAMESPACE}/demo-vmdi`)).toMatchObject({
    spec: { url: 'https://images.example/right.qcow2' },
  })
  for (const name of ['lab', 'lab-b']) expect(bench.status(name).reason).toBe('WaitingForImages')
})

describe('a change of what refers to an image requeues', () => {
  function requeued(workspaces: readonly string[], ...statuses: readonly [VMDiskImageStatus, VMDiskImageStatus]) {
    const client = new ScriptedClient()
    const basics = { client, clock: client.clock, random: () => 0.5, log: fakeLog() }
    const reflectors = new Reflectors({ ...basics, onRelist: () => undefined })
    const images = new Store<ImageView>()
    const machines = new Store<MachineFacts>().index('namespace', () => [])
    const caches = new WorkspaceCaches(reflectors, images, machines, clusterCaches(reflectors))
    for (const name of workspaces)
      caches.workspaces.put({ ...aWorkspace(MACHINE_ALONE, name), status: {} } as WorkspaceView)
    const enqueue = vi.fn()
    listenForWorkspaceTriggers(caches, () => IMAGE_NAMESPACE, enqueue)
    for (const [at, status] of statuses.entries()) {
      enqueue.mockClear()
      const metadata = { namespace: IMAGE_NAMESPACE, name: 'demo-vmdi', resourceVersion: String(at + 1) }
      images.put({ apiVersion: 'pelotech.ot/v1alpha1', kind: 'VMDiskImage', metadata, spec: {}, status })
    }
    return enqueue.mock.calls.flat()
  }
  const changed = (status: VMDiskImageStatus, ...[before, after]: readonly [References, References]) =>
    [
      { ...status, references: before },
      { ...status, references: after },
    ] as const

  it.each<[string, readonly string[], readonly [VMDiskImageStatus, VMDiskImageStatus], readonly string[]]>([
    ['its only workspace, if one goes', ['lab'], changed(FAILED, shown(1, DATA_SYNC), shown(1)), ['lab']],
    ['its only workspace, if one comes', ['lab'], changed(FAILED, shown(12), shown(12, DATA_SYNC)), ['lab']],
    ['its only workspace, if one replaces another', ['lab'], changed(FAILED, shown(0, DATA_SYNC), shown(1)), ['lab']],
    ['nothing, if the image has an artifact', ['lab'], changed(READY_IMAGE, shown(1, DATA_SYNC), shown(1)), []],
    [
      'all workspaces that share it, if one goes',
      ['lab', 'other'],
      changed(FAILED, shown(1, DATA_SYNC), shown(1)),
      ['lab', 'other'],
    ],
    [
      'nothing, if workspaces share it and one comes',
      ['lab', 'other'],
      changed(FAILED, shown(1), shown(1, DATA_SYNC)),
      [],
    ],
    ['nothing, if it is the same', ['lab'], changed({ phase: 'Queued' }, shown(1), shown(1)), []],
  ])('%s', (_what, workspaces, statuses, expected) => {
    expect(requeued(workspaces, ...statuses)).toEqual(expected)
  })
})
