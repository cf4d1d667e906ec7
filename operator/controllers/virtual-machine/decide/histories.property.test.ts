import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE } from '../../../../test/prepared/runtime/times.ts'
import { DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import {
  ARTIFACT,
  anImage,
  KUBEVIRT,
  PASSWORD,
  PUBLISHED,
  QUEUED,
  REFERRING,
  SPEC,
} from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import { NO_PASSWORD } from '../../../../test/prepared/virtual-machine/machine-world.ts'
import { toTime } from '../../../base/time.ts'
import type { MachineWorld } from '../world.ts'

const canReport = ({ world: { clone } }: MachineWalk) =>
  clone !== undefined && clone.metadata.deletionTimestamp === undefined
const hasMachine = ({ world: { machine } }: MachineWalk) => machine !== undefined
/** Marks an object as deleted. It stays until it is reaped. */
const gone = (walk: MachineWalk, name: 'clone' | 'machine' | 'image') => {
  const object = walk.world[name]
  if (object === undefined) return
  const metadata = { ...object.metadata, deletionTimestamp: toTime(walk.now) }
  walk.set({ [name]: { ...object, metadata } } as Partial<MachineWorld>)
}

/** What people, the image, CDI and KubeVirt may do at any time. */
const ACTS: Record<string, (walk: MachineWalk) => unknown> = {
  imageReady: (walk) => walk.image(PUBLISHED),
  imageWaits: (walk) => walk.image(QUEUED),
  imageFails: (walk) => walk.image({ phase: 'Failed', message: 'got 404' }),
  imageRefreshed: (walk) =>
    walk.image({ phase: 'Succeeded', artifact: { ...ARTIFACT, revision: '99999999', name: 'golden-99999999' } }),
  imageGone: (walk) => walk.image(undefined),
  deleteImage: (walk) => gone(walk, 'image'),
  cloning: (walk) => canReport(walk) && walk.world.clone?.phase !== 'Succeeded' && walk.disk(DISK.cloning),
  waits: (walk) => canReport(walk) && walk.world.clone?.phase !== 'Succeeded' && walk.disk(DISK.waiting),
  diskFails: (walk) => canReport(walk) && walk.world.clone?.phase !== 'Succeeded' && walk.disk(DISK.failed, false),
  diskDone: (walk) => canReport(walk) && walk.disk(DISK.succeeded),
  deleteDisk: (walk) => gone(walk, 'clone'),
  sourceGone: (walk) => walk.set({ hasCloneSource: false }),
  sourceBack: (walk) => walk.set({ hasCloneSource: true }),
  starting: (walk) => hasMachine(walk) && walk.kubevirt(KUBEVIRT.starting),
  runs: (walk) => hasMachine(walk) && walk.world.claim !== undefined && walk.start(),
  hangs: (walk) =>
    hasMachine(walk) && walk.world.claim !== undefined && walk.instance({ isReady: false }).kubevirt(KUBEVIRT.notReady),
  stops: (walk) => hasMachine(walk) && walk.set({ instance: undefined }).kubevirt(KUBEVIRT.stopped),
  crashes: (walk) =>
    hasMachine(walk) && walk.set({ instance: undefined }).kubevirt({ printableStatus: 'CrashLoopBackOff' }),
  deleteMachine: (walk) => gone(walk, 'machine'),
  reap: (walk) => walk.reap(),
  secretGone: (walk) => walk.set({ secret: undefined }),
  tamper: (walk) => hasMachine(walk) && walk.tamper({ spec: { runStrategy: 'Halted' } }),
  editUsers: (walk) => walk.edit({ users: REFERRING }),
  editBack: (walk) => walk.edit({ users: SPEC['users'], ignoreOnDeploy: undefined }),
  spoil: (walk) => walk.edit({ users: 'none' }),
  ignore: (walk) => walk.edit({ ignoreOnDeploy: true }),
  conflict: (walk) => walk.set({ conflict: 'Secret vm-cloudinit' }),
  noConflict: (walk) => walk.set({ conflict: undefined }),
  noKubeVirt: (walk) => walk.set({ hasKubeVirt: false }),
  kubeVirt: (walk) => walk.set({ hasKubeVirt: true }),
  noPassword: (walk) => walk.set({ cloudInit: NO_PASSWORD }),
  refused: (walk) => walk.set({ refusal: 'quota' }),
  taken: (walk) => walk.set({ refusal: undefined }),
  later: (walk) => walk.after(MINUTE),
  muchLater: (walk) => walk.after(HOUR),
}

const histories = fc.array(fc.constantFrom(...Object.keys(ACTS)), { maxLength: 30 })

function after(history: readonly string[], holds: (walk: MachineWalk) => void = () => undefined): MachineWalk {
  const walk = new MachineWalk({ image: undefined }).settle()
  for (const name of history) {
    ACTS[name]?.(walk)
    // settle() is a check in itself: it throws unless plans stop writing in an unchanged world.
    walk.settle()
    holds(walk)
  }
  return walk
}

function always(holds: (history: readonly string[]) => void): void {
  fc.assert(
    fc.property(histories, (history) => holds(history)),
    { numRuns: 150 },
  )
}

describe('after any history', { timeout: 60_000 }, () => {
  it('the plans come to rest, and stay there until the next time that they asked for', () => {
    always((history) => {
      after(history, (walk) => expect(walk.writtenUntilRequeue(HOUR)).toEqual([]))
    })
  })

  it('no disk was removed that had booted or was complete, and no instance that had not run', () => {
    always((history) => {
      for (const { kind, world } of after(history).removed) {
        const { clone, instance, vm } = world
        if (kind === 'DataVolume' || kind === 'VirtualMachine') {
          expect([vm.status.bootedAt, clone?.phase === 'Succeeded', instance?.phase === 'Running']).toEqual([
            undefined,
            false,
            false,
          ])
        }
        if (kind === 'VirtualMachineInstance') expect(instance?.phase).toBe('Running')
        expect(kind).not.toBe('Secret')
      }
    })
  })

  it('it becomes ready once all is well', () => {
    always((history) => {
      const walk = after(history)
      walk.set({
        hasCloneSource: true,
        conflict: undefined,
        hasKubeVirt: true,
        refusal: undefined,
        instance: undefined,
      })
      walk.edit({ users: SPEC['users'], ignoreOnDeploy: undefined })
      walk.reap().image(PUBLISHED)
      if (walk.world.clone?.phase === 'Failed') gone(walk, 'clone')
      walk.reap().disk(DISK.succeeded).start()
      expect(walk.stand).toBe('Ready/Running')
      expect(walk.after(10 * HOUR).stand).toBe('Ready/Running')
    })
  })

  it('it is gone with nothing left but the image, once it is deleted', () => {
    always((history) => {
      const walk = after(history)
      const before = walk.log.length
      walk.set({ image: anImage() }).markDeleted().settle()
      for (let turn = 0; turn < 4; turn += 1) walk.set({ instance: undefined }).reap()
      const { machine, clone, secret, image } = walk.world
      expect([walk.isGone, machine, clone, secret]).toEqual([true, undefined, undefined, undefined])
      expect(image).toBeDefined()
      const removed = walk.log.slice(before).filter((line) => line.startsWith('delete'))
      const order = ['delete VirtualMachine vm', 'delete DataVolume vm-root', 'delete Secret vm-cloudinit']
      expect(removed).toEqual(order.filter((line) => removed.includes(line)))
    })
  })

  it('nobody has read a password', () => {
    always((history) => {
      const { world, events: told, log } = after(history)
      expect(JSON.stringify([world.vm.status, told, log, world.machine, world.secret])).not.toContain(PASSWORD)
    })
  })
})
