import { type Condition, RESOURCES } from '@open-terrain/constructs/operator'
import { CLUSTER_ACCESS } from '@open-terrain/constructs/platform'
import { expect } from 'vitest'
import type { ZodType } from 'zod'
import { isTerminating, type KubeObject, type ResourceType } from '../../../operator/kube/kube-object.ts'
import { childId } from '../../../operator/runtime/child-refusals.ts'
import type { ObjectPlan } from '../../../operator/runtime/plan.ts'
import type { Precondition } from '../../../operator/runtime/preconditions.ts'
import { reasonOf } from '../../../operator/runtime/summary.ts'
import { argoHealth, kstatus } from '../../harness/gitops-health.ts'

/** An object waits for itself or for somebody else. An image that is refreshed is also Ready. */
const COURSE: ReadonlySet<string> = new Set(['Reconciling', 'Stalled'])

/** Phases in which an object is as its spec says. */
const DONE: ReadonlySet<string | undefined> = new Set(['Succeeded', 'Ready'])
/** Why an object that has not failed cannot go on by itself, as `reason: message`. */
const NEEDS_SOMEBODY =
  /^(NameConflict|LeftoverClaim|Adoption(Invalid|Unchecked|Missing|InUse|Mismatch|Owned)|SourceDiffers):|^Snapshotting: .* has lost its volume /
const GOOD = ['Healthy', 'Current']
const WORKING = ['Progressing', 'InProgress']
const BAD = ['Degraded', 'Failed']
/** What has been checked: there are many plans, and few of these differ. */
const SHOWN = new Set<string>()

interface Told {
  readonly observedGeneration?: number | undefined
  readonly phase?: string | undefined
  readonly reason?: string | undefined
  readonly message?: string | undefined
  readonly conditions?: readonly Condition[] | undefined
}

/** Checks a plan against what is true of the plans of every kind, in any world. `schema` is that of the status. */
export function expectLawful(
  primary: KubeObject & { readonly status?: Told },
  plan: ObjectPlan & { readonly status: Told },
  schema: ZodType,
): void {
  const { status, finalizer, apply, requeue, onlyIf = [] } = plan
  expect(onlyIf.flatMap(notGranted)).toEqual([])
  expect(isTerminating(primary) ? ['keep', 'release'] : ['add', 'keep', 'lift']).toContain(finalizer)
  expect(new Set(apply.map(childId)).size).toBe(apply.length)
  if (requeue !== undefined) {
    expect(requeue.afterMs).toBeGreaterThan(0)
    expect(requeue.because).not.toBe('')
  }
  if (status === primary.status) return
  expect(status.observedGeneration).toBe(primary.metadata.generation)
  expect(status.reason).toBe(reasonOf(status))
  if (finalizer === 'release') return
  expect(schema.safeParse(status).error).toBeUndefined()
  expect(Object.values(status)).not.toContain(undefined)
  const { conditions = [] } = status
  expect(new Set(conditions.map(({ type }) => type)).size).toBe(conditions.length)
  const course = conditions.filter(({ type, status: holds }) => COURSE.has(type) && holds === 'True')
  expect(course.length).toBeLessThanOrEqual(1)
  expectShown(primary, status)
}

/** Returns the live reads of a precondition for which an installed operator has no right: it would be refused, and the plan never carried out. */
function notGranted(one: Precondition): string[] {
  if ('absent' in one) return one.absent.flatMap(({ type }) => refused(type, 'get'))
  if ('unchanged' in one) return refused(one.unchanged.type, 'get')
  return 'noneReady' in one ? refused(one.noneReady.type, 'list') : []
}

function refused({ group = '', plural }: ResourceType, verb: string): string[] {
  const isGranted = CLUSTER_ACCESS.some(
    ({ apiGroups, resources, verbs, resourceNames }) =>
      resourceNames === undefined && apiGroups.includes(group) && resources.includes(plural) && verbs.includes(verb),
  )
  return isGranted ? [] : [`${verb} ${plural}.${group}`]
}

/** Checks that a status has the conditions that its kind declares, each with one of its reasons. One that is deleted at once may lack some. */
function expectDeclared(kind: string, conditions: readonly Condition[], isGoing: boolean): void {
  const rules = RESOURCES.find((one) => one.kind === kind)?.conditions ?? {}
  const said = conditions.map(({ type, reason }) => `${type}: ${reason}`)
  const key = [kind, isGoing, ...said].join()
  if (SHOWN.has(key)) return
  const always = Object.keys(rules).filter((type) => rules[type]?.presence === 'always' && !isGoing)
  expect(conditions.map(({ type }) => type)).toEqual(expect.arrayContaining(always))
  const undeclared = conditions.filter(
    ({ type, reason }) => rules[type]?.reasons?.includes(reason) === false || rules[type] === undefined,
  )
  expect(undeclared).toEqual([])
  SHOWN.add(key)
}

/** Checks what tools that apply from Git show of a status: Argo CD with our health script, and whoever waits by the rules of kstatus, such as Flux. */
export function expectShown({ apiVersion, kind, metadata }: KubeObject, status: Told): void {
  const { phase, reason = '', message = '', observedGeneration, conditions = [] } = status
  const isGoing = metadata.deletionTimestamp !== undefined
  expectDeclared(kind, conditions, isGoing)
  const holding = conditions.filter((one) => one.status === 'True').map(({ type }) => type)
  const key = [kind, isGoing, observedGeneration === metadata.generation, phase, reason, ...holding].join()
  if (SHOWN.has(key)) return
  const shown = (more: Partial<KubeObject['metadata']>) => {
    const object = { apiVersion, kind, metadata: { ...metadata, ...more }, status }
    return [argoHealth(object).status, kstatus(object)]
  }
  expect(shown({ deletionTimestamp: '2026-01-01T00:00:00Z' })).toEqual(['Progressing', 'Terminating'])
  if (!isGoing) {
    // The spec is changed, and nobody has looked at it yet.
    expect(shown({ generation: (metadata.generation ?? 0) + 1 })).toEqual(WORKING)
    const isBad = phase === 'Failed' || (holding.includes('Stalled') && NEEDS_SOMEBODY.test(`${reason}: ${message}`))
    const isGood = !isBad && DONE.has(phase)
    if (isGood) expect(holding, `${phase}: ${reason}`).toEqual(expect.arrayContaining(['Ready', 'Settled']))
    expect(shown({}), `${phase}: ${reason}`).toEqual(isBad ? BAD : isGood ? GOOD : WORKING)
  }
  SHOWN.add(key)
}
