import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { MACHINE_ALONE } from '../../../../test/prepared/workspace/workspace-bench.ts'
import { NOW, parsed, settledWorld } from '../../../../test/prepared/workspace/workspace-world.ts'
import { fromTime, toTime } from '../../../base/time.ts'
import type { WorkspacePlan } from '../world.ts'
import { planWorkspace } from './plan.ts'

const MINUTE = 60_000
const minutes = fc.constantFrom(0, 1, 5, 30, 59, 60, 61, 90, 120, 600, 10_000)
type Word = Pick<WorkspaceSpecInput, 'expiresAt' | 'lifetime' | 'onExpiry'>
type Step = (lab: Lab) => void
/** When the status of a plan is written: a process may stand still before that, or crash. */
type Fate = 'at once' | 'late' | 'never'
const LATE_MINUTES = 120

/** What people, the policy and time do. */
const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: minutes.map((one) => (lab: Lab) => lab.wait(one)), weight: 8 },
  fc.option(minutes).map((one) => (lab: Lab) => {
    lab.edit({ expiresAt: one === null ? undefined : toTime(lab.now + one * MINUTE) })
  }),
  fc.option(minutes).map((one) => (lab: Lab) => lab.edit({ lifetime: one === null ? undefined : `${one}m` })),
  fc.constantFrom('Halt', 'Delete', undefined).map((onExpiry) => (lab: Lab) => lab.edit({ onExpiry })),
  fc.option(minutes).map((one) => (lab: Lab) => {
    lab.planned.changePolicy({ workspaceLifetimeMs: one === null ? undefined : (one + 1) * MINUTE })
  }),
  fc.option(minutes).map((one) => (lab: Lab) => {
    lab.planned.changePolicy({ workspaceLifetimeMaxMs: one === null ? undefined : (one + 1) * MINUTE })
  }),
  fc.constantFrom(5, 60, 600).map((one) => (lab: Lab) => lab.setNotice(one)),
  // The clock of the API server is set.
  fc.integer({ min: -600, max: 600 }).map((one) => (lab: Lab) => lab.wait(one)),
  fc.constant((lab: Lab) => lab.loseTime()),
  fc.constant((lab: Lab) => lab.spoil()),
)

class Lab {
  readonly planned = settledWorld(MACHINE_ALONE)
  now = NOW
  ended: 'Halt' | 'Delete' | undefined
  #word: Word
  #noticeMs = 60 * MINUTE
  #isTimeKnown = true
  /** What the stored status warns of, and since when. */
  #warned: { readonly text: string; readonly atMs: number } | undefined

  constructor(word: Word) {
    this.#word = word
    this.edit({})
  }

  wait(forMinutes: number): void {
    this.now += forMinutes * MINUTE
    // A clock that is set back makes no warning younger.
    if (this.#warned !== undefined) this.#warned = { ...this.#warned, atMs: Math.min(this.#warned.atMs, this.now) }
  }

  edit(word: Word): void {
    this.#word = { ...this.#word, ...word }
    this.planned.spec = parsed({ ...MACHINE_ALONE, ...this.#word })
    this.planned.generation += 1
  }

  setNotice(inMinutes: number): void {
    this.#noticeMs = inMinutes * MINUTE
  }

  loseTime(): void {
    this.#isTimeKnown = !this.#isTimeKnown
  }

  spoil(): void {
    this.planned.unusable = this.planned.unusable === undefined ? 'InvalidSpec' : undefined
  }

  look(fate: Fate): void {
    const serverNow = this.#isTimeKnown ? this.now : undefined
    this.planned.expiry = { serverNow, noticeMs: this.#noticeMs, isTurn: true }
    const plan = planWorkspace(this.planned.world, NOW)
    const isDeletion = plan.remove.some(({ kind }) => kind === 'Workspace')
    const isHalt = plan.status.expiry?.ended === true && this.planned.status.expiry?.ended !== true
    if (isDeletion) this.#judge('Delete')
    if (isHalt) this.#judge('Halt')
    if (fate === 'late') this.wait(LATE_MINUTES)
    if (fate !== 'never' && !isDeletion) this.#store(plan)
  }

  #judge(action: 'Halt' | 'Delete'): void {
    this.ended = action
    expect([this.#isTimeKnown, this.planned.unusable]).toEqual([true, undefined])
    expect(this.#warned?.text).toContain(action)
    expect(this.now - (this.#warned?.atMs ?? Number.POSITIVE_INFINITY)).toBeGreaterThanOrEqual(this.#noticeMs)
    expect(this.now).toBeGreaterThanOrEqual(fromTime(this.planned.status.expiresAt) ?? Number.POSITIVE_INFINITY)
    const { expiresAt, lifetime, onExpiry } = this.#word
    if (action === 'Delete') {
      const { limited } = this.planned.status.expiry ?? {}
      expect([onExpiry, typeof (expiresAt ?? lifetime), limited]).toEqual(['Delete', 'string', undefined])
    }
  }

  #store(plan: WorkspacePlan): void {
    this.planned.take(plan)
    const { announced, source, value } = plan.status.expiry ?? {}
    const text = `${announced} ${source} ${value}`
    if (announced === undefined) this.#warned = undefined
    else if (this.#warned?.text !== text) this.#warned = { text, atMs: this.now }
  }
}

const word: fc.Arbitrary<Word> = fc.record({
  lifetime: fc.constantFrom(undefined, '90m', '90m'),
  onExpiry: fc.constantFrom(undefined, 'Delete', 'Delete'),
})

it('no workspace ends before its warning is old enough, nor is one deleted without its own word, whatever people, policies and clocks do', () => {
  const ends: (string | undefined)[] = []
  const fate = fc.constantFrom<Fate>('at once', 'at once', 'late', 'never')
  const looks = fc.array(fc.tuple(step, fate), { minLength: 5, maxLength: 40 })
  fc.assert(
    fc.property(word, looks, (first, steps) => {
      const lab = new Lab(first)
      for (const [take, when] of steps) {
        take(lab)
        lab.look(when)
        if (lab.ended === 'Delete') break
      }
      ends.push(lab.ended)
    }),
    { numRuns: 300 },
  )
  for (const end of ['Halt', 'Delete']) expect(ends.filter((one) => one === end).length, end).toBeGreaterThan(10)
})
