import { childName, type VMDiskImageStatus } from '@open-terrain/constructs'
import { CLONE_SOURCES } from '../../../cluster/clone-sources.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { DATA_VOLUME } from '../../../kube/resource-types.ts'
import type { Absent, NamedObject } from '../../../runtime/preconditions.ts'
import type { ImageWorld } from '../world.ts'
import { isFinished } from './judge.ts'
import { isRecorded } from './status.ts'

/** Drops an artifact that is gone, or is about to be overwritten by a download that nobody requested. */
export function dropLostArtifact(
  status: VMDiskImageStatus,
  { snapshots, claims, dataVolumes }: ImageWorld,
): VMDiskImageStatus {
  const { artifact } = status
  if (artifact === undefined) return status
  const isIt = ({ metadata }: KubeObject) => metadata.name === artifact.name
  const candidates: readonly KubeObject[] = artifact.kind === 'VolumeSnapshot' ? snapshots : claims
  const found = candidates.find(isIt)
  const isThere = found !== undefined && found.metadata.deletionTimestamp === undefined
  const isOverwritten =
    artifact.kind === 'PersistentVolumeClaim' && dataVolumes.some((one) => isIt(one) && !isFinished(one))
  return isThere && !isOverwritten ? status : { ...status, artifact: undefined }
}

/** Returns what the next status gives up because the caches do not have it. It may still exist, so a live read must confirm it. */
export function lostChildren({ image, dataVolumes, snapshots, claims }: ImageWorld, next: VMDiskImageStatus): Absent[] {
  const { artifact, dataVolumeUID: uid, revision = '' } = image.status
  const { namespace = '' } = image.metadata
  const lacks = (children: readonly KubeObject[], name: string) => !children.some((one) => one.metadata.name === name)
  const lost: NamedObject[] = []
  if (artifact !== undefined && next.artifact === undefined) {
    const { kind, name } = artifact
    if (lacks(kind === 'VolumeSnapshot' ? snapshots : claims, name))
      lost.push({ type: CLONE_SOURCES[kind], namespace, name })
  }
  const isGivenUp = uid !== undefined && !isRecorded(image.status) && isRecorded(next, uid)
  if (isGivenUp && !dataVolumes.some(({ metadata }) => metadata.uid === uid))
    lost.push({ type: DATA_VOLUME, namespace, name: childName(image.metadata.name, revision), uid })
  return lost.map((one) => ({ absent: [one], whose: 'ours' }))
}
