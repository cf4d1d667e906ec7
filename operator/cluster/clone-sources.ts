import { DATA_SOURCE, PERSISTENT_VOLUME_CLAIM, VOLUME_SNAPSHOT } from '../kube/resource-types.ts'

/** What a disk may be cloned from, by kind. */
export const CLONE_SOURCES = {
  VolumeSnapshot: VOLUME_SNAPSHOT,
  PersistentVolumeClaim: PERSISTENT_VOLUME_CLAIM,
  DataSource: DATA_SOURCE,
} as const

/** What a clone reads from. */
export interface CloneSource {
  readonly kind: keyof typeof CLONE_SOURCES
  readonly namespace: string
  readonly name: string
}

/** Key of what a clone reads from. A DataVolume is read by way of its claim. */
export function cloneSourceKey({ kind, namespace, name }: { kind: string; namespace: string; name: string }): string {
  return `${kind === 'DataVolume' ? 'PersistentVolumeClaim' : kind}/${namespace}/${name}`
}

/** Key of what a DataVolume reads from, as long as it does: a clone that is finished needs its source no more. */
export function unfinishedCloneOf(dataVolume: {
  readonly phase: string
  readonly cloneOf: CloneSource | undefined
}): readonly string[] {
  const { phase, cloneOf } = dataVolume
  return cloneOf === undefined || phase === 'Succeeded' ? [] : [cloneSourceKey(cloneOf)]
}
