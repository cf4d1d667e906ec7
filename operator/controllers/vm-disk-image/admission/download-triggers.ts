import { concernsImport } from '../../../cluster/importers.ts'
import type { ClaimView, DataVolumeView, PodView } from '../../../cluster/views.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { type Change, type Readable, whenContentChanged } from '../../../runtime/store.ts'
import type { Admission } from './admission.ts'

/** The caches of what downloads. */
interface DownloadCaches {
  readonly dataVolumes: Readable<DataVolumeView>
  readonly claims: Readable<ClaimView>
  readonly pods: Readable<PodView>
}

/**
 * Tells the admission of each change that a slot may depend on. CDI and the kubelet write claims and pods often, and seldom such a thing. Returns functions
 * that stop listening.
 */
export function listenForDownloads(
  { dataVolumes, claims, pods }: DownloadCaches,
  admission: Pick<Admission, 'downloadsChanged'>,
): (() => void)[] {
  const tell = ({ before, after }: Change<KubeObject>) => {
    const changed = after ?? before
    if (changed !== undefined) admission.downloadsChanged(changed)
  }
  const ofImport = (change: Change<ClaimView | PodView>) => {
    if (concernsImport(change)) tell(change)
  }
  return [dataVolumes.onChange(whenContentChanged(tell)), claims.onChange(ofImport), pods.onChange(ofImport)]
}
