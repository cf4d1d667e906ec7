/** A disk that somebody has filled, and an image that adopts it. Times are virtual milliseconds after the start. */
export interface AdoptionPlan {
  /** Number of its namespace. */
  readonly namespace: number
  /** Who owns the DataVolume at first: an owner that is its controller, one that is not, or nobody. */
  readonly owner: 'controller' | 'owner' | 'nobody'
  /** When its owner releases it, and goes then. */
  readonly releasedAtMs: number
  /** Number of the VolumeSnapshotClass of the image; undefined: the claim is the artifact. */
  readonly snapshotClass: number | undefined
  readonly createdAtMs: number
  /** When the image is deleted, and made again soon after that; undefined: never. */
  readonly deletedAtMs: number | undefined
  /** When the image is suspended for a time; undefined: never. */
  readonly suspendedAtMs: number | undefined
}
