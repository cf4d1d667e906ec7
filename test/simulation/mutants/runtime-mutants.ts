import type { ApiError } from '../../../operator/kube/api-error.ts'
import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import type { ObjectPlan } from '../../../operator/runtime/plan.ts'
import type { Precondition } from '../../../operator/runtime/preconditions.ts'
import type { Change, Stored } from '../../../operator/runtime/store.ts'
import type { Mutant } from '../mutant.ts'
import { seam } from '../seam.ts'
import { SHARED } from './product-modules.ts'

const writtenThough = (kind: string) =>
  seam(SHARED.ownedFields, 'ownsEqual', (ownsEqual) => (wanted, actual) => {
    return (wanted as KubeObject).kind !== kind && ownsEqual(wanted, actual)
  })

/** Deliberate defects in what all kinds share: caches, writes, and what is reported. */
export const RUNTIME_MUTANTS: readonly Mutant[] = [
  {
    name: 'teardown before the status',
    invariant: 4,
    seam: seam(SHARED.apply, 'applyChanges', (applyChanges) => async (primary, changes, context) => {
      await applyChanges(primary, { children: [], removals: changes.removals }, context)
      await applyChanges(primary, changes, context)
    }),
    kind: 'undisturbed',
  },
  {
    name: 'a watch that expired is tried again from where it was',
    invariant: 7,
    alsoCaughtAs: [8],
    seam: seam(SHARED.apiError, 'isApiError', (isApiError) => (error, ...reasons): error is ApiError => {
      return isApiError(error, ...reasons) && (reasons.length === 0 || !isApiError(error, 'Expired'))
    }),
    kind: 'disconnected',
    seed: 6,
  },
  {
    name: 'queries of URLs are told',
    invariant: 9,
    seam: seam(SHARED.redact, 'redactUrls', (redactUrls) => (text, limit) => {
      const parts = text.split(/(\?\S*)/)
      return parts.map((part) => (part.startsWith('?') ? part : redactUrls(part, limit))).join('')
    }),
    kind: 'undisturbed',
  },
  {
    name: 'a status is written though it says nothing new',
    invariant: 7,
    seam: seam(
      SHARED.planWriter,
      'PlanWriter',
      (PlanWriter) =>
        class<P extends KubeObject> extends PlanWriter<P> {
          override async write(primary: P, plan: ObjectPlan, _isStatusDue: boolean, signal: AbortSignal) {
            return await super.write(primary, plan, true, signal)
          }
        },
    ),
    kind: 'undisturbed',
  },
  {
    name: 'an alias is written though it is as it should be',
    invariant: 7,
    seam: writtenThough('DataSource'),
    kind: 'undisturbed',
  },
  {
    name: 'a machine is written though it is as it should be',
    invariant: 7,
    seam: writtenThough('VirtualMachine'),
    kind: 'machinesCalm',
  },
  {
    name: 'a status is written without the version that it is based on',
    invariant: 7,
    alsoCaughtAs: [0],
    seam: seam(SHARED.apply, 'applyChanges', (applyChanges) => async (primary, changes, context) => {
      const { resourceVersion: _version, ...metadata } = primary.metadata
      await applyChanges(changes.status === undefined ? primary : { ...primary, metadata }, changes, context)
    }),
    kind: 'undisturbed',
  },
  {
    name: 'users are not counted at the moment of the decision',
    invariant: 5,
    seam: seam(
      SHARED.preconditions,
      'Preconditions',
      (Preconditions) =>
        class<P extends KubeObject> extends Preconditions<P> {
          override async unmet(primary: P, onlyIf: readonly Precondition[] = [], signal: AbortSignal) {
            const others = onlyIf.filter((one) => !('unreferenced' in one && one.by === 'users'))
            return await super.unmet(primary, others, signal)
          }
        },
    ),
    kind: 'machinesUnseen',
  },
  {
    name: 'what a new list lacks goes without a word',
    invariant: 7,
    seam: seam(
      SHARED.store,
      'Store',
      (Store) =>
        class<T extends Stored> extends Store<T> {
          #isListing = false

          override onChange(listener: (change: Change<T>) => void) {
            return super.onChange((change) => {
              if (!this.#isListing || change.after !== undefined) listener(change)
            })
          }

          override replaceAll(items: readonly T[], version: string): void {
            this.#isListing = true
            super.replaceAll(items, version)
            this.#isListing = false
          }
        },
    ),
    kind: 'machinesForgotten',
  },
]
