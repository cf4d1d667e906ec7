import { ANNOTATIONS, DATA_SYNC_IMAGE_FIELDS, type DataSyncSpec, imageSpecOf } from '@open-terrain/constructs'
import { differences } from '../../../images/decide/ensure-image.ts'
import type { ImageView } from '../../../images/image-view.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import type { Wish } from '../world.ts'

/** What a DataSync may ask of all its images. */
export const REQUESTS: readonly string[] = [ANNOTATIONS.syncRequestedAt, ANNOTATIONS.retryRequestedAt]
/** More DataSyncs are only counted. */
const SHOWN_MAX = 5

/** What a DataSync wants, vm by vm. */
export function wishesOf({ metadata: { name, annotations = {} } }: KubeObject, spec: DataSyncSpec): Wish[] {
  const { workspaceId, version } = spec
  return spec.vms.map((vm) => ({
    dataSync: name,
    triple: { workspaceId, version, vm: vm.name },
    spec: imageSpecOf(spec, vm),
    requests: annotations,
  }))
}

/** Fields in which an image, or another wish, is not as wanted. Those that are for people do not count. */
export function unmet({ spec }: Wish, actual: Pick<ImageView, 'spec'>): string[] {
  return differences(spec, actual, DATA_SYNC_IMAGE_FIELDS).toSorted()
}

/** Who wants what of an image. */
export function disagreement(image: string, own: Wish, dissenters: readonly Wish[]): string {
  const says = ({ dataSync, spec }: Wish, fields: readonly string[]) => {
    const values = fields.map((field) => {
      const value = spec[field as keyof typeof spec]
      return value === undefined ? `no ${field}` : `${field} "${value}"`
    })
    return `DataSync ${dataSync} wants ${values.join(', ')}`
  }
  const all = [...new Set(dissenters.flatMap((other) => unmet(own, other)))]
  const sides = dissenters.map((other) => says(other, unmet(own, other))).toSorted()
  const more = sides.length > SHOWN_MAX ? [`${sides.length - SHOWN_MAX} more want something else`] : []
  const said = [says(own, all), ...sides.slice(0, SHOWN_MAX), ...more].join('; ')
  return `${said}: VMDiskImage ${image}, which they share, stays as it is until all of them want the same; or give one of them another version`
}
