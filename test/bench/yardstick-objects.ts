import { renderLedger } from '../../operator/controllers/vm-disk-image/admission/decide/ledger-content.ts'
import { apiVersionOf, type KubeObject } from '../../operator/kube/kube-object.ts'
import { DATA_VOLUME } from '../../operator/kube/resource-types.ts'

/** Namespace of all objects that are written for the measurement, and name of the ledger in it. */
export const YARDSTICK = 'yardstick'

/** About the size of labels, annotations, owner and URL in a DataVolume of the operator. */
const FILLER = 'x'.repeat(620)

/**
 * As large as the operator's ledger when all slots are taken. Differs for each pair of writes, because a write that changes nothing does not
 * reach etcd.
 */
export function ledgerLike(slots: number, pair: number, resourceVersion?: string): KubeObject {
  const metadata = { namespace: YARDSTICK, name: YARDSTICK, ...(resourceVersion !== undefined && { resourceVersion }) }
  const holders = Array.from({ length: slots }, (_, at) => ({
    uid: crypto.randomUUID(),
    namespace: YARDSTICK,
    name: `image-${at}`,
    revision: '0123abcd',
    attempt: pair + 1,
    claimant: `operator_${YARDSTICK}`,
  }))
  return renderLedger(metadata, { limit: slots, holders })
}

/**
 * As large as a DataVolume of the operator. It waits for an upload: CDI does nothing until somebody uploads. It has no owner, so the operator
 * and the observer ignore it.
 */
export function dataVolumeLike(pair: number): KubeObject {
  const annotations = { 'bench.example.com/filler': FILLER }
  const storage = { resources: { requests: { storage: '1Gi' } }, storageClassName: 'fast' }
  const spec = { contentType: 'kubevirt', source: { upload: {} }, storage }
  const metadata = { namespace: YARDSTICK, name: `${YARDSTICK}-${pair}`, annotations }
  return { apiVersion: apiVersionOf(DATA_VOLUME), kind: DATA_VOLUME.kind, metadata, spec } as KubeObject
}
