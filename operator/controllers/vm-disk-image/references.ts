import type { DataVolumeView } from './views.ts'

/** Key of what a clone reads from. A DataVolume is read by way of its claim. */
export function cloneSourceKey({ kind, namespace, name }: { kind: string; namespace: string; name: string }): string {
  return `${kind === 'DataVolume' ? 'PersistentVolumeClaim' : kind}/${namespace}/${name}`
}

/** Key of what a DataVolume reads from, as long as it does: a clone that is finished needs its source no more. */
export function unfinishedCloneOf({ phase, cloneOf }: DataVolumeView): readonly string[] {
  return cloneOf === undefined || phase === 'Succeeded' ? [] : [cloneSourceKey(cloneOf)]
}
