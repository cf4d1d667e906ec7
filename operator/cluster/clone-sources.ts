import { DATA_SOURCE, PERSISTENT_VOLUME_CLAIM, VOLUME_SNAPSHOT } from '../kube/resource-types.ts'

/** What a disk may be cloned from, by kind. */
export const CLONE_SOURCES = {
  VolumeSnapshot: VOLUME_SNAPSHOT,
  PersistentVolumeClaim: PERSISTENT_VOLUME_CLAIM,
  DataSource: DATA_SOURCE,
} as const
