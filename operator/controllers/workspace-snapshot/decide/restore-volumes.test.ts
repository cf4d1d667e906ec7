import { ANNOTATIONS } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { LAB, NOW, SnapshotWalk } from '../../../../test/prepared/workspace-snapshot/snapshot-walk.ts'
import { toTime } from '../../../base/time.ts'

const VOLUMES: typeof LAB = [
  { kind: 'Volume', name: 'loot', hasDisk: true },
  { kind: 'Volume', name: 'tools', hasDisk: true },
]

/** One whose point in time is taken, of two volumes unless the lab is given. */
function taken(lab = VOLUMES): SnapshotWalk {
  const walk = new SnapshotWalk()
  const volumeNamed = (claim: string) => ({ claim, storageClass: 'fast', sizes: ['1Gi'], others: [] })
  walk.world = { ...walk.world, lab }
  walk.see({ volumes: { loot: volumeNamed('loot'), tools: volumeNamed('tools') } })
  walk.settle()
  for (const { name } of lab) walk.say(name, { isReady: true, time: '2026-01-31T11:00:00Z', restoreSize: '2Gi' })
  walk.settle()
  walk.events.length = 0
  return walk
}

function ask(walk: SnapshotWalk, value = 'monday'): SnapshotWalk {
  walk.annotate({ [ANNOTATIONS.restoreRequestedAt]: value })
  return walk
}

/** One whose claims were created. */
function begun(lab = VOLUMES): SnapshotWalk {
  const walk = ask(taken(lab))
  walk.settle()
  return walk
}

function fill(walk: SnapshotWalk): void {
  for (const { name } of walk.status.restore?.volumes ?? []) walk.sayOfClaim(name, { phase: 'Bound' })
}

const messageOf = ({ status }: SnapshotWalk) => status.restore?.message ?? ''
const kindsOf = ({ writes }: SnapshotWalk) => writes.map((one) => one.split(' ')[0])

describe('a restore of volumes', () => {
  it('is written down, fills claims beside the present ones, gives them to the workspace, and switches all of them in one write', () => {
    const walk = ask(taken())
    expect(walk.step()).toBe(1)
    expect([walk.restored, walk.writes]).toEqual(['InProgress, loot Pending, tools Pending', []])
    expect(messageOf(walk)).toContain(
      'volumes loot, tools get what was on them at 2026-01-31T11:00:00Z; what was written to them since then is on their claims from before alone, which are kept until somebody deletes them',
    )
    const [wanted] = walk.plan().applyIf ?? []
    expect(wanted?.wanted).toMatchObject({
      spec: {
        storageClassName: 'fast',
        resources: { requests: { storage: '2Gi' } },
        dataSource: { kind: 'VolumeSnapshot' },
      },
      metadata: { labels: { 'pelotech.ot/volume': 'loot' }, ownerReferences: [{ kind: 'WorkspaceSnapshot' }] },
    })
    walk.settle()
    expect(walk.restored).toBe('InProgress, loot InProgress, tools InProgress')
    walk.sayOfClaim('loot', { phase: 'Bound' })
    walk.settle()
    expect(kindsOf(walk)).toEqual(['create', 'create'])
    walk.sayOfClaim('tools', { phase: 'Bound' })
    walk.settle()
    expect(kindsOf(walk)).toEqual(['create', 'create', 'adopt', 'adopt', 'switch'])
    const at = toTime(NOW)
    expect(JSON.parse(walk.writes.at(-1)?.slice('switch '.length) ?? '')).toEqual({
      loot: { claim: walk.claimOf('loot'), replaced: 'loot', at },
      tools: { claim: walk.claimOf('tools'), replaced: 'tools', at },
    })
    expect([walk.restored, walk.removed]).toEqual(['Succeeded, loot Succeeded, tools Succeeded', []])
    expect(messageOf(walk)).toMatch(/^volumes loot, tools have their restored claims$/)
  })

  it('comes before the machines, which begin when it was written down', () => {
    const walk = begun(LAB)
    expect([walk.restores, kindsOf(walk)]).toEqual([[], ['create']])
    // Storage takes as long as it takes.
    walk.now += 24 * 3_600_000
    fill(walk)
    walk.settle()
    expect(walk.restored).toBe('InProgress, loot Succeeded, attacker InProgress, victim InProgress')
    for (const machine of ['attacker', 'victim']) walk.sayOfRestore(machine, { isComplete: true })
    walk.settle()
    expect(walk.restored).toBe('Succeeded, loot Succeeded, attacker Succeeded, victim Succeeded')
    expect(messageOf(walk)).toMatch(
      /^machines attacker, victim start from their restored disks; volumes loot have their restored claims$/,
    )
  })

  it('does not wait for claims that are filled when a pod uses them', () => {
    const walk = begun()
    for (const volume of ['loot', 'tools']) walk.sayOfClaim(volume, { waitsForPod: true })
    walk.settle()
    expect(walk.restored).toBe('WaitForFirstConsumer, loot Succeeded, tools Succeeded')
  })

  it('is left out where the machines alone are asked for', () => {
    const walk = taken(LAB)
    walk.ask('monday')
    walk.settle()
    expect([walk.restores.length, walk.writes]).toEqual([2, []])
    expect(messageOf(walk)).toContain('left as they are: volumes loot, tools')
  })

  it.each<[string, (walk: SnapshotWalk) => void, RegExp]>([
    ['a pod has not ended', (walk) => walk.seeLab({ pods: ['web-1'] }), /pods web-1 have not ended/],
    [
      'a volume is gone from the spec',
      (walk) => walk.see({ volumes: {} }),
      /volume loot is not in the workspace any more/,
    ],
    [
      'a machine has one as its disk',
      (walk) => walk.seeMachine('victim', { volumes: ['loot'] }),
      /volume loot is a disk of machine victim.*remove it from disks of the machine first/,
    ],
    [
      'it would have three claims',
      (walk) => {
        const { loot, ...volumes } = walk.world.restore.volumes
        if (loot !== undefined) walk.see({ volumes: { ...volumes, loot: { ...loot, others: ['loot-1'] } } })
      },
      /volume loot still has claim loot-1 beside loot, such as from before another restore.*: if nobody needs what is on it, run kubectl -n lab delete pvc loot-1/,
    ],
    ['the lab is on', (walk) => walk.see({ isLabOff: false }), /set its spec.powerState to Halted/],
    ['a snapshot is gone', (walk) => delete walk.found[walk.nameOf('tools')], /not whole \(tools\)/],
  ])('is refused, and nothing is made, where %s', (_what, change, why) => {
    const walk = ask(taken())
    const { world } = walk
    change(walk)
    walk.settle()
    walk.world = world
    walk.settle()
    expect([walk.restored, walk.writes]).toEqual(['Refused', []])
    expect(messageOf(walk)).toMatch(why)
  })

  it.each<[string, (walk: SnapshotWalk) => void, RegExp]>([
    [
      'the lab is switched on',
      (walk) => walk.see({ isLabOff: false }),
      /not switched: Workspace lab is not switched off/,
    ],
    [
      'it was on meanwhile, seen or not',
      (walk) => walk.changeLab(),
      /not switched: the spec of Workspace lab was changed during the restore/,
    ],
    [
      'a claim goes',
      (walk) => walk.sayOfClaim('tools', { isTerminating: true, isOurs: false, isAdopted: true }),
      /is being deleted before its end/,
    ],
    [
      'the snapshot of a machine is gone',
      (walk) => delete walk.found[walk.nameOf('victim')],
      /not switched: the snapshots of victim are gone, or not ready any more/,
    ],
    [
      'a machine gets a new disk',
      (walk) => walk.seeTarget('victim', { isReplaced: true }),
      /not switched: machine victim gets a new root disk/,
    ],
    [
      'a reset comes',
      (walk) => walk.seeLab({ isResetAsked: true }),
      /not switched: Workspace lab has a reset that its machines have not been given yet/,
    ],
    [
      'another one was begun first',
      (walk) => walk.see({ earlier: 'other' }),
      /not switched: WorkspaceSnapshot other is being restored too, and was begun first/,
    ],
    ['a claim is gone', (walk) => walk.see({ claims: {} }), /is gone before its end: it is not made again/],
    ['a claim has lost its storage', (walk) => walk.sayOfClaim('tools', { phase: 'Lost' }), /has lost its storage/],
    [
      'a claim becomes somebody else’s',
      (walk) => walk.sayOfClaim('tools', { isOurs: false }),
      /belongs to somebody else: the operator does not touch it/,
    ],
    [
      'a snapshot goes before its claim is filled',
      (walk) => walk.say('tools', { isTerminating: true }),
      /not switched: the snapshots of tools are gone, or not ready any more/,
    ],
  ])('fails as a whole before anything is switched, where %s, and deletes its claims', (_what, change, why) => {
    const walk = begun(LAB.concat(VOLUMES.slice(1)))
    change(walk)
    const ours = Object.entries(walk.world.restore.claims).filter(([, one]) => one.isOurs)
    walk.settle()
    const told = walk.events.filter((one) => one.includes('Restor'))
    expect([walk.restored, walk.restores, told]).toEqual([
      'Failed, loot Failed, tools Failed, attacker Failed, victim Failed',
      [],
      ['Warning Restoring', 'Warning RestoreFailed'],
    ])
    expect(walk.removed.toSorted()).toEqual(ours.map(([name]) => name).toSorted())
    expect(kindsOf(walk)).toEqual(['create', 'create'])
    expect([messageOf(walk), messageOf(walk)]).toEqual([
      expect.stringMatching(why),
      expect.stringMatching(/restored: none/),
    ])
  })

  it('says what the API server answers where it refuses to have a filled claim adopted, or the volumes switched', () => {
    const walk = begun()
    fill(walk)
    walk.world = { ...walk.world, refusal: 'admission webhook denied it' }
    const volumes = walk.plan().status.restore?.volumes ?? []
    expect(volumes.map(({ phase, message }) => [phase, message])).toEqual([
      ['InProgress', 'admission webhook denied it'],
      ['InProgress', 'admission webhook denied it'],
    ])
  })

  it.each([
    ['beside machines', LAB, 'Failed, attacker Failed, victim Failed'],
    ['alone', VOLUMES, 'Failed'],
  ])('fails before any machine is begun, %s, where the API server drops the volumes', (_what, lab, restored) => {
    const walk = ask(taken(lab))
    walk.step()
    const { volumes: _dropped, ...restore } = walk.status.restore ?? { phase: 'InProgress' as const, message: '' }
    walk.snapshot = { ...walk.snapshot, status: { ...walk.status, restore: restore as typeof walk.status.restore } }
    walk.settle()
    expect([walk.restored, walk.restores, walk.writes]).toEqual([restored, [], []])
    expect(messageOf(walk)).toContain('the CRDs are older than the operator: install them, then ask again')
  })

  it('fails where the API server refuses a claim, such as by a quota', () => {
    const walk = ask(taken())
    walk.step()
    walk.world = { ...walk.world, refusal: 'exceeded quota: lab' }
    walk.settle()
    expect([walk.restored, walk.writes]).toEqual(['Failed, loot Failed, tools Failed', []])
    expect(messageOf(walk)).toContain('exceeded quota: lab: the claim was refused')
  })

  it('leaves what was given to the workspace, and restores no machine, where the lab is switched on before the switch', () => {
    const walk = begun(LAB)
    fill(walk)
    while (!kindsOf(walk).includes('adopt')) walk.step()
    expect(kindsOf(walk)).toEqual(['create', 'adopt'])
    walk.see({ isLabOff: false })
    walk.settle()
    expect([walk.restored, walk.removed]).toEqual(['Failed, loot Failed, attacker Failed, victim Failed', []])
  })

  it('restores no machine of a lab that was on after the switch', () => {
    const walk = begun(LAB)
    fill(walk)
    while (!kindsOf(walk).includes('switch')) walk.step()
    walk.changeLab()
    walk.settle()
    expect([walk.restored, walk.restores]).toEqual(['Failed, loot Succeeded, attacker Failed, victim Failed', []])
    expect(messageOf(walk)).toContain('restored: volumes loot')
  })

  it('ends the same when it is interrupted after any write', () => {
    for (let crashAt = 0; crashAt < 12; crashAt += 1) {
      const walk = ask(taken(LAB))
      let left = crashAt
      const steps = () => {
        for (let round = 0; round < 20; round += 1) {
          // What was written stays, and what was not is planned again from it.
          const writes = walk.step(left > 0 ? Math.min(left, 1) : undefined)
          left -= writes
          if (writes === 0) return
        }
        throw new Error('the plans do not come to an end')
      }
      steps()
      fill(walk)
      steps()
      for (const machine of ['attacker', 'victim']) walk.sayOfRestore(machine, { isComplete: true })
      steps()
      expect(walk.restored).toBe('Succeeded, loot Succeeded, attacker Succeeded, victim Succeeded')
      expect([kindsOf(walk), walk.restores.length]).toEqual([['create', 'adopt', 'switch'], 2])
    }
  })
})
