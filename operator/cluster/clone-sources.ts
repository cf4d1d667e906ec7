import { DATA_SOURCE, PERSISTENT_VOLUME_CLAIM, VOLUME_SNAPSHOT } from '../kube/resource-types.ts'

/** Possible sources of a clone, by kind. */
export const CLONE_SOURCES = {
  VolumeSnapshot: VOLUME_SNAPSHOT,
  PersistentVolumeClaim: PERSISTENT_VOLUME_CLAIM,
  DataSource: DATA_SOURCE,
} as const

/** Source of a clone. */
export interface CloneSource {
  readonly kind: keyof typeof CLONE_SOURCES
  readonly namespace: string
  readonly name: string
}

/** Returns the key of a clone source. A DataVolume is read through its claim. */
export function cloneSourceKey({ kind, namespace, name }: { kind: string; namespace: string; name: string }): string {
  return `${kind === 'DataVolume' ? 'PersistentVolumeClaim' : kind}/${namespace}/${name}`
}

/** Returns the key of the source of an unfinished clone. A finished clone does not need its source. */
export function unfinishedCloneOf({ phase, cloneOf }: { phase: string; cloneOf: CloneSource | undefined }): string[] {
  return cloneOf === undefined || phase === 'Succeeded' ? [] : [cloneSourceKey(cloneOf)]
}
