import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { DEPLOYED } from '../../../../test/prepared/workspace/workspace-bench.ts'
import { NOW, type PlannedWorld, parsed, settledWorld } from '../../../../test/prepared/workspace/workspace-world.ts'
import { toTime } from '../../../base/time.ts'
import type { WorkspacePlan } from '../world.ts'
import { planWorkspace } from './plan.ts'
import { isSwitchedOff } from './power.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const at = (ms: number) => toTime(NOW + ms).replace('.000Z', 'Z')

/** A lab at the times of an API server, which carries out each plan. */
class Lab {
  readonly planned: PlannedWorld
  readonly events: string[] = []
  isDeleted = false
  #spec: WorkspaceSpecInput

  constructor(spec: WorkspaceSpecInput) {
    this.#spec = spec
    this.planned = settledWorld({ ...DEPLOYED, ...spec })
  }

  get status() {
    return this.planned.status
  }

  get expiry() {
    return this.status.expiry
  }

  get runs(): boolean {
    const all = [...this.planned.children.values()]
    return all.some((one) => (one.kind === 'Deployment' || one.kind === 'VirtualMachine') && !isSwitchedOff(one))
  }

  edit(spec: WorkspaceSpecInput): void {
    this.#spec = { ...this.#spec, ...spec }
    this.planned.spec = parsed({ ...DEPLOYED, ...this.#spec })
    this.planned.generation += 1
  }

  /** Plans at a time of the API server until nothing changes. @param isTurn whether it may be deleted */
  look(serverNow: number | undefined, isTurn = true): WorkspacePlan {
    this.planned.expiry = { ...this.planned.expiry, serverNow, isTurn }
    let plan = planWorkspace(this.planned.world, NOW)
    for (let round = 0; round < 6; round += 1) {
      const isEnd = plan.remove.some(({ kind }) => kind === 'Workspace')
      this.isDeleted ||= isEnd
      if (isEnd) break
      this.events.push(...plan.events.map(({ type, reason }) => `${type} ${reason}`))
      this.planned.take(plan)
      plan = planWorkspace(this.planned.world, NOW)
    }
    return plan
  }
}

describe('the end of a workspace', () => {
  it('is a time of its own, a lifetime from its creation, or one from a later edit', () => {
    const expiresAt = '2026-02-01T18:00:00+01:00'
    expect(new Lab({ expiresAt, lifetime: '1h' }).status.expiresAt).toBe('2026-02-01T17:00:00Z')
    expect(new Lab({ lifetime: '72h' }).status).toMatchObject({
      expiresAt: at(72 * HOUR),
      expiry: { source: 'lifetime', value: '72h' },
    })
    const lab = new Lab({})
    lab.look(NOW + 5 * HOUR)
    expect(lab.status).not.toHaveProperty('expiresAt')
    lab.edit({ lifetime: '2h' })
    lab.look(NOW + 10 * HOUR)
    expect(lab.status.expiresAt).toBe(at(12 * HOUR))
    lab.edit({ lifetime: undefined })
    lab.look(NOW + 10 * HOUR)
    expect(lab.status).not.toHaveProperty('expiresAt')
  })

  it('is announced, and switches it off when it is reached; a later end switches it on', () => {
    const lab = new Lab({ lifetime: '10h' })
    const plan = lab.look(NOW)
    expect(plan.requeue).toEqual({ afterMs: 9 * HOUR, because: 'the end of the workspace is announced then' })
    lab.look(NOW + 9 * HOUR - 1)
    expect([lab.events, lab.expiry?.announced]).toEqual([[], undefined])
    lab.look(NOW + 9 * HOUR)
    expect(lab.events).toEqual(['Warning ExpiresSoon', 'Warning ExpiresSoon'])
    expect(lab.status.message).toContain(`it is switched off at ${at(10 * HOUR)} (spec.lifetime: 10h)`)
    lab.look(NOW + 10 * HOUR - 1)
    expect([lab.runs, lab.expiry?.ended]).toEqual([true, undefined])
    lab.look(NOW + 10 * HOUR)
    expect([lab.runs, lab.status.phase, lab.status.reason]).toEqual([false, 'Ready', 'Expired'])
    expect(lab.status.message).toContain('to have it on again, set spec.expiresAt to a later time')
    expect(lab.look(NOW + 1_000 * HOUR).requeue).toBeUndefined()
    lab.edit({ expiresAt: at(500 * HOUR) })
    lab.look(NOW + 1_000 * HOUR)
    expect([lab.runs, lab.expiry?.ended]).toEqual([false, true])
    lab.edit({ expiresAt: at(2_000 * HOUR) })
    lab.look(NOW + 1_000 * HOUR)
    expect([lab.runs, lab.status.reason, lab.expiry]).toEqual([
      true,
      'Ready',
      { source: 'expiresAt', value: at(2_000 * HOUR) },
    ])
  })

  it('deletes it only if it says so itself, when the warning is old enough, and when it is its turn', () => {
    const lab = new Lab({ lifetime: '10h', onExpiry: 'Delete' })
    lab.look(NOW + 9 * HOUR)
    expect(lab.status.message).toContain(`it is deleted, with its disks and volumes, at ${at(10 * HOUR)}`)
    lab.look(NOW + 10 * HOUR - 1)
    expect(lab.isDeleted).toBe(false)
    expect(lab.look(NOW + 10 * HOUR, false).requeue?.because).toMatch(/others/)
    expect(lab.isDeleted).toBe(false)
    const { remove } = lab.look(NOW + 10 * HOUR)
    expect([lab.isDeleted, lab.runs]).toEqual([true, true])
    expect(remove).toMatchObject([{ kind: 'Workspace', uid: 'lab-uid', resourceVersion: '7' }])
  })

  it('comes only after a warning, although nobody looked for a week', () => {
    const lab = new Lab({ lifetime: '1h', onExpiry: 'Delete' })
    delete (lab.planned.status as { expiry?: unknown }).expiry
    const back = NOW + 168 * HOUR
    lab.look(back)
    expect([lab.expiry?.noticeTime, lab.status.expiresAt]).toEqual([toTime(back), at(169 * HOUR)])
    lab.look(back + HOUR - 1)
    expect(lab.isDeleted).toBe(false)
    lab.look(back + HOUR)
    expect(lab.isDeleted).toBe(true)
  })

  it('of the policy is for labs without one, lasts from when the policy has it, stays when that changes, and never deletes', () => {
    const lab = new Lab({ onExpiry: 'Delete' })
    lab.planned.changePolicy({ workspaceLifetimeMs: 24 * HOUR })
    lab.look(NOW + 100 * HOUR)
    expect(lab.status.expiresAt).toBe(at(124 * HOUR))
    lab.planned.changePolicy({ workspaceLifetimeMs: 5 * MINUTE })
    lab.look(NOW + 101 * HOUR)
    expect(lab.status.expiresAt).toBe(at(124 * HOUR))
    for (const ms of [123, 124, 200, 2_000]) lab.look(NOW + ms * HOUR)
    expect([lab.isDeleted, lab.runs, lab.status.reason]).toEqual([false, false, 'Expired'])
    lab.planned.changePolicy({ workspaceLifetimeMs: undefined })
    lab.look(NOW + 3_000 * HOUR)
    expect([lab.runs, lab.status.reason]).toEqual([false, 'Expired'])
    lab.edit({ lifetime: '9h' })
    lab.look(NOW + 3_000 * HOUR)
    expect([lab.runs, lab.status.expiresAt]).toEqual([true, at(3_009 * HOUR)])
  })

  it('comes no later than the policy lets it, is told as a warning, and then only switches off', () => {
    const lab = new Lab({ lifetime: '300h', onExpiry: 'Delete' })
    lab.planned.changePolicy({ workspaceLifetimeMaxMs: 24 * HOUR })
    lab.look(NOW)
    const { warnings = 0 } = lab.status
    expect([lab.status.expiresAt, lab.expiry?.limited]).toEqual([at(300 * HOUR), undefined])
    lab.edit({ expiresAt: at(400 * HOUR) })
    lab.look(NOW + 10 * HOUR)
    expect([lab.status.expiresAt, lab.expiry?.limited, lab.status.warnings]).toEqual([
      at(34 * HOUR),
      true,
      warnings + 1,
    ])
    expect(lab.status.conditions?.find(({ type }) => type === 'SpecWarning')?.message).toContain(
      `the workspace is switched off at ${at(34 * HOUR)}, and not deleted; a change of spec.expiresAt extends it`,
    )
    for (const hours of [33, 34, 35, 1_000]) lab.look(NOW + hours * HOUR)
    expect([lab.isDeleted, lab.runs, lab.status.reason]).toEqual([false, false, 'Expired'])
    lab.edit({ expiresAt: at(1_010 * HOUR) })
    lab.look(NOW + 1_000 * HOUR)
    expect([lab.runs, lab.status.expiresAt, lab.expiry?.limited]).toEqual([true, at(1_010 * HOUR), undefined])
    for (const hours of [1_009, 1_010]) lab.look(NOW + hours * HOUR)
    expect(lab.isDeleted).toBe(true)
  })

  it('of the policy is the shorter one of both keys, for labs that say nothing', () => {
    for (const [lifetime, most, key] of [
      [undefined, 24, 'workspaceLifetimeMax'],
      [48, 24, 'workspaceLifetimeMax'],
      [24, 48, 'workspaceLifetime'],
    ] as const) {
      const lab = new Lab({})
      lab.planned.changePolicy({
        workspaceLifetimeMs: lifetime && lifetime * HOUR,
        workspaceLifetimeMaxMs: most * HOUR,
      })
      lab.look(NOW)
      expect([lab.status.expiresAt, lab.expiry?.source]).toEqual([at(24 * HOUR), 'policy'])
      const warnings = lab.status.warnings ?? 0
      lab.look(NOW + 23 * HOUR)
      expect(lab.status.message).toContain(`(the policy key ${key}: 24h)`)
      expect(lab.status.warnings ?? 0).toBe(warnings)
    }
  })

  it('of the policy goes with it where it is not over', () => {
    const lab = new Lab({})
    lab.planned.changePolicy({ workspaceLifetimeMs: 24 * HOUR })
    lab.look(NOW)
    lab.planned.changePolicy({ workspaceLifetimeMs: undefined })
    lab.look(NOW)
    expect(lab.status).not.toHaveProperty('expiresAt')
  })

  it('is announced once more when it becomes a deletion, also of a lab that is off', () => {
    const lab = new Lab({ lifetime: '1h' })
    lab.look(NOW)
    lab.look(NOW + 2 * HOUR)
    expect(lab.expiry?.ended).toBe(true)
    const change = (onExpiry: 'Halt' | 'Delete', ms: number) => {
      lab.edit({ onExpiry })
      lab.look(NOW + ms)
    }
    change('Delete', 10 * HOUR)
    change('Halt', 10.5 * HOUR)
    change('Delete', 11 * HOUR)
    expect([lab.isDeleted, lab.runs, lab.status.expiresAt]).toEqual([false, false, at(12 * HOUR)])
    lab.look(NOW + 12 * HOUR - 1)
    expect(lab.isDeleted).toBe(false)
    lab.look(NOW + 12 * HOUR)
    expect(lab.isDeleted).toBe(true)
  })

  it('is put off by a longer notice, and not brought forward by a shorter one', () => {
    const lab = new Lab({ lifetime: '10h', onExpiry: 'Delete' })
    lab.look(NOW + 9 * HOUR)
    lab.planned.expiry = { ...lab.planned.expiry, noticeMs: 3 * HOUR }
    lab.look(NOW + 10 * HOUR)
    expect([lab.isDeleted, lab.status.expiresAt]).toEqual([false, at(12 * HOUR)])
    lab.planned.expiry = { ...lab.planned.expiry, noticeMs: 5 * MINUTE }
    lab.look(NOW + 12 * HOUR - 1)
    expect(lab.isDeleted).toBe(false)
  })

  it('does not come closer while the time of the API server, or the spec, is not known', () => {
    const lab = new Lab({ lifetime: '10h', onExpiry: 'Delete' })
    lab.look(NOW + 9 * HOUR)
    const { expiry, expiresAt } = lab.status
    expect(lab.look(undefined).requeue?.because).toMatch(/API server/)
    lab.planned.unusable = 'InvalidSpec'
    lab.look(NOW + 20 * HOUR)
    expect([lab.isDeleted, lab.status.expiry, lab.status.expiresAt]).toEqual([false, expiry, expiresAt])
  })

  it.each([
    ['0000-01-01T00:00:00+23:59', '1970-01-01T00:00:00Z'],
    ['9999-12-31T23:59:59-23:59', '9999-12-31T23:59:59Z'],
  ])('at %s is one that a status can have', (expiresAt, shown) => {
    const lab = new Lab({ lifetime: '10h' })
    lab.edit({ expiresAt })
    lab.planned.expiry = { ...lab.planned.expiry, noticeMs: -NOW }
    lab.look(NOW)
    expect(lab.status.expiresAt).toBe(shown)
  })
})
