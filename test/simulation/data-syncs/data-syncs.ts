import { ANNOTATIONS } from '@open-terrain/constructs'
import { dataSyncImageName } from '@open-terrain/constructs/operator'
import { type KubeObject, keyOf, type ResourceType } from '../../../operator/kube/kube-object.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { DATA_SYNC, type DataSync } from '../../harness/kinds.ts'
import { isDeletion } from '../chronicle.ts'
import { type Kind, LONGEST_QUEUE_MS, type Reference } from '../kind.ts'
import type { World } from '../world.ts'
import { DataSyncPeople } from './data-sync-people.ts'
import { DataSyncRest } from './data-sync-rest.ts'
import { StatusOracle } from './status-oracle.ts'
import { isFor, triplesOf } from './vms.ts'
import { Wishes } from './wishes.ts'

const UNUSED: ReadonlySet<string> = new Set(['NameConflict', 'ImageMissing'])

/** DataSyncs, and the images that they have created. */
export class DataSyncs implements Kind {
  readonly people: DataSyncPeople
  readonly rest: DataSyncRest
  readonly oracles
  readonly restsWithinMs = LONGEST_QUEUE_MS
  readonly #world: World
  readonly #wishes: Wishes

  constructor(world: World) {
    this.#world = world
    this.people = new DataSyncPeople(world)
    this.rest = new DataSyncRest(world, this.people)
    this.#wishes = new Wishes(world)
    this.oracles = [this.#wishes, new StatusOracle(world)]
  }

  permits(commit: Commit): boolean {
    return this.#wishes.permits(commit)
  }

  /**
   * Each DataSync that wants the image is a user, as long as the one that had it created does: it keeps the image for those that come later. After that,
   * those whose status says that they use it are references.
   */
  referencesTo(image: KubeObject): readonly Reference[] {
    const { namespace, name } = image.metadata
    const wanting = [...this.#world.chronicle.traces.of<DataSync>(DATA_SYNC).values()]
      .filter(({ object }) => object.metadata.namespace === namespace && !isDeletion(object))
      .filter(({ object: { spec } }) =>
        triplesOf(spec).some((triple) => dataSyncImageName(triple) === name && isFor(triple, image)),
      )
    const mark = image.metadata.annotations?.[ANNOTATIONS.creator] ?? ''
    const isOwn = wanting.some(({ object: { metadata } }) => mark.includes(`/${metadata.uid} `))
    return (
      wanting
        // A DataSync that was created while the image was already being deleted waits until it is gone.
        .filter(
          ({ object: { metadata } }) =>
            !((metadata.creationTimestamp ?? '') > (image.metadata.deletionTimestamp ?? 'none')),
        )
        .filter(({ object: { status } }) => {
          const reason = status?.images?.find((row) => row.name === name)?.reason
          return isOwn || status?.images === undefined || (reason !== undefined && !UNUSED.has(reason))
        })
        .map(({ object, specAtMs }) => {
          const usesSinceMs = isOwn ? specAtMs : undefined
          return { title: `${DATA_SYNC.kind}/${keyOf(object.metadata)}`, sinceMs: specAtMs, usesSinceMs }
        })
    )
  }

  objects(): readonly (readonly [ResourceType, KubeObject])[] {
    return [...this.#world.chronicle.traces.of(DATA_SYNC).values()].map(({ object }) => [DATA_SYNC, object])
  }
}
