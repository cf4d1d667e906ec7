import { fromTime } from '../../operator/base/time.ts'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { LEASE } from '../../operator/kube/resource-types.ts'
import { shortDuration } from '../table.ts'
import { isUnseen } from './reader.ts'
import { isSeen, type OwnObject, type StoryLink, type Telling, unseenLink } from './story.ts'

/** Lease of the operator: who leads renews it. */
const LEASE_NAME = 'sync-operator'
/** As long as nobody has renewed the Lease for this time, nobody leads. The operator renews it every few seconds. */
const AWAY_MS = 60_000

interface LeaseObject extends KubeObject {
  readonly spec?: { readonly holderIdentity?: string; readonly renewTime?: string }
}

/** Returns why the operator has not seen the present spec of an object; nothing if it has. */
export async function notSeenLinks(
  object: OwnObject,
  { reader, operatorNamespace, now }: Telling,
): Promise<StoryLink[]> {
  if (isSeen(object)) return []
  const about = { kind: 'Operator', name: `in ${operatorNamespace}` }
  const lease = await reader.get<LeaseObject>(LEASE, { namespace: operatorNamespace, name: LEASE_NAME })
  if (isUnseen(lease)) return [unseenLink(about, lease.unseen)]
  const renewed = fromTime(lease?.spec?.renewTime)
  const commands = [`kubectl -n ${operatorNamespace} get pods`]
  const generation = object.metadata.generation ?? 0
  if (renewed !== undefined && now - renewed < AWAY_MS) {
    const message = `it runs, and has not looked at generation ${generation} yet`
    return [{ about, isWell: false, phase: 'works', message, commands, because: [] }]
  }
  const message =
    renewed === undefined
      ? `nobody leads: there is no Lease ${LEASE_NAME} that was ever renewed`
      : `nobody leads: Lease ${LEASE_NAME} was renewed ${shortDuration(now - renewed)} ago`
  return [
    { about, isWell: false, phase: 'does not run', message, since: lease?.spec?.renewTime, commands, because: [] },
  ]
}
