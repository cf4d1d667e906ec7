import { ANNOTATIONS } from '@open-terrain/constructs'
import { deletionWord } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { HOUR } from '../../../../test/prepared/runtime/times.ts'
import { aClaim, aDisk, DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import { KUBEVIRT, PUBLISHED } from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import type { MachineWorld } from '../world.ts'

const [FIRST, SECOND] = ['vm-root', 'vm-root-g2']

function running(claimsMax: number | undefined): MachineWalk {
  const walk = new MachineWalk().deploy()
  walk.claimsMax = claimsMax
  return walk
}
/** Somebody asks for a reset, and there is room for one disk alone. */
const cramped = () => running(1).reset().settle()
const told = (walk: MachineWalk) => walk.condition('Replacing')?.message ?? ''
const done = (walk: MachineWalk) => walk.log.filter((line) => /^(delete|change|apply DataVolume)/.test(line))

/** CDI and KubeVirt do what they are asked for: what is being deleted goes, and what is there starts. */
function carriedOn(walk: MachineWalk): MachineWalk {
  walk.powerOff().settle().reap().reap()
  const { clone } = walk.world
  if (clone === undefined) throw new Error(walk.stand)
  const owner = { apiVersion: 'cdi.kubevirt.io/v1beta1', kind: 'DataVolume', name: FIRST, controller: true }
  const claim = aClaim({ uid: 'another claim', ownerReferences: [{ ...owner, uid: clone.metadata.uid ?? '' }] })
  walk.set({ clone: { ...clone, ...DISK.succeeded }, claim }).settle()
  return walk.start()
}

describe('where a quota has room for one root disk alone', () => {
  it('nothing is asked of CDI, nothing is stopped, and it is told what is lacking, and both ways on', () => {
    const walk = cramped()
    expect([walk.condition('Replacing')?.reason, walk.startsFrom, walk.world.machine?.runStrategy]).toEqual([
      'ReplacementBlocked',
      FIRST,
      'Always',
    ])
    const from = walk.log.length
    walk.after(24 * HOUR)
    expect([walk.log.slice(from), [...walk.roots.keys()]]).toEqual([[], []])
    expect(told(walk)).toContain(
      'it waits, and nothing is stopped or deleted: ResourceQuota small of namespace team has no room for a second root disk, and lacks 1 of persistentvolumeclaims (1 needed, and of 1 are 1 used); to make room: kubectl -n team patch resourcequota small --type merge -p \'{"spec":{"hard":{"persistentvolumeclaims":"2"}}}\'; the new disk is then made by itself',
    )
    expect(told(walk)).toContain(
      `with all that the guest has written to it, at once and not after resetGrace: kubectl -n team annotate --overwrite virtualmachines.pelotech.ot vm ${ANNOTATIONS.deleteDiskFirst}=${deletionWord(walk.world.vm)}`,
    )
  })

  it('it goes on when there is room', () => {
    const walk = cramped()
    walk.claimsMax = 2
    walk.settle()
    expect([...walk.roots.keys()]).toEqual([SECOND])
    expect(walk.condition('Replacing')?.reason).toBe('Replacing')
  })

  it('a rebuild waits, too', () => {
    const walk = running(1)
    walk
      .image({ ...PUBLISHED, artifact: { ...PUBLISHED.artifact, revision: 'other' } as never })
      .rebuild('now')
      .settle()
    expect([walk.status.replacement?.asked, walk.condition('Replacing')?.reason]).toEqual([
      'Rebuild',
      'ReplacementBlocked',
    ])
    expect(told(walk)).toContain('has no room for a second root disk')
  })

  it.each<[string, Partial<MachineWorld>]>([
    ['is of a restore', { restoredClaim: FIRST }],
    ['is kept beside the one of a restore', { restoredAside: 'restored' }],
    [
      'has another one of the machine beside it',
      { otherRoots: [{ name: 'vm-root-g4', clone: aDisk(), claim: undefined }] },
    ],
    ['is another one than that which was to be replaced', { claim: aClaim({ uid: 'of somebody' }) }],
  ])('nobody can have a disk deleted that %s', (_what, change) => {
    const walk = cramped()
    walk.giveUp().set(change)
    const plan = walk.plan()
    expect([plan.remove, plan.touch ?? []]).toEqual([[], []])
  })

  it.each<[string, (walk: MachineWalk) => unknown]>([
    ['for another request', (walk) => walk.reset('before').settle()],
    ['for another disk', (walk) => walk.set({ claim: aClaim({ uid: 'another' }) })],
    ['for another machine', (walk) => walk.change({ metadata: { ...walk.world.vm.metadata, uid: 'another' } })],
  ])('the word %s does not count', (_what, change) => {
    const walk = cramped()
    const word = deletionWord(walk.world.vm) ?? ''
    change(walk)
    const plan = walk.annotate(ANNOTATIONS.deleteDiskFirst, word).plan()
    expect([plan.remove, plan.touch ?? []]).toEqual([[], []])
  })

  it('a word that is set before anything is told does not count', () => {
    const walk = running(1).annotate(ANNOTATIONS.deleteDiskFirst, '2026-01-02T12:00:00Z').reset().settle()
    expect(walk.condition('Replacing')?.reason).toBe('ReplacementBlocked')
    expect(done(walk).filter((line) => !line.startsWith('apply'))).toEqual([])
  })
})

describe('a disk whose end would make no room for the new one', () => {
  const storage = (hard: string, used: string) => ({
    hard: { 'requests.storage': hard },
    used: { 'requests.storage': used },
  })
  const CLASS = 'fast.storageclass.storage.k8s.io/persistentvolumeclaims'
  it.each<[string, (walk: MachineWalk) => unknown]>([
    [
      'the quota is below what is used',
      (walk) => {
        walk.claimsMax = 0
      },
    ],
    [
      'the new disk is larger than it and the room together',
      (walk) => {
        walk.limits = storage('20Gi', '20Gi')
        walk.edit({ resources: { cpu: '2', memory: '2Gi', diskSize: '24Gi' } })
      },
    ],
    [
      'the new disk is a little larger, and CDI asks for more than it has',
      (walk) => {
        walk.limits = storage('21Gi', '21Gi')
        walk.set({ claim: { ...walk.world.claim, requested: '21Gi' } as never })
        walk.edit({ resources: { cpu: '2', memory: '2Gi', diskSize: '20500Mi' } })
      },
    ],
    [
      'CDI has a claim of its own beside it, in the namespace of the image',
      (walk) => {
        walk.limits = { hard: { persistentvolumeclaims: '1' }, used: { persistentvolumeclaims: '1' } }
        const { image } = walk.world
        walk.set({ image: { ...image, metadata: { ...image?.metadata, namespace: 'team' } } as never })
      },
    ],
    [
      'it is of another storage class',
      (walk) => {
        walk.limits = { hard: { [CLASS]: '1' }, used: { [CLASS]: '1' } }
        walk.image({ ...PUBLISHED, artifact: { ...PUBLISHED.artifact, storageClass: 'fast' } as never })
        const { claim } = walk.world
        walk.set({ claim: { ...claim, storageClass: 'slow' } as never })
      },
    ],
  ])('stays, and no word is offered: %s', (_what, change) => {
    const walk = running(1)
    walk.set({ claim: { ...walk.world.claim, requested: '20Gi', storageClass: undefined } as never })
    change(walk)
    walk.reset().settle()
    expect(told(walk)).toContain('it is not certain that giving up the present one would make room')
    expect(told(walk)).not.toContain(ANNOTATIONS.deleteDiskFirst)
    const from = walk.log.length
    walk.giveUp().settle()
    expect(walk.log.slice(from).filter((line) => /^(delete|change)/.test(line))).toEqual([])
  })

  it('goes if all of it is enough', () => {
    const walk = running(1)
    walk.set({ claim: { ...walk.world.claim, requested: '20Gi', storageClass: undefined } as never })
    walk.limits = storage('22Gi', '20Gi')
    walk.edit({ resources: { cpu: '2', memory: '2Gi', diskSize: '20Gi' } })
    walk.reset().settle().giveUp().settle()
    expect(walk.world.machine?.runStrategy).toBe('Halted')
  })
})

describe('a disk that somebody gives up for the new one', () => {
  it('goes when the guest is off, with a Warning, and the machine starts from the new one', () => {
    const walk = cramped()
    const from = walk.log.length
    walk.giveUp().settle()
    expect([walk.stand, walk.world.machine?.runStrategy]).toEqual(['Provisioning/Replacing', 'Halted'])
    expect(told(walk)).toContain(
      `PersistentVolumeClaim ${FIRST} is deleted when the guest is off, with all that the guest has written to it, and is not kept for resetGrace`,
    )
    expect(walk.log.slice(from).filter((line) => line.startsWith('delete'))).toEqual([])
    carriedOn(walk)
    const writes = walk.log.slice(from).filter((line) => !line.startsWith('status'))
    expect(writes.slice(0, 3)).toEqual([
      'change VirtualMachine vm',
      `delete DataVolume ${FIRST}`,
      'delete VirtualMachine vm',
    ])
    expect(writes.filter((line) => /DataVolume/.test(line))).toEqual([
      `delete DataVolume ${FIRST}`,
      `apply DataVolume ${FIRST}`,
    ])
    expect([walk.stand, walk.status.replacement, walk.status.oldDisk]).toEqual(['Ready/Running', undefined, undefined])
    expect(walk.events.filter((line) => /DiskLost|DiskBeingDeleted/.test(line))).toEqual([])
    expect(walk.status.diskUID).toBe('another claim')
  })

  it('goes once: the next request waits for its own word', () => {
    const walk = carriedOn(cramped().giveUp().settle())
    const from = walk.log.length
    walk.reset('the next one').settle()
    expect([walk.condition('Replacing')?.reason, done(walk).length]).toEqual([
      'ReplacementBlocked',
      walk.log.slice(0, from).filter((line) => /^(delete|change|apply DataVolume)/.test(line)).length,
    ])
  })

  it('goes once, wherever the operator crashes', () => {
    const walk = cramped().giveUp().settleByWrites()
    walk.powerOff().settleByWrites()
    for (let turn = 0; turn < 3; turn += 1) walk.reap().settleByWrites()
    expect(walk.log.filter((line) => /DataVolume/.test(line)).slice(1)).toEqual([
      `delete DataVolume ${FIRST}`,
      `apply DataVolume ${FIRST}`,
    ])
    expect(walk.status.replacement).toBeUndefined()
  })

  it.each<[string, (walk: MachineWalk) => unknown]>([
    ['the image is Failed', (walk) => walk.image({ phase: 'Failed', message: '404' })],
    ['the image is gone', (walk) => walk.image(undefined)],
    [
      'there is room by now',
      (walk) => {
        walk.claimsMax = 2
      },
    ],
    ['somebody clones it', (walk) => walk.rescues.push({})],
    ['KubeVirt restores the machine', (walk) => walk.set({ restoring: { restore: 'exam' } })],
    [
      'KubeVirt takes a snapshot of it',
      (walk) => walk.set({ machine: { ...(walk.world.machine as object), snapshotInProgress: 'exam' } as never }),
    ],
  ])('stays while %s', (_what, change) => {
    const walk = cramped()
    const from = walk.log.length
    walk.giveUp()
    change(walk)
    walk.settle()
    expect(walk.log.slice(from).filter((line) => /^(delete|change)/.test(line))).toEqual([])
  })

  it("stays where KubeVirt's machine, which is made anew, may not have what it has", () => {
    const walk = new MachineWalk()
    const allow = (...attachableNetworks: string[]) =>
      walk.set({ policy: { ...walk.world.policy, attachableNetworks } })
    allow('infra/lan').edit({ interfaces: [{ network: 'site', attach: 'infra/lan' }] })
    walk.deploy()
    walk.claimsMax = 1
    allow().reset().settle()
    const from = walk.log.length
    walk.giveUp().settle()
    expect(walk.log.slice(from).filter((line) => /^(delete|change)/.test(line))).toEqual([])
    expect(told(walk)).toContain('infra/lan, which the policy key attachableNetworks does not list')
    allow('infra/lan').settle()
    expect(walk.world.machine?.runStrategy).toBe('Halted')
  })

  it('stays while the guest is on, or may start', () => {
    const walk = cramped().giveUp().settle()
    expect(walk.plan().remove).toEqual([])
    walk.set({ instance: undefined }).kubevirtSays(KUBEVIRT.starting)
    expect(walk.plan().remove).toEqual([])
    walk.kubevirtSays(KUBEVIRT.stopped)
    expect([walk.plan().remove, walk.plan().status.replacement?.givenUp]).toEqual([[], walk.world.claim?.metadata.uid])
    walk.step()
    const [removal] = walk.plan().remove
    expect(removal).toMatchObject({ kind: 'DataVolume', name: FIRST, resourceVersion: expect.any(String) })
    expect(removal?.event).toMatchObject({ type: 'Warning', reason: 'DiskDeletedFirst' })
    expect(removal?.event?.message).toContain('is deleted with all that the guest has written to it')
    expect(removal?.onlyIf?.map((one) => Object.keys(one)[0])).toEqual([
      'unchanged',
      'absent',
      ...Array(3).fill('unchanged'),
      'uncloned',
    ])
  })
})

it('a machine whose new disk is asked for already goes on, whatever a quota says: an operator of before has asked', () => {
  const walk = running(undefined).reset().settle()
  walk.claimsMax = 1
  walk.giveUp().settle()
  expect([walk.condition('Replacing')?.reason, done(walk).filter((line) => /^(delete|change)/.test(line))]).toEqual([
    'Replacing',
    [],
  ])
  walk.root(SECOND, DISK.succeeded, 'claim-2').settle().powerOff().settle().start()
  expect([walk.startsFrom, walk.status.oldDisk?.claim]).toEqual([SECOND, FIRST])
})

it('a word that is set while the image cannot be cloned is told to be taken', () => {
  const walk = cramped().image({ phase: 'Failed', message: '404' }).giveUp().settle()
  expect(told(walk)).toContain('the present disk is given up already: it is deleted as soon as the image can be cloned')
})

it('a DataVolume that leaves its claim behind does not begin a deletion', () => {
  const walk = cramped().image({ phase: 'Failed', message: '404' }).giveUp().settle()
  const { clone } = walk.world
  const metadata = { ...clone?.metadata, deletionTimestamp: '2026-01-02T12:00:00Z', finalizers: ['orphan'] }
  const from = walk.log.length
  walk.set({ clone: { ...clone, metadata } as never }).settle()
  expect(walk.log.slice(from).filter((line) => /^(delete|change)/.test(line))).toEqual([])
})

describe('the loss of a disk that the operator has not deleted is told as any other', () => {
  it.each<[string, (walk: MachineWalk) => unknown, string]>([
    ['a person deletes it', (walk) => walk.set({ clone: undefined, claim: undefined }), 'Failed/DiskLost'],
    [
      'a person deletes it although somebody has given it up',
      (walk) => walk.image({ phase: 'Failed', message: '404' }).giveUp().set({ clone: undefined, claim: undefined }),
      'Failed/DiskLost',
    ],
    ['its claim alone is gone', (walk) => walk.set({ claim: undefined }), 'Failed/DiskLost'],
    [
      'it is being deleted',
      (walk) =>
        walk.set({ claim: aClaim({ ...walk.world.claim?.metadata, deletionTimestamp: '2026-01-02T12:00:00Z' }) }),
      'Failed/DiskBeingDeleted',
    ],
    [
      'its restore is lost',
      (walk) => walk.set({ isDiskElsewhere: true, restoredClaim: 'restored', clone: undefined, claim: undefined }),
      'Failed/DiskLost',
    ],
  ])('%s', (_what, lose, stand) => {
    for (const max of [1, undefined]) {
      // Without a quota, the image is not there yet.
      const walk = running(max)
      if (max === undefined) walk.image({ phase: 'Failed', message: '404' })
      walk.reset().settle()
      lose(walk)
      walk.set({ instance: undefined }).settle()
      expect([walk.stand, walk.condition('DiskLost')?.status]).toEqual([stand, 'True'])
      expect(walk.status.replacement).toBeDefined()
    }
  })

  it('also where the word is taken back before the operator deletes it', () => {
    const walk = cramped().giveUp().settle().set({ instance: undefined })
    walk.kubevirtSays(KUBEVIRT.stopped).step()
    expect(walk.status.replacement?.givenUp).toBe(walk.world.claim?.metadata.uid)
    walk.annotate(ANNOTATIONS.deleteDiskFirst, 'no').settle()
    expect([walk.status.replacement?.givenUp, walk.log.filter((line) => line.startsWith('delete'))]).toEqual([
      undefined,
      [],
    ])
  })
})

describe('the word ends where the new disk is asked for', () => {
  const asked = () => {
    const walk = cramped()
    walk.image({ phase: 'Failed', message: '404' }).giveUp().settle()
    walk.claimsMax = 2
    walk.image(PUBLISHED).settle()
    return walk.root(SECOND, DISK.cloning, 'claim-2').settle()
  }

  it('and does not come back when that is made again', () => {
    const walk = asked()
    walk.edit({ resources: { cpu: '2', memory: '2Gi', diskSize: '20Gi' } }).step()
    walk.step()
    walk.claimsMax = 1
    walk.settle()
    expect(walk.log.filter((line) => /^(delete DataVolume vm-root$|change)/.test(line))).toEqual([])
    expect([deletionWord(walk.world.vm), walk.status.replacement?.disk.uid === undefined]).toEqual([undefined, false])
  })
})

it.each<[string, string]>([
  ['ErrClaimNotValid', 'CDI cannot make a valid claim'],
  ['ErrExceededQuota', 'ResourceQuota small of namespace team has no room'],
])('a new disk that CDI refuses for %s tells that, and is not taken back', (reason, text) => {
  const walk = running(undefined).reset().settle()
  walk.claimsMax = 1
  walk.root(SECOND, { ...DISK.new, bound: { reason, message: 'no' } }).settle()
  expect(told(walk)).toContain(text)
  expect(told(walk)).not.toContain(ANNOTATIONS.deleteDiskFirst)
  walk.giveUp().settle()
  expect(walk.log.filter((line) => /^(delete|change)/.test(line))).toEqual([])
})
