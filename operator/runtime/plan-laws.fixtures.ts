import type { Condition } from '@open-terrain/constructs'
import { expect } from 'vitest'
import type { ZodType } from 'zod'
import { isTerminating, type KubeObject } from '../kube/kube-object.ts'
import { childId } from './child-refusals.ts'
import type { ObjectPlan } from './plan.ts'
import { reasonOf } from './standing.ts'

/** An object waits for itself or for somebody else. An image that is refreshed is also Ready. */
const COURSE: ReadonlySet<string> = new Set(['Reconciling', 'Stalled'])

interface Told {
  readonly observedGeneration?: number | undefined
  readonly reason?: string | undefined
  readonly conditions?: readonly Condition[] | undefined
}

/** Checks a plan against what is true of the plans of every kind, in any world. `schema` is that of the status. */
export function expectLawful(
  primary: KubeObject & { readonly status?: Told },
  plan: ObjectPlan & { readonly status: Told },
  schema: ZodType,
): void {
  const { status, finalizer, apply, wake } = plan
  expect(finalizer).not.toBe(isTerminating(primary) ? 'add' : 'release')
  expect(new Set(apply.map(childId)).size).toBe(apply.length)
  if (wake !== undefined) {
    expect(wake.afterMs).toBeGreaterThan(0)
    expect(wake.because).not.toBe('')
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
}
