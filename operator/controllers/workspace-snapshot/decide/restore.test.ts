import { ANNOTATIONS } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { LAB, NOW, SnapshotWalk } from '../../../../test/prepared/workspace-snapshot/snapshot-walk.ts'

/** One whose point in time is taken. */
function taken(lab = LAB): SnapshotWalk {
  const walk = new SnapshotWalk()
  walk.world = { ...walk.world, lab }
  walk.settle()
  for (const { name } of lab) walk.say(name, { isReady: true, time: '2026-01-31T11:00:00Z' })
  walk.settle()
  expect(walk.line).toBe('Succeeded Taken')
  walk.events.length = 0
  return walk
}

/** One that is being restored. */
function begun(): SnapshotWalk {
  const walk = taken()
  walk.ask('monday')
  walk.settle()
  return walk
}

/** KubeVirt has restored all machines. */
function finish(walk: SnapshotWalk): void {
  for (const machine of ['attacker', 'victim']) walk.sayOfRestore(machine, { isComplete: true })
  walk.settle()
}

const messageOf = ({ status }: SnapshotWalk) => status.restore?.message ?? ''

describe('a restore of a point in time', () => {
  it('is written down with its machines, told, and only then begun; it ends with its requests deleted', () => {
    const walk = taken()
    walk.ask('monday')
    expect(walk.step()).toBe(1)
    expect([walk.restored, walk.restores, walk.events]).toEqual([
      'InProgress, attacker Pending, victim Pending',
      [],
      ['Warning Restoring'],
    ])
    expect(messageOf(walk)).toMatch(
      /^machines attacker, victim get all their disks as they were at 2026-01-31T11:00:00Z; what was written to the present disks since then is not used any more/,
    )
    expect(messageOf(walk)).toContain('left as they are: volumes loot')
    walk.settle()
    expect([walk.restored, walk.restores.length]).toEqual(['InProgress, attacker InProgress, victim InProgress', 2])
    walk.sayOfRestore('attacker', { isComplete: true, claim: 'restore-1-rootdisk' })
    walk.settle()
    expect(walk.restored).toBe('InProgress, attacker Succeeded, victim InProgress')
    walk.sayOfRestore('victim', { isComplete: true, claim: 'restore-2-rootdisk' })
    walk.settle()
    expect([walk.restored, walk.events]).toEqual([
      'Succeeded, attacker Succeeded, victim Succeeded',
      ['Warning Restoring', 'Normal Restored'],
    ])
    expect(walk.status.restore?.members?.map(({ claim }) => claim)).toEqual([
      'restore-1-rootdisk',
      'restore-2-rootdisk',
    ])
    expect(messageOf(walk)).toMatch(/^machines attacker, victim start from their restored disks$/)
    expect(walk.removed.toSorted()).toEqual(walk.restores.toSorted())
    expect([walk.line, walk.restores.length]).toEqual(['Succeeded Taken', 2])
  })

  it('names the disks that are not in a snapshot: they stay as they are', () => {
    const walk = taken()
    walk.say('victim', { excluded: 'rootdisk' })
    walk.ask('monday')
    walk.step()
    expect(messageOf(walk)).toMatch(/^machines attacker, victim get their disks as they were at/)
    expect(messageOf(walk)).toContain(
      'left as they are: disks rootdisk of machine victim, which are not in its snapshot',
    )
  })

  it.each<[string, (walk: SnapshotWalk) => void, RegExp]>([
    [
      'the lab is on',
      (walk) => walk.see({ isLabOff: false }),
      /Workspace lab is not switched off: set its spec.powerState to Halted/,
    ],
    [
      'a guest is on',
      (walk) => walk.seeMachine('victim', { isOff: false }),
      /machine victim is not off: wait until VirtualMachine victim of KubeVirt is Stopped/,
    ],
    [
      'KubeVirt restores one',
      (walk) => walk.seeMachine('victim', { restoreInProgress: 'mine' }),
      /victim is being restored by VirtualMachineRestore mine/,
    ],
    [
      'a machine is gone',
      (walk) => walk.see({ targets: {} }),
      /machine attacker is not in the workspace any more.*; machine victim/,
    ],
    [
      'a machine is not deployed',
      (walk) => walk.seeTarget('victim', { kubevirt: undefined }),
      /machine victim is not deployed/,
    ],
    [
      'a volume is a disk of a machine',
      (walk) => walk.seeMachine('victim', { volumes: ['loot'] }),
      /machine victim has volumes loot as disks.*remove them from its disks first/,
    ],
    [
      'a machine is of another uid',
      (walk) => walk.say('victim', { sourceUid: 'uid-before' }),
      /machine victim was made again after the point in time/,
    ],
    [
      'a machine gets another disk',
      (walk) => walk.seeTarget('victim', { isReplaced: true }),
      /machine victim gets a new root disk/,
    ],
    [
      'a reset waits for its turn',
      (walk) => walk.seeTarget('victim', { isReplaced: true, isResetAsked: true }),
      /machine victim has a reset that is not answered yet.*remove annotation pelotech.ot\/reset-requested-at/,
    ],
    [
      'a snapshot is lost',
      (walk) => delete walk.found[walk.nameOf('victim')],
      /the point in time is not whole \(victim\): .*is gone/,
    ],
    [
      'another lab has the name',
      (walk) => (walk.world = { ...walk.world, workspace: { name: 'lab', uid: 'uid-next' } }),
      /of another Workspace, which had the name lab before/,
    ],
    ['there is no lab', (walk) => (walk.world = { ...walk.world, workspace: undefined }), /there is no Workspace lab/],
    [
      'another point is being restored',
      (walk) => walk.see({ other: 'friday' }),
      /WorkspaceSnapshot friday is being restored/,
    ],
    ['KubeVirt has no restores', (walk) => walk.see({ isServed: false }), /does not serve VirtualMachineRestores/],
    [
      'the scope is no scope',
      (walk) => walk.annotate({ [ANNOTATIONS.restoreScope]: 'All' }),
      /restore-scope is "All": set it to Machines, or remove it/,
    ],
    [
      'all machines get new disks',
      (walk) => walk.seeLab({ isResetAsked: true }),
      /Workspace lab has a reset that its machines have not been given yet.*remove annotation pelotech.ot\/reset-requested-at from the Workspace/,
    ],
  ])('is refused for good, and nothing is done, where %s', (_what, change, why) => {
    const walk = taken()
    walk.ask('monday')
    const { world } = walk
    change(walk)
    walk.settle()
    expect([walk.restored, walk.restores, walk.events.at(-1)]).toEqual(['Refused', [], 'Warning RestoreRefused'])
    expect(messageOf(walk)).toMatch(why)
    expect(messageOf(walk)).toContain('then set another value of annotation pelotech.ot/restore-requested-at')
    walk.world = world
    walk.settle()
    expect([walk.restored, walk.restores]).toEqual(['Refused', []])
  })

  it('is not asked for by a value from before the operator looked, also of an earlier version', () => {
    const walk = new SnapshotWalk()
    walk.ask('at once')
    walk.settle()
    for (const { name } of LAB) walk.say(name, { isReady: true })
    walk.settle()
    expect([walk.restored, walk.events.filter((one) => one.includes('Restore'))]).toEqual([
      '',
      ['Warning RestoreNotCounted'],
    ])
    const old = taken()
    const { restoreRequest: _none, ...status } = old.status
    old.snapshot = { ...old.snapshot, status }
    old.ask('long ago')
    old.settle()
    expect([old.restored, old.events]).toEqual(['', ['Warning RestoreNotCounted']])
    old.ask('now')
    old.settle()
    expect(old.restores).toHaveLength(2)
  })

  it('is not asked for by a value that comes back, which is said once', () => {
    const walk = begun()
    finish(walk)
    walk.ask('tuesday')
    walk.settle()
    finish(walk)
    expect([walk.restored, walk.restores.length]).toEqual(['Succeeded, attacker Succeeded, victim Succeeded', 4])
    walk.events.length = 0
    walk.ask('monday')
    walk.settle()
    walk.settle()
    expect([walk.restores.length, walk.events]).toEqual([4, ['Warning RestoreNotCounted']])
  })

  it('is made again for a value that was forgotten, whatever KubeVirt’s machine keeps of the restore for it', () => {
    const walk = begun()
    for (const { name, restore } of walk.status.restore?.members ?? [])
      walk.seeMachine(name, { lastRestore: `${restore}-1` })
    finish(walk)
    const { world } = walk
    walk.see({ isLabOff: false })
    for (const value of ['1', '2', '3', '4', '5', '6', '7']) {
      walk.ask(value)
      walk.settle()
    }
    expect(walk.status.restoreRequest?.length).toBeLessThanOrEqual(64)
    walk.world = world
    walk.now += 1
    walk.ask('monday')
    walk.settle()
    expect([walk.restored, walk.restores.length]).toEqual(['InProgress, attacker InProgress, victim InProgress', 4])
  })

  it('is refused while another one is under way, which goes on, and does not wait for its turn', () => {
    const walk = begun()
    const { restore } = walk.status
    walk.ask('tuesday')
    walk.settle()
    expect([walk.status.restore, walk.restores.length, walk.events]).toEqual([
      restore,
      2,
      ['Warning Restoring', 'Warning RestoreRefused'],
    ])
    // Also one that is seen together with the end.
    walk.ask('wednesday')
    finish(walk)
    expect([walk.restored, walk.restores.length, walk.events.slice(2)]).toEqual([
      'Succeeded, attacker Succeeded, victim Succeeded',
      2,
      ['Warning RestoreRefused', 'Normal Restored'],
    ])
    walk.ask('thursday')
    walk.settle()
    expect(new Set(walk.restores).size).toBe(4)
  })

  it.each<[string, (walk: SnapshotWalk) => void, string]>([
    [
      'KubeVirt gives up',
      (walk) =>
        walk.sayOfRestore('victim', {
          hasFailed: true,
          text: 'Restore target VMI must be powered off before restore operation',
        }),
      'Restore target VMI must be powered off before restore operation (machine victim)',
    ],
    [
      'somebody deletes the request',
      (walk) => walk.sayOfRestore('victim', { isTerminating: true }),
      'is being deleted before its end: it is not made again (machine victim)',
    ],
    [
      'the request is gone',
      (walk) => {
        walk.see({ found: {} })
        walk.seeMachine('victim', { isOff: true, restoreInProgress: '' })
      },
      'is gone before its end: it is not made again (machine victim)',
    ],
    [
      'KubeVirt’s machine is gone',
      (walk) => walk.see({ targets: {} }),
      'the machine of KubeVirt was deleted during the restore (machine victim)',
    ],
    [
      'KubeVirt’s machine is another',
      (walk) =>
        walk.seeMachine('victim', {
          object: { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', metadata: { name: 'victim', uid: 'next' } },
        }),
      'the machine of KubeVirt was deleted during the restore (machine victim)',
    ],
  ])('has failed where %s: it says which machines are restored, and is not tried again', (_what, change, why) => {
    const walk = begun()
    walk.sayOfRestore('attacker', { isComplete: true })
    walk.settle()
    change(walk)
    walk.settle()
    expect([walk.restored, walk.events.at(-1), walk.restores.length]).toEqual([
      'Failed, attacker Succeeded, victim Failed',
      'Warning RestoreFailed',
      2,
    ])
    expect(messageOf(walk)).toContain(why)
    expect(messageOf(walk)).toMatch(/; not restored, with what they had: machines victim; restored: machines attacker$/)
    expect(walk.world.restore.found).toEqual({})
  })

  it('quotes what holds it up, and a refusal first', () => {
    const walk = begun()
    walk.sayOfRestore('victim', { text: 'VMSnapshotContent lab/x not ready' })
    walk.settle()
    expect(walk.status.restore?.members?.[1]?.message).toBe('VMSnapshotContent lab/x not ready')
    const refused = taken()
    refused.ask('monday')
    refused.step()
    refused.world = { ...refused.world, refusal: 'admission webhook denied: VirtualMachineRestore "mine" in progress' }
    refused.settle()
    expect(refused.restored).toBe('Failed, attacker Failed, victim Failed')
    expect(messageOf(refused)).toMatch(/^admission webhook denied: VirtualMachineRestore "mine" in progress/)
    expect(refused.line).toBe('Succeeded Taken')
  })

  it.each<[string, (walk: SnapshotWalk) => void, string]>([
    [
      'the lab was switched on',
      (walk) => walk.see({ isLabOff: false }),
      'not begun: Workspace lab is not switched off',
    ],
    ['too much time has passed', (walk) => (walk.now = NOW + 10 * 60_000), 'the restore could not be begun in time'],
    [
      'another lab has the name',
      (walk) => (walk.world = { ...walk.world, workspace: { name: 'lab', uid: 'uid-next' } }),
      'not begun: the point in time is of another Workspace',
    ],
  ])('that was written down is not begun where meanwhile %s', (_what, change, why) => {
    const walk = taken()
    walk.ask('monday')
    walk.step()
    change(walk)
    walk.settle()
    expect([walk.restored, walk.restores]).toEqual(['Failed, attacker Failed, victim Failed', []])
    expect(messageOf(walk)).toContain(why)
  })

  it('counts as done where KubeVirt’s machine says so, and not again, if its request is gone', () => {
    const walk = taken()
    walk.ask('monday')
    walk.step()
    for (const { name, restore } of walk.status.restore?.members ?? [])
      walk.seeMachine(name, { lastRestore: `${restore}-1d2f`, rootClaim: 'restore-1d2f-rootdisk' })
    walk.settle()
    expect([walk.restored, walk.restores]).toEqual(['Succeeded, attacker Succeeded, victim Succeeded', []])
  })

  it.each<[string, (walk: SnapshotWalk) => void]>([
    [
      'has failed, as for a guest that started just after it',
      (walk) => walk.sayOfRestore('victim', { hasFailed: true }),
    ],
    ['is being deleted', (walk) => walk.sayOfRestore('victim', { isTerminating: true })],
  ])('counts as done where KubeVirt’s machine says so, and its request %s: now, or when that is seen', (_what, end) => {
    for (const isSeenLate of [false, true]) {
      const walk = begun()
      walk.sayOfRestore('attacker', { isComplete: true })
      const { restore } = walk.status.restore?.members?.at(1) ?? {}
      const see = () =>
        walk.seeMachine('victim', { lastRestore: `${restore}-1d2f`, rootClaim: 'restore-1d2f-rootdisk' })
      if (!isSeenLate) see()
      end(walk)
      walk.settle()
      expect(walk.restored.startsWith('Failed')).toBe(isSeenLate)
      see()
      walk.settle()
      expect([walk.restored, walk.events.at(-1), walk.restores.length]).toEqual([
        'Succeeded, attacker Succeeded, victim Succeeded',
        'Normal Restored',
        2,
      ])
      expect(walk.status.restore?.members?.[1]?.claim).toBe('restore-1d2f-rootdisk')
    }
  })

  it('waits to be seen where KubeVirt refuses it because it exists: the answer to its creation was lost', () => {
    const walk = taken()
    walk.ask('monday')
    walk.step()
    const { restore } = walk.status.restore?.members?.[0] ?? {}
    walk.world = { ...walk.world, refusal: `denied the request: VirtualMachineRestore "${restore}" in progress` }
    expect(walk.plan().status.restore?.members?.map(({ phase }) => phase)).toEqual(['Pending', 'Pending'])
    walk.settle()
    expect(walk.restored).toBe('InProgress, attacker InProgress, victim InProgress')
  })

  it('goes on where KubeVirt’s machine shows its restore before the request for it is seen', () => {
    const walk = begun()
    const { found } = walk.world.restore
    const { restore } = walk.status
    walk.snapshot = {
      ...walk.snapshot,
      status: {
        ...walk.status,
        restore: {
          ...restore,
          members: restore?.members?.map((one) => ({ ...one, phase: 'Pending' })),
        } as typeof restore,
      },
    }
    walk.see({ found: {} })
    walk.settle()
    expect([walk.restored, walk.restores.length]).toEqual(['InProgress, attacker InProgress, victim InProgress', 2])
    walk.see({ found })
    finish(walk)
    expect(walk.restored).toBe('Succeeded, attacker Succeeded, victim Succeeded')
  })

  it('knows nothing new while KubeVirt does not serve restores', () => {
    const walk = begun()
    walk.see({ isServed: false, found: {} })
    walk.settle()
    expect(walk.restored).toBe('InProgress, attacker InProgress, victim InProgress')
  })

  it('comes to the same end wherever the process dies between two writes', () => {
    for (let writes = 1; writes <= 12; writes += 1) {
      const walk = taken()
      walk.ask('monday')
      dieAfter(walk, writes)
      walk.settle()
      for (const machine of ['attacker', 'victim']) walk.sayOfRestore(machine, { isComplete: true })
      dieAfter(walk, writes)
      walk.settle()
      expect(walk.restored, `after ${writes} writes`).toBe('Succeeded, attacker Succeeded, victim Succeeded')
      expect([walk.restores.length, new Set(walk.restores).size, walk.world.restore.found]).toEqual([2, 2, {}])
    }
  })
})

function dieAfter(walk: SnapshotWalk, writes: number): void {
  for (let left = writes, done = 1; left > 0 && done > 0; left -= done) done = walk.step(left)
}
