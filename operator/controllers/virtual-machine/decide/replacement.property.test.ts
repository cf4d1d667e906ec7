import { deletionWord } from '@open-terrain/constructs/operator'
import fc from 'fast-check'
import { describe, it } from 'vitest'
import { MINUTE } from '../../../../test/prepared/runtime/times.ts'
import { aClaim, DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import { ARTIFACT, KUBEVIRT, PUBLISHED } from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import { isTerminating } from '../../../kube/kube-object.ts'

type Act = (walk: MachineWalk, more: number) => void

/** Of a walk, the root disks beside the present one. */
const others = ({ roots }: MachineWalk) => [...roots.keys()]
const nextOf = (walk: MachineWalk) => others(walk).find((name) => name === walk.status.replacement?.disk.name)
const clones =
  (change: Parameters<MachineWalk['root']>[1], hasClaim: boolean): Act =>
  (walk) => {
    const name = nextOf(walk)
    if (name !== undefined) walk.root(name, change, hasClaim ? `claim of ${name}` : undefined)
  }

/** What may happen between two plans, and none of which destroys a disk by itself. */
const ACTS: Readonly<Record<string, Act>> = {
  reset: (walk, more) => walk.reset(`reset ${more}`),
  rebuild: (walk, more) => walk.annotate('pelotech.ot/rebuild-requested-at', `rebuild ${more}`),
  refresh: (walk, more) =>
    walk.set({ image: walk.world.image }).image({ ...PUBLISHED, artifact: { ...ARTIFACT, revision: `${more}` } }),
  failImage: (walk) => walk.image({ phase: 'Failed', message: '404' }),
  cloning: clones(DISK.cloning, false),
  complete: clones(DISK.succeeded, true),
  fail: clones(DISK.failed, false),
  stop: (walk) => {
    if (walk.world.machine?.runStrategy === 'Halted') walk.set({ instance: undefined }).kubevirtSays(KUBEVIRT.stopped)
  },
  start: (walk) => {
    const { machine, instance, claim } = walk.world
    if (machine?.runStrategy === 'Always' && instance === undefined && claim !== undefined) walk.instance()
  },
  restore: (walk) => walk.set({ restoring: walk.world.restoring === undefined ? { restore: 'exam' } : undefined }),
  halt: (walk) => walk.edit({ powerState: 'Halted' }),
  run: (walk) => walk.edit({ powerState: undefined }),
  wait: (walk) => {
    walk.now += 40 * MINUTE
  },
  cramp: (walk) => {
    walk.claimsMax = 1
  },
  makeRoom: (walk) => {
    walk.claimsMax = undefined
  },
  giveUp: (walk) => walk.giveUp(),
  gone: (walk) => {
    const { machine, clone, instance } = walk.world
    if (isTerminating(machine)) walk.machineGone()
    if (isTerminating(clone) && instance === undefined) walk.diskGone()
  },
  made: (walk, more) => {
    const { clone, claim } = walk.world
    if (clone === undefined || claim !== undefined || isTerminating(clone)) return
    const owner = { ...CDI_OWNER, name: clone.metadata.name, uid: clone.metadata.uid ?? '' }
    const uid = `claim ${more} of ${clone.metadata.uid}`
    const made = aClaim({ name: clone.metadata.name, uid, ownerReferences: [owner] })
    walk.set({ clone: { ...clone, ...DISK.succeeded }, claim: made })
  },
}

const CDI_OWNER = { apiVersion: 'cdi.kubevirt.io/v1beta1', kind: 'DataVolume', controller: true }

/** Of most histories, nobody would ask, or no guest would stop. */
const OFTEN = ['reset', 'stop', 'stop', 'stop', 'gone', 'made']
const act = fc.constantFrom(...Object.keys(ACTS), ...OFTEN)
const acts = fc.array(fc.record({ act, more: fc.nat(5), writes: fc.nat(4) }), { minLength: 1, maxLength: 40 })

/** A machine that runs from its second disk, and whose first one is kept. */
function replacedOnce(): MachineWalk {
  const walk = new MachineWalk().deploy().reset('before').settle()
  return walk.root('vm-root-g2', DISK.succeeded, 'claim of vm-root-g2').settle().powerOff().settle().start()
}

/** Throws if a rule of root disks does not hold. The walk itself throws where a disk is taken from a guest that runs. */
function check(walk: MachineWalk, isAsked: boolean): void {
  const { world, log } = walk
  const all = [world.clone?.metadata.name, ...others(walk)].filter((name) => name !== undefined)
  if (all.length > 2) throw new Error(`it has root disks ${all.join()}`)
  const starts = walk.startsFrom
  // A machine whose disk was given up is off, until it is removed.
  const mayStart = starts !== undefined && world.machine?.runStrategy !== 'Halted'
  if (mayStart && !all.includes(starts)) throw new Error(`it starts from ${starts}, which is not there`)
  const isDestroyed = log.some((line) => line.startsWith('delete DataVolume'))
  if (isDestroyed && !isAsked) throw new Error('a disk is deleted, and nobody has asked')
  for (const one of walk.removed.splice(0)) checkRemoval(one)
}

/** Throws if the disk that the guest has run from is deleted, and nobody has given it up in the words that the machine tells. */
function checkRemoval({ kind, world: { vm, claim, instance } }: MachineWalk['removed'][number]): void {
  const isRoot = kind === 'DataVolume' && claim !== undefined && claim.metadata.uid === vm.status.diskUID
  if (!isRoot || vm.status.bootedAt === undefined) return
  const word = deletionWord(vm)
  if (word === undefined || vm.metadata.annotations?.['pelotech.ot/delete-disk-first'] !== word)
    throw new Error('the present root disk is deleted, and nobody has given it up')
  if (instance !== undefined) throw new Error('the present root disk is deleted while its guest is there')
}

describe('whatever happens, and wherever the operator crashes', () => {
  it('a machine has at most two root disks, starts from one that is there, and loses none that nobody asked to replace', () => {
    fc.assert(
      fc.property(acts, fc.boolean(), fc.boolean(), (history, isReplaced, isCramped) => {
        const walk = isReplaced ? replacedOnce() : new MachineWalk().deploy()
        walk.claimsMax = isCramped ? 1 : undefined
        let isAsked = isReplaced
        for (const { act, more, writes } of history) {
          isAsked ||= act === 'reset' || act === 'rebuild'
          ACTS[act]?.(walk, more)
          walk.writesLeft = writes
          walk.step()
          walk.writesLeft = Number.POSITIVE_INFINITY
          check(walk, isAsked)
        }
      }),
      { numRuns: 120 },
    )
  })

  it('a reset is carried out in the end', () => {
    fc.assert(
      fc.property(acts, (history) => {
        const walk = new MachineWalk().deploy()
        for (const { act, more, writes } of history) {
          ACTS[act]?.(walk, more)
          walk.writesLeft = writes
          walk.step()
          walk.writesLeft = Number.POSITIVE_INFINITY
        }
        walk.claimsMax = undefined
        walk.set({ restoring: undefined }).edit({ powerState: undefined }).image(PUBLISHED)
        const before = walk.status.diskUID
        walk.reset('the last one')
        for (let turn = 0; turn < 12; turn += 1) {
          for (const act of ['complete', 'stop', 'gone', 'made', 'start', 'wait']) {
            ACTS[act]?.(walk, 0)
            walk.settle()
          }
        }
        if (walk.status.diskUID === before || walk.status.replacement !== undefined || others(walk).length > 0)
          throw new Error(`${walk.stand}: ${walk.message}; ${others(walk).join()}`)
      }),
      { numRuns: 20 },
    )
  })
})
