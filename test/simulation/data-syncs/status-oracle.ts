import { isDeepStrictEqual } from 'node:util'
import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { dataSyncImageName, revisionOf, type VMDiskImageSpec } from '@open-terrain/constructs/operator'
import { keyOf } from '../../../operator/kube/kube-object.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { DATA_SYNC, type DataSync, IMAGE, type Image } from '../../harness/kinds.ts'
import { isDeletion, isOperator } from '../chronicle.ts'
import { wrongConditions } from '../conditions.ts'
import { WitnessOracle } from '../oracle/oracle.ts'
import { mustKnow, type Trace } from '../traces.ts'
import type { World } from '../world.ts'
import { figuresOf } from './data-sync-rest.ts'
import { fieldsOf, triplesOf, wishOf } from './vms.ts'

/** A decision may be based on a state this old. */
const MOMENT_MS = 1_000

/**
 * Invariant 7, for the status of a DataSync: its counts match the images that it names. Settled is True exactly when the phase is Succeeded or
 * Failed. No write repeats the status before it. It is not Ready before its images are.
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

  #checkReady({ metadata: { namespace }, spec }: DataSync, report: (text: string) => void): void {
    const { chronicle, disturbances } = this.witness
    const images = [...chronicle.traces.of<Image>(IMAGE).values()]
    for (const triple of triplesOf(spec)) {
      const name = dataSyncImageName(triple)
      const image = images.find(
        ({ object: { metadata } }) => metadata.namespace === namespace && metadata.name === name,
      )
      const isExcused = !mustKnow(disturbances, MOMENT_MS + 1) || (image !== undefined && this.#isNews(image))
      if (!isExcused && !isReady(image?.object, wishOf(spec, triple.vm)))
        report(`is Ready, and image ${name} is not as vm ${triple.vm} wants it`)
    }
  }

  /** A change that others made a moment ago may not be observed yet. A DataSync knows what it does to an image that it does not share. */
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
  // The display name is the choice of who had it created.
  const asWished =
    metadata.labels?.[LABELS.createdBy] === DATA_SYNC.kind ? spec : { ...spec, name: (JSON.parse(wish) as string[])[0] }
  return isServed && fieldsOf(asWished) === wish && !isDeletion(image)
}

function contradictionsIn(one: DataSync): string[] {
  const { phase, counts, ready, images = [] } = one.status ?? {}
  const { progress: _progress, ...expected } = figuresOf(images, () => 0)
  const actual = { phase, counts, ready }
  const isShown = images.length === 0 || isDeepStrictEqual(actual, expected)
  const wanted = { Settled: phase === 'Succeeded' || phase === 'Failed', Ready: phase === 'Succeeded' }
  return [
    ...(isShown ? [] : [`says ${JSON.stringify(actual)} of ${JSON.stringify(images)}`]),
    ...wrongConditions(one, wanted).map((wrong) => `is ${phase}, and ${wrong}`),
  ]
}

function withoutTimes({ status, metadata }: DataSync | undefined = {} as DataSync): unknown {
  const conditions = status?.conditions?.map((one) => ({ ...one, lastTransitionTime: '' }))
  return [metadata?.generation, { ...status, conditions }]
}
