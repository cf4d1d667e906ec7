import { isDeepStrictEqual } from 'node:util'
import { ANNOTATIONS, revisionOf, type VMDiskImageSpec } from '@open-terrain/constructs'
import { keyOf } from '../../../operator/kube/kube-object.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { conditionOf, DATA_SYNC, type DataSync, IMAGE, type Image } from '../../harness/kinds.ts'
import { isDeletion, isOperator } from '../chronicle.ts'
import { WitnessOracle } from '../oracle/oracle.ts'
import { mustKnow, type Trace } from '../traces.ts'
import type { World } from '../world.ts'
import { figuresOf } from './data-sync-rest.ts'
import { fieldsOf, wishOf } from './vms.ts'

/** What is decided now may rest on what was so long ago. */
const MOMENT_MS = 1_000

/**
 * Invariant 7, for what a DataSync says: its figures are those of the images that it names, Settled is True exactly when it is Succeeded or
 * Failed, no status says again what the one before it said, and it is not Ready before its images are.
 */
export class StatusOracle extends WitnessOracle<World> {
  onCommit({ resource, type, object, before, actor, revision }: Commit): void {
    if (resource.kind !== DATA_SYNC.kind || type !== 'MODIFIED' || !isOperator(actor)) return
    const report = (text: string) =>
      this.witness.report(7, `revision ${revision}: DataSync ${keyOf(object.metadata)} ${text}`)
    const [now, then] = [object as DataSync, before as DataSync | undefined]
    if (isDeepStrictEqual(withoutTimes(now), withoutTimes(then))) report('says again what it said')
    for (const wrong of contradictionsIn(now)) report(wrong)
    const { phase, observedGeneration } = now.status ?? {}
    if (phase === 'Succeeded' && observedGeneration === now.metadata.generation) this.#checkReady(now, report)
  }

  #checkReady({ metadata: { namespace }, spec, status }: DataSync, report: (text: string) => void): void {
    const { chronicle, disturbances } = this.witness
    const images = [...chronicle.traces.of<Image>(IMAGE).values()]
    for (const { vm, name } of status?.images ?? []) {
      const image = images.find(
        ({ object: { metadata } }) => metadata.namespace === namespace && metadata.name === name,
      )
      const isExcused = !mustKnow(disturbances, MOMENT_MS + 1) || (image !== undefined && this.#isNews(image))
      if (!isExcused && !isReady(image?.object, wishOf(spec, vm)))
        report(`is Ready, and image ${name} is not as vm ${vm} wants it`)
    }
  }

  /** What others did a moment ago may come too late. What a DataSync does to an image that it has for itself, it knows. */
  #isNews({ object, changedAtMs, specAtMs, specBy }: Trace<Image>): boolean {
    const isOwnDoing = specAtMs === changedAtMs && isOperator(specBy)
    const users = this.witness.kinds.flatMap((kind) => kind.referencesTo?.(object) ?? [])
    return this.witness.chronicle.nowMs - changedAtMs <= MOMENT_MS && (!isOwnDoing || users.length > 1)
  }
}

function isReady(image: Image | undefined, wish: string): boolean {
  if (image === undefined) return false
  const { spec, metadata, status } = image
  const revision = revisionOf(spec as VMDiskImageSpec, metadata.annotations?.[ANNOTATIONS.syncRequestedAt])
  const isServed = status?.phase === 'Succeeded' && status.artifact?.revision === revision
  return isServed && fieldsOf(spec) === wish && !isDeletion(image)
}

function contradictionsIn(one: DataSync): string[] {
  const { phase, counts, ready, images = [] } = one.status ?? {}
  const { progress: _progress, ...expected } = figuresOf(images, () => 0)
  const actual = { phase, counts, ready }
  const isSaid = images.length === 0 || isDeepStrictEqual(actual, expected)
  const wanted = { Settled: phase === 'Succeeded' || phase === 'Failed', Ready: phase === 'Succeeded' }
  const wrong = Object.entries(wanted).filter(
    ([type, holds]) => conditionOf(one, type)?.status !== (holds ? 'True' : 'False'),
  )
  return [
    ...(isSaid ? [] : [`says ${JSON.stringify(actual)} of ${JSON.stringify(images)}`]),
    ...wrong.map(([type, holds]) => `is ${phase}, and ${type} is not ${holds}`),
  ]
}

function withoutTimes({ status, metadata }: DataSync | undefined = {} as DataSync): unknown {
  const conditions = status?.conditions?.map((one) => ({ ...one, lastTransitionTime: '' }))
  return [metadata?.generation, { ...status, conditions }]
}
