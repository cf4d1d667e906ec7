import { describe, expect, it } from 'vitest'
import { LAB, NOW, SnapshotWalk } from '../../../../test/prepared/workspace-snapshot/snapshot-walk.ts'

function taken(): SnapshotWalk {
  const walk = new SnapshotWalk()
  walk.settle()
  for (const { name } of LAB) walk.say(name, { isReady: true })
  walk.settle()
  return walk
}

describe('a point in time', () => {
  it('writes its members down, creates their snapshots, and is Succeeded when all are ready', () => {
    const walk = new SnapshotWalk({ snapshotClass: 'fast' })
    const first = walk.plan()
    expect(first.apply).toEqual([])
    walk.step()
    expect(walk.members).toEqual([
      'attacker Pending NotCreated',
      'victim Pending NotCreated',
      'loot Pending NotCreated',
    ])
    expect(walk.plan().apply).toMatchObject([
      { kind: 'VirtualMachineSnapshot', spec: { source: { kind: 'VirtualMachine', name: 'attacker' } } },
      { kind: 'VirtualMachineSnapshot', spec: { source: { name: 'victim' } } },
      {
        kind: 'VolumeSnapshot',
        spec: { source: { persistentVolumeClaimName: 'loot' }, volumeSnapshotClassName: 'fast' },
      },
    ])
    walk.settle()
    expect(walk.line).toBe('InProgress Taking')
    walk.say('attacker', { isReady: true, consistency: 'NoGuestAgent,Online', time: '2026-01-31T12:00:01Z' })
    walk.say('victim', { isReady: true, consistency: 'Offline', text: 'not in it: scratch' })
    walk.settle()
    expect(walk.status).toMatchObject({ phase: 'InProgress', ready: '2/3' })
    walk.say('loot', { isReady: true })
    walk.settle()
    expect(walk.status).toMatchObject({ phase: 'Succeeded', reason: 'Taken', ready: '3/3' })
    expect(walk.status.conditions?.map(({ type, status }) => `${type}=${status}`)).toEqual([
      'Ready=True',
      'Reconciling=False',
      'Stalled=False',
      'Settled=True',
    ])
    expect(walk.status.members?.map(({ consistency, message }) => [consistency, message])).toEqual([
      ['NoGuestAgent,Online', undefined],
      ['Offline', 'not in it: scratch'],
      [undefined, undefined],
    ])
    expect(walk.created).toHaveLength(3)
  })

  it('keeps its members when the workspace gets others', () => {
    const walk = new SnapshotWalk()
    walk.step()
    walk.world = { ...walk.world, lab: [...LAB, { kind: 'Machine', name: 'late', hasDisk: true }] }
    walk.settle()
    expect(walk.created).toHaveLength(3)
  })

  it('leaves out what has no disk, and says so', () => {
    const walk = new SnapshotWalk()
    walk.world = { ...walk.world, lab: LAB.map((one) => ({ ...one, hasDisk: one.name === 'attacker' })) }
    walk.settle()
    expect(walk.members).toEqual(['attacker InProgress Taking', 'victim LeftOut NotDeployed', 'loot LeftOut NotBound'])
    walk.say('attacker', { isReady: true })
    walk.settle()
    expect(walk.line).toBe('Succeeded Taken')
    expect(walk.status.message).toBe(
      '1/1 snapshots are ready; not in it: 1 machines that were not deployed; not in it: 1 volumes that were not bound',
    )
    expect(walk.status.counts).toEqual({ total: 1, succeeded: 1, inProgress: 0, failed: 0, leftOut: 2 })
  })

  it.each<[string, Partial<SnapshotWalk['world']>, string, RegExp]>([
    ['there is no Workspace', { workspace: undefined }, 'Pending WorkspaceMissing', /there is no Workspace lab/],
    ['as many are taken', { ahead: 3 }, 'Pending LimitReached', /has 3 snapshots .* allows 3: delete one/],
    ['none are allowed', { limit: 0 }, 'Pending LimitReached', /workspaceSnapshotLimit is 0/],
    ['nothing has a disk', { lab: [] }, 'Pending NothingToSnapshot', /no machine that is deployed/],
    ['KubeVirt has none', { notServed: ['Machine'] }, 'Pending SnapshotsNotServed', /VirtualMachineSnapshots: install/],
    ['no driver has any', { notServed: ['Volume'] }, 'Pending SnapshotsNotServed', /VolumeSnapshots: install/],
    ['the namespace goes', { namespaceTerminating: true }, 'Pending NamespaceTerminating', /is being deleted/],
  ])('waits and creates nothing while %s, and goes on then', (_name, change, line, message) => {
    const walk = new SnapshotWalk()
    const { world } = walk
    walk.world = { ...world, ...change }
    walk.settle()
    expect([walk.line, walk.created, walk.status.members]).toEqual([line, [], undefined])
    expect(walk.status.message).toMatch(message)
    walk.world = world
    walk.settle()
    expect([walk.line, walk.created.length]).toEqual(['InProgress Taking', 3])
  })

  it('takes machines alone where the cluster has no VolumeSnapshots and the workspace no volumes', () => {
    const walk = new SnapshotWalk()
    walk.world = { ...walk.world, lab: LAB.slice(0, 2), notServed: ['Volume'] }
    walk.settle()
    expect(walk.created).toHaveLength(2)
  })

  it('does not ask the limit for what has begun', () => {
    const walk = new SnapshotWalk()
    walk.step()
    walk.world = { ...walk.world, limit: 0, ahead: 9 }
    walk.settle()
    expect(walk.created).toHaveLength(3)
  })

  it('quotes what does not go on, and what has failed', () => {
    const walk = new SnapshotWalk()
    walk.settle()
    walk.say('victim', { text: 'Source not locked' })
    walk.settle()
    expect(walk.status.message).toMatch(/^machine victim: Source not locked; 0\/3 snapshots are ready/)
    walk.say('victim', { text: 'snapshot deadline exceeded', hasFailed: true })
    walk.say('attacker', { isReady: true })
    walk.settle()
    expect(walk.line).toBe('InProgress Taking')
    walk.say('loot', { isReady: true })
    walk.settle()
    expect(walk.line).toBe('Failed MemberFailed')
    expect(walk.status.message).toBe(
      'machine victim: snapshot deadline exceeded; 2/3 snapshots are ready; Failed: machine victim (MemberFailed)',
    )
  })

  it('gives the snapshot of a volume the deadline that KubeVirt gives those of machines', () => {
    const walk = new SnapshotWalk({ failureDeadline: '1m' })
    walk.settle()
    for (const name of ['attacker', 'victim']) walk.say(name, { isReady: true })
    walk.say('loot', { text: 'no such class' })
    walk.now = NOW + 59_000
    walk.settle()
    expect([walk.line, walk.plan().requeue?.afterMs]).toEqual(['InProgress Taking', 1_000])
    walk.now = NOW + 60_000
    walk.settle()
    expect([walk.line, walk.plan().requeue]).toEqual(['Failed MemberFailed', undefined])
    expect(walk.status.message).toContain('not ready by spec.failureDeadline: no such class')
    walk.say('loot', { isReady: true, text: '' })
    walk.settle()
    expect(walk.line).toBe('Succeeded Taken')
  })

  it('has no deadline with 0s', () => {
    const walk = new SnapshotWalk({ failureDeadline: '0s' })
    walk.settle()
    walk.now = NOW + 1e9
    walk.settle()
    expect([walk.line, walk.plan().requeue]).toEqual(['InProgress Taking', undefined])
  })

  it('never takes a snapshot again that was there', () => {
    const walk = taken()
    walk.say('victim', { isTerminating: true })
    walk.settle()
    expect(walk.line).toBe('Failed SnapshotLost')
    delete walk.found[walk.nameOf('victim')]
    walk.settle()
    expect([walk.line, walk.created.length]).toEqual(['Failed SnapshotLost', 3])
    expect(walk.status.members?.[1]).toMatchObject({ ready: false, message: expect.stringContaining('is gone') })
  })

  it('does not touch what somebody else has under the name, and goes on when that is gone', () => {
    const walk = new SnapshotWalk()
    walk.step()
    const name = walk.nameOf('loot')
    const foreign = { isOurs: false, isTerminating: false, isReady: true, hasFailed: false, text: '', createdMs: NOW }
    walk.found[name] = foreign
    walk.settle()
    expect(walk.members[2]).toBe('loot Failed NameConflict')
    delete walk.found[name]
    walk.settle()
    expect([walk.members[2], walk.created.length]).toEqual(['loot InProgress Taking', 3])
  })

  it('keeps what was seen while the cluster does not serve a kind', () => {
    const walk = taken()
    const { members } = walk.status
    for (const name of Object.keys(walk.found)) delete walk.found[name]
    walk.world = { ...walk.world, notServed: ['Machine', 'Volume'] }
    walk.settle()
    expect(walk.line).toBe('Pending SnapshotsNotServed')
    expect(walk.status.members).toEqual(members)
  })

  it('stays Succeeded when its workspace is being deleted', () => {
    const walk = taken()
    walk.world = { ...walk.world, workspace: undefined, namespaceTerminating: true, lab: [] }
    walk.settle()
    expect(walk.line).toBe('Succeeded Taken')
  })

  it('says what the API server refuses', () => {
    const walk = new SnapshotWalk()
    walk.step()
    walk.world = { ...walk.world, refusal: 'exceeded quota: points' }
    walk.step()
    expect(walk.line).toBe('InProgress Refused')
    expect(walk.status.message).toContain('exceeded quota: points')
  })

  it('comes to the same end wherever the process dies between two writes', () => {
    for (let writes = 0; writes <= 5; writes += 1) {
      const walk = new SnapshotWalk()
      let left = writes
      for (let plans = 0; plans < 3 && left > 0; plans += 1) left -= walk.step(left)
      walk.settle()
      expect(new Set(walk.created).size, `after ${writes} writes`).toBe(3)
      expect(walk.created).toHaveLength(3)
    }
  })
})
