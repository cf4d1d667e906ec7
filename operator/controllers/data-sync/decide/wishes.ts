import { ANNOTATIONS } from '@open-terrain/constructs'
import { DATA_SYNC_IMAGE_FIELDS, type DataSyncSpec, imageSpecOf } from '@open-terrain/constructs/operator'
import { differences } from '../../../images/decide/ensure-image.ts'
import type { ImageView } from '../../../images/image-view.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import type { Wish } from '../world.ts'

/** Annotations with which a DataSync makes requests to all its images. */
export const REQUESTS: readonly string[] = [ANNOTATIONS.syncRequestedAt, ANNOTATIONS.retryRequestedAt]
/** Further DataSyncs are only counted. */
const SHOWN_MAX = 5

/** Returns what a DataSync wants, one wish for each vm. */
export function wishesOf({ metadata }: KubeObject, spec: DataSyncSpec): Wish[] {
  const { name, annotations = {} } = metadata
  const { workspaceId, version } = spec
  return spec.vms.map((vm) => ({
    dataSync: name,
    metadata,
    triple: { workspaceId, version, vm: vm.name },
    spec: imageSpecOf(spec, vm),
    requests: annotations,
  }))
}

/** Returns the fields in which an image, or another wish, is not as wanted. Fields that are for people do not count. */
export function unmet({ spec }: Wish, actual: Pick<ImageView, 'spec' | 'isCut'>): string[] {
  return differences(spec, actual, DATA_SYNC_IMAGE_FIELDS).toSorted()
}

/** Describes who wants what of an image. */
export function disagreement(image: string, own: Wish, dissenters: readonly Wish[]): string {
  const clauseOf = ({ dataSync, spec }: Wish, fields: readonly string[]) => {
    const values = fields.map((field) => {
      const value = spec[field as keyof typeof spec]
      return value === undefined ? `no ${field}` : `${field} "${value}"`
    })
    return `DataSync ${dataSync} wants ${values.join(', ')}`
  }
  const all = [...new Set(dissenters.flatMap((other) => unmet(own, other)))]
  const sides = dissenters.map((other) => clauseOf(other, unmet(own, other))).toSorted()
  const more = sides.length > SHOWN_MAX ? [`${sides.length - SHOWN_MAX} more want something else`] : []
  const clauses = [clauseOf(own, all), ...sides.slice(0, SHOWN_MAX), ...more].join('; ')
  return `${clauses}: VMDiskImage ${image}, which they share, stays as it is until all of them want the same; or give one of them another version`
}
