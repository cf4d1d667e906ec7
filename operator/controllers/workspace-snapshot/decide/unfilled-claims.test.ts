import { ANNOTATIONS } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { SnapshotWalk } from '../../../../test/prepared/workspace-snapshot/snapshot-walk.ts'

const DISK = 'restore-attacker'

/** One whose storage copies data for the first consumer, and that is restored: one machine has a claim that waits, and so has the volume. */
function restored({ isScoped = false } = {}): SnapshotWalk {
  const walk = pointOf()
  if (isScoped) walk.ask('monday')
  else walk.annotate({ [ANNOTATIONS.restoreRequestedAt]: 'monday' })
  walk.settle()
  if (!isScoped) walk.sayOfClaim('loot', { waitsForPod: true })
  walk.settle()
  for (const { name, restore } of walk.status.restore?.members ?? []) {
    walk.seeMachine(name, { lastRestore: `${restore}-uid`, unbound: name === 'attacker' ? [DISK] : [] })
    walk.sayOfRestore(name, { isComplete: true, claim: `restore-${name}` })
  }
  seeClaim(walk, DISK, 'Pending')
  walk.settle()
  return walk
}

function seeClaim(walk: SnapshotWalk, name: string, phase: string | undefined): void {
  const { [name]: _before, ...claims } = walk.world.restore.claims
  const object = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name, namespace: 'lab', uid: name } }
  const facts = { object, isOurs: false, isAdopted: false, isTerminating: false, waitsForPod: phase !== 'Bound' }
  walk.see({ claims: phase === undefined ? claims : { ...claims, [name]: { ...facts, phase } } })
}

/** The guest of the machine starts, and the pod that uses the volume. */
function start(walk: SnapshotWalk): void {
  seeClaim(walk, DISK, 'Bound')
  walk.seeMachine('attacker', { unbound: [] })
  const loot = walk.claimOf('loot')
  if (loot !== '') walk.sayOfClaim('loot', { phase: 'Bound', waitsForPod: false })
}

const restoreOf = ({ status }: SnapshotWalk) => status.restore ?? { phase: 'none', message: '', unfilled: undefined }

function pointOf(): SnapshotWalk {
  const walk = new SnapshotWalk()
  walk.settle()
  for (const { name } of walk.world.lab) walk.say(name, { isReady: true, time: '2026-01-31T11:00:00Z' })
  walk.settle()
  return walk
}

describe('a restore whose claims wait for their first consumer', () => {
  it('does not say that it has succeeded before they are bound', () => {
    const walk = restored()
    const loot = walk.claimOf('loot')
    expect([restoreOf(walk).phase, restoreOf(walk).unfilled]).toEqual(['WaitForFirstConsumer', [DISK, loot].toSorted()])
    expect(restoreOf(walk).message).toContain(
      'these get their data only when something first uses them, and have none yet: PersistentVolumeClaims',
    )
    expect(walk.events.filter((one) => one.endsWith('WaitForFirstConsumer'))).toEqual(['Warning WaitForFirstConsumer'])
    expect(walk.events).not.toContain('Normal Restored')
    start(walk)
    walk.settle()
    expect([restoreOf(walk).phase, restoreOf(walk).unfilled]).toEqual(['Succeeded', undefined])
    expect(restoreOf(walk).message).not.toContain('first use')
    expect(walk.events.filter((one) => one === 'Normal Restored')).toHaveLength(1)
  })

  it('waits for the machine to be seen, which may be later than that its request is complete', () => {
    const walk = pointOf()
    walk.seeMachine('attacker', { waitsForPod: true })
    walk.ask('monday')
    walk.settle()
    for (const { name } of walk.status.restore?.members ?? []) walk.sayOfRestore(name, { isComplete: true })
    walk.settle()
    expect(walk.restored).toBe('InProgress, attacker InProgress, victim Succeeded')
    const [request] = walk.restores
    walk.seeMachine('attacker', { lastRestore: `${request}-uid`, unbound: [DISK] })
    seeClaim(walk, DISK, 'Pending')
    walk.settle()
    expect([restoreOf(walk).phase, restoreOf(walk).unfilled]).toEqual(['WaitForFirstConsumer', [DISK]])
  })

  it('names those that are left when some have their data, and says nothing new', () => {
    const walk = restored()
    const told = walk.events.length
    seeClaim(walk, DISK, 'Bound')
    walk.seeMachine('attacker', { unbound: [] })
    walk.settle()
    expect([restoreOf(walk).phase, restoreOf(walk).unfilled]).toEqual(['WaitForFirstConsumer', [walk.claimOf('loot')]])
    expect(walk.events.length).toBe(told)
  })

  it.each([
    ['is gone', (walk: SnapshotWalk) => seeClaim(walk, DISK, undefined)],
    ['is not used any more', (walk: SnapshotWalk) => walk.seeMachine('attacker', { unbound: [] })],
  ])('has failed when one %s, and stays so', (_what, lose) => {
    const walk = restored({ isScoped: true })
    expect(restoreOf(walk).phase).toBe('WaitForFirstConsumer')
    lose(walk)
    walk.settle()
    expect(restoreOf(walk).phase).toBe('Failed')
    expect(restoreOf(walk).message).toContain(`PersistentVolumeClaims ${DISK} are gone, or not used any more`)
    expect(walk.events).toContain('Warning RestoreFailed')
    walk.now += 60_000
    walk.settle()
    expect(restoreOf(walk).phase).toBe('Failed')
  })

  it('stays in the status when another one is refused, and all of it when the machines alone are restored again, until they are', () => {
    const walk = restored()
    const loot = walk.claimOf('loot')
    walk.see({ isLabOff: false })
    walk.ask('tuesday')
    walk.settle()
    expect(restoreOf(walk).phase).toBe('WaitForFirstConsumer')
    expect(walk.events).toContain('Warning RestoreRefused')
    walk.see({ isLabOff: true })
    walk.ask('wednesday')
    walk.settle()
    expect([restoreOf(walk).phase, restoreOf(walk).unfilled]).toEqual(['InProgress', [DISK, loot].toSorted()])
    for (const { name, restore } of walk.status.restore?.members ?? []) {
      walk.sayOfRestore(name, { isComplete: true, claim: `again-${name}` })
      if (name === 'victim') walk.seeMachine(name, { lastRestore: `${restore}-uid` })
    }
    walk.settle()
    // KubeVirt's machine is seen later than its request: it still seems to have the disk that was replaced.
    expect([restoreOf(walk).phase, restoreOf(walk).unfilled]).toEqual(['WaitForFirstConsumer', [loot]])
  })

  it('stays in the status of another one that fails', () => {
    const walk = restored({ isScoped: true })
    walk.ask('tuesday')
    walk.settle()
    walk.sayOfRestore('attacker', { hasFailed: true, text: 'no space' })
    walk.sayOfRestore('victim', { isComplete: true })
    walk.settle()
    expect([restoreOf(walk).phase, restoreOf(walk).unfilled]).toEqual(['Failed', [DISK]])
    expect(walk.snapshot.metadata.finalizers).toHaveLength(1)
  })

  it('is not taken for gone by another one that replaces it', () => {
    const walk = restored({ isScoped: true })
    walk.ask('tuesday')
    walk.settle()
    for (const { name, restore } of walk.status.restore?.members ?? []) {
      walk.seeMachine(name, { lastRestore: `${restore}-uid`, unbound: [] })
      walk.sayOfRestore(name, { isComplete: true })
    }
    walk.settle()
    expect([restoreOf(walk).phase, restoreOf(walk).unfilled]).toEqual(['Succeeded', undefined])
  })

  it('has failed when one is gone before the others are restored, which is looked up', () => {
    const walk = restored()
    walk.ask('tuesday')
    walk.settle()
    const loot = walk.writes.flatMap((one) => (one.startsWith('adopt ') ? [one.slice('adopt '.length)] : []))
    walk.see({ claims: {} })
    walk.settle()
    for (const { name, restore } of walk.status.restore?.members ?? []) {
      walk.seeMachine(name, { lastRestore: `${restore}-uid`, unbound: [] })
      walk.sayOfRestore(name, { isComplete: true })
    }
    const { status, onlyIf = [] } = walk.plan()
    expect(status.restore?.phase).toBe('Failed')
    expect(onlyIf).toMatchObject([{ absent: loot.map((name) => ({ name })) }])
  })
})

describe('a restore whose end is refused, such as by CRDs that do not know its phase', () => {
  it('is held, and ends when it is accepted', () => {
    const walk = pointOf()
    walk.seeMachine('victim', { waitsForPod: true })
    walk.ask('monday')
    walk.settle()
    for (const { name, restore } of walk.status.restore?.members ?? []) {
      walk.seeMachine(name, { lastRestore: `${restore}-uid`, unbound: name === 'attacker' ? [DISK] : [] })
      walk.sayOfRestore(name, { isComplete: true })
    }
    walk.world = { ...walk.world, refusal: 'status.restore.phase: Unsupported value: "WaitForFirstConsumer"' }
    const { finalizer, status } = walk.plan()
    expect([finalizer, status.restore?.phase]).toEqual(['keep', 'WaitForFirstConsumer'])
    walk.delete()
    expect(walk.plan().finalizer).toBe('keep')
  })
})

describe('a point in time that restored claims get their data from', () => {
  it('is held, and deleted only when they have it, which is told once', () => {
    const walk = restored()
    expect(walk.writes).toContain('add finalizer')
    walk.delete()
    walk.settle()
    expect([walk.line, walk.writes.includes('release finalizer')]).toEqual(['Succeeded DeletionBlocked', false])
    expect(walk.status.message).toContain('start Workspace lab, and each machine of it once, and it is gone')
    expect(walk.status.restore?.phase).toBe('WaitForFirstConsumer')
    expect(walk.events.filter((one) => one === 'Warning DeletionBlocked')).toHaveLength(1)
    start(walk)
    walk.settle()
    expect(walk.writes.at(-1)).toBe('release finalizer')
  })

  it('is held no longer than until they have it, also while nobody deletes it', () => {
    const walk = restored()
    expect(walk.writes).not.toContain('lift finalizer')
    start(walk)
    walk.settle()
    expect([walk.writes.at(-1), walk.snapshot.metadata.finalizers]).toEqual(['lift finalizer', []])
    walk.settle()
    expect(walk.writes.filter((one) => one === 'lift finalizer')).toHaveLength(1)
  })

  it('is held before anything is switched to a claim that waits', () => {
    const walk = new SnapshotWalk()
    walk.settle()
    for (const { name } of walk.world.lab) walk.say(name, { isReady: true, time: '2026-01-31T11:00:00Z' })
    walk.settle()
    walk.annotate({ [ANNOTATIONS.restoreRequestedAt]: 'monday' })
    walk.settle()
    walk.sayOfClaim('loot', { waitsForPod: true })
    walk.settle()
    const kinds = walk.writes.map((one) => one.split(' ')[0])
    expect(kinds).toEqual(['create', 'add', 'adopt', 'switch'])
    const machines = new SnapshotWalk()
    machines.settle()
    for (const { name } of machines.world.lab) machines.say(name, { isReady: true, time: '2026-01-31T11:00:00Z' })
    machines.settle()
    machines.seeMachine('victim', { waitsForPod: true })
    machines.ask('monday')
    machines.step()
    expect([machines.writes, machines.restores]).toEqual([['add finalizer'], []])
    machines.settle()
    expect(machines.restores).toHaveLength(2)
  })

  it.each([
    ['nobody has the claims any more', (walk: SnapshotWalk) => walk.see({ claims: {} })],
    ['its lab goes', (walk: SnapshotWalk) => Object.assign(walk.world, { namespaceTerminating: true })],
    ['its lab is gone', (walk: SnapshotWalk) => Object.assign(walk.world, { workspace: undefined })],
  ])('is let go when %s', (_what, change) => {
    const walk = restored({ isScoped: true })
    walk.delete()
    change(walk)
    walk.settle()
    expect(walk.writes.at(-1)).toBe('release finalizer')
  })

  it('is not held for a claim that was lost, however the machine still names it', () => {
    const walk = restored()
    seeClaim(walk, DISK, undefined)
    walk.settle()
    expect([restoreOf(walk).phase, restoreOf(walk).unfilled]).toEqual(['Failed', [walk.claimOf('loot')]])
    walk.delete()
    walk.sayOfClaim('loot', { phase: 'Bound', waitsForPod: false })
    walk.settle()
    expect(walk.writes.at(-1)).toBe('release finalizer')
  })

  it.each([
    ['that had its data, and was lost then', (walk: SnapshotWalk) => seeClaim(walk, DISK, 'Lost')],
    [
      'of a new disk of a restored machine',
      (walk: SnapshotWalk) => {
        start(walk)
        walk.seeMachine('attacker', { unbound: ['another'] })
      },
    ],
  ])('is not held for a claim %s', (_what, change) => {
    const walk = restored({ isScoped: true })
    walk.delete()
    change(walk)
    walk.settle()
    expect(walk.writes.at(-1)).toBe('release finalizer')
  })

  it('is let go only when the API server has none of the claims that are not seen', () => {
    const walk = restored({ isScoped: true })
    walk.delete()
    walk.see({ claims: {} })
    expect(walk.plan().onlyIf).toMatchObject([{ absent: [{ name: DISK }] }])
  })

  it('ends its restore when it is deleted, takes back what is not done, and is gone then', () => {
    const walk = pointOf()
    walk.seeMachine('victim', { waitsForPod: true })
    walk.ask('monday')
    walk.settle()
    const asked = [...walk.restores]
    walk.delete()
    walk.step()
    expect(walk.restored).toBe('Failed, attacker Failed, victim Failed')
    expect(restoreOf(walk).message).toContain('the WorkspaceSnapshot was deleted during the restore')
    walk.settle()
    expect([walk.removed, walk.writes.at(-1)]).toEqual([asked, 'release finalizer'])
  })

  it('stays when KubeVirt has given a machine its claims all the same', () => {
    const walk = pointOf()
    walk.seeMachine('victim', { waitsForPod: true })
    walk.ask('monday')
    walk.settle()
    walk.delete()
    walk.step()
    const [request] = walk.restores
    walk.seeMachine('attacker', { lastRestore: `${request}-uid`, unbound: [DISK], restoreInProgress: '' })
    seeClaim(walk, DISK, 'Pending')
    walk.settle()
    expect([restoreOf(walk).phase, restoreOf(walk).unfilled]).toEqual(['Failed', [DISK]])
    expect([walk.line, walk.writes.includes('release finalizer')]).toEqual(['Succeeded DeletionBlocked', false])
    start(walk)
    walk.settle()
    expect(walk.writes.at(-1)).toBe('release finalizer')
  })

  it('deletes the claims of volumes that are not switched yet, unless they are just being switched', () => {
    const walk = pointOf()
    walk.seeMachine('victim', { waitsForPod: true })
    walk.annotate({ [ANNOTATIONS.restoreRequestedAt]: 'monday' })
    walk.settle()
    const loot = walk.claimOf('loot')
    walk.delete()
    expect(walk.plan().onlyIf).toMatchObject([{ unchanged: { name: 'lab' } }])
    walk.settle()
    expect([walk.removed, walk.writes.at(-1)]).toEqual([[loot], 'release finalizer'])
  })

  it('is not held while it restores nothing that waits', () => {
    const walk = new SnapshotWalk()
    walk.settle()
    expect(walk.writes).toEqual([])
    walk.delete()
    expect(walk.plan().finalizer).toBe('keep')
  })
})
