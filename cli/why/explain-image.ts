import { LABELS } from '@open-terrain/constructs'
import {
  type Attempt,
  childName,
  PHASES,
  SOURCE_CREDENTIALS,
  type SourceType,
  type VMDiskImageSpec,
  type VMDiskImageStatus,
  vmDiskImage,
} from '@open-terrain/constructs/operator'
import { fromTime } from '../../operator/base/time.ts'
import { createCommand } from '../../operator/cluster/secret-remedies.ts'
import {
  type LedgerObject,
  type LedgerState,
  parseLedger,
} from '../../operator/controllers/vm-disk-image/admission/decide/ledger-content.ts'
import { LEDGER_NAME } from '../../operator/controllers/vm-disk-image/admission/slot-ledger.ts'
import { keyOf, type ResourceType } from '../../operator/kube/kube-object.ts'
import {
  CONFIG_MAP,
  DATA_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  SECRET,
  STORAGE_CLASS,
  VOLUME_SNAPSHOT,
  VOLUME_SNAPSHOT_CLASS,
} from '../../operator/kube/resource-types.ts'
import { shortDuration } from '../table.ts'
import { notSeenLinks } from './explain-operator.ts'
import { isUnseen, type Unseen } from './reader.ts'
import {
  helpOf,
  neighbourLink,
  type OwnObject,
  ownLink,
  type StoryLink,
  subjectFor,
  type Telling,
  unseenLink,
} from './story.ts'
import { isCreation } from './told-commands.ts'

export interface ImageObject extends OwnObject {
  readonly spec?: Partial<VMDiskImageSpec>
  readonly status?: VMDiskImageStatus
}

/** Holders of slots that are looked at. */
const HOLDERS_SHOWN = 5

type Follow = (image: ImageObject, telling: Telling) => Promise<readonly StoryLink[]>

/** By reason: what an image waits for. */
const FOLLOWED: Readonly<Record<string, Follow>> = {
  Queued: queueLinks,
  Paused: queueLinks,
  SecretMissing: secretLinks,
  SecretInvalid: secretLinks,
  CertConfigMapMissing: (image, telling) => namedLinks(image, telling, CONFIG_MAP, 'certConfigMap'),
  CertConfigMapInvalid: (image, telling) => namedLinks(image, telling, CONFIG_MAP, 'certConfigMap'),
  StorageClassMissing: (image, telling) => namedLinks(image, telling, STORAGE_CLASS, 'storageClass'),
  SnapshotClassMissing: (image, telling) => namedLinks(image, telling, VOLUME_SNAPSHOT_CLASS, 'snapshotClass'),
  RetryBackoff: attemptLinks,
  RetryLimitExceeded: attemptLinks,
  SnapshotFailed: snapshotLinks,
  Snapshotting: snapshotLinks,
  Starting: downloadLinks,
  Syncing: downloadLinks,
  Stopping: downloadLinks,
  LeftoverClaim: downloadLinks,
  CDINotResponding: downloadLinks,
  Deleting: downloadLinks,
}

/** Returns why an image is as it is. */
export async function explainImage(image: ImageObject, telling: Telling): Promise<StoryLink> {
  const own = ownLink(image)
  if (own.isWell) return own
  const { phase, reason = '' } = image.status ?? {}
  const follow = FOLLOWED[reason] ?? (phase === PHASES.Failed ? attemptLinks : undefined)
  const because = [...(await notSeenLinks(image, telling)), ...((await follow?.(image, telling)) ?? [])]
  // What to create is known even where nobody may look whether it is there.
  const unseen = because.find(({ commands, unseen: why }) => commands !== undefined && why !== undefined)
  return { ...own, because, ...(unseen !== undefined && { commands: unseen.commands }) }
}

/** Returns the link of an image that something names. */
export async function explainImageNamed(
  key: { readonly namespace: string; readonly name: string },
  telling: Telling,
): Promise<StoryLink> {
  const about = { kind: vmDiskImage.kind, group: vmDiskImage.group, ...key }
  const image = await telling.reader.get<ImageObject>(vmDiskImage, key)
  if (isUnseen(image)) return unseenLink(about, image.unseen)
  if (image === undefined) return { about, isWell: false, phase: 'does not exist', because: [] }
  return await explainImage(image, telling)
}

async function queueLinks({ status }: ImageObject, telling: Telling): Promise<readonly StoryLink[]> {
  const { operatorNamespace: namespace, now } = telling
  const { queuePosition, queuePositionTime } = status ?? {}
  const asOf = fromTime(queuePositionTime)
  const place =
    queuePosition === undefined
      ? undefined
      : `place ${queuePosition}${asOf === undefined ? '' : `, as of ${shortDuration(now - asOf)} ago`}`
  const about = { kind: 'Queue', name: 'of downloads' }
  const ledger = await ledgerOf(telling)
  if (isUnseen(ledger)) return [{ ...unseenLink(about, ledger.unseen), message: place }]
  if (ledger === undefined) return []
  const { limit, holders } = ledger
  const because = await holderLinks(ledger, telling)
  const help = helpOf(vmDiskImage.kind, limit === 0 ? 'Paused' : 'Queued')
  const subject = {
    ...subjectFor({ apiVersion: 'v1', kind: CONFIG_MAP.kind, metadata: { namespace, name: LEDGER_NAME } }),
  }
  const phase = `${holders.length} of ${limit} slots in use`
  return [{ about, isWell: false, phase, message: place, help, subject, because }]
}

async function ledgerOf({ reader, operatorNamespace }: Telling): Promise<LedgerState | Unseen | undefined> {
  const found = await reader.get<LedgerObject>(CONFIG_MAP, { namespace: operatorNamespace, name: LEDGER_NAME })
  if (found === undefined || isUnseen(found)) return found
  const state = parseLedger(found)
  return typeof state === 'string' ? undefined : state
}

/** One whose download goes on is no cause: the queue is as long as it is. One that hangs is. */
async function holderLinks({ holders }: LedgerState, telling: Telling): Promise<readonly StoryLink[]> {
  const links = await Promise.all(
    holders.slice(0, HOLDERS_SHOWN).map(async (holder): Promise<StoryLink> => {
      const { namespace, name } = holder
      const found = await telling.reader.get<ImageObject>(vmDiskImage, { namespace, name })
      if (found === undefined || isUnseen(found) || found.status?.phase !== PHASES.Syncing) {
        const about = { kind: vmDiskImage.kind, group: vmDiskImage.group, namespace, name }
        return { about, isWell: true, phase: 'holds a slot', because: [] }
      }
      const { reason, progress } = found.status
      if (reason !== 'Syncing') return await telling.image({ namespace, name })
      return { ...ownLink(found), isWell: true, notes: [], message: progress, because: [] }
    }),
  )
  return links
}

/** Returns what the spec, or else the policy, names. */
function nameOf(
  field: 'secretRef' | 'certConfigMap' | 'storageClass' | 'snapshotClass',
  { spec, status }: ImageObject,
) {
  return spec?.[field] ?? status?.defaults?.[field]
}

async function namedLinks(
  image: ImageObject,
  { reader }: Telling,
  type: ResourceType,
  field: 'certConfigMap' | 'storageClass' | 'snapshotClass',
): Promise<readonly StoryLink[]> {
  const name = nameOf(field, image)
  if (name === undefined) return []
  const key = type.namespaced ? { namespace: image.metadata.namespace, name } : { name }
  const about = { kind: type.kind, group: type.group, ...key }
  const found = await reader.get(type, key)
  if (isUnseen(found)) return [unseenLink(about, found.unseen)]
  const help = helpOf(vmDiskImage.kind, image.status?.reason)
  const subject = subjectFor(image)
  const phase = found === undefined ? 'does not exist' : 'exists'
  return [{ about, isWell: found !== undefined, phase, help, subject, because: [] }]
}

async function secretLinks(image: ImageObject, { reader }: Telling): Promise<readonly StoryLink[]> {
  const name = nameOf('secretRef', image)
  const { namespace = '' } = image.metadata
  if (name === undefined) return []
  const about = { kind: SECRET.kind, group: '', namespace, name }
  const sourceType = (image.spec?.sourceType ?? image.status?.defaults?.sourceType) as SourceType | undefined
  const keys = sourceType === undefined ? [] : (SOURCE_CREDENTIALS[sourceType] ?? [])
  const asked = keys.map(({ key, needs }) => {
    return needs === 'JSON' ? ({ name, key, placeholder: 'FILE' } as const) : { name, key }
  })
  const command = createCommand(namespace, { name, asked })
  const commands = isCreation(command) ? [command] : undefined
  const help = helpOf(vmDiskImage.kind, 'SecretMissing')
  const found = await reader.getMetadata(SECRET, { namespace, name })
  if (isUnseen(found)) return [{ ...unseenLink(about, found.unseen), commands }]
  if (found !== undefined) return [{ about, isWell: true, phase: 'exists', because: [] }]
  return [
    {
      about,
      isWell: false,
      phase: 'does not exist',
      help,
      subject: subjectFor(image),
      commands,
      because: [],
    },
  ]
}

/** Why the last attempts failed is the cause, and that there is none left is what came of it. */
async function attemptLinks(image: ImageObject): Promise<readonly StoryLink[]> {
  const last = image.status?.attempts?.findLast(({ outcome }) => outcome !== 'Succeeded')
  return last === undefined ? [] : [attemptLink(image, last)]
}

function attemptLink(image: ImageObject, { number, outcome, reason, message, endedAt }: Attempt): StoryLink {
  return {
    about: { kind: 'Attempt', name: `${number} of ${keyOf(image.metadata)}` },
    isWell: false,
    ...{ phase: outcome, reason, message, since: endedAt },
    help: helpOf(vmDiskImage.kind, reason),
    subject: subjectFor(image),
    because: [],
  }
}

/** Returns the DataVolume of the running download, its claim, and the importers. */
async function downloadLinks(image: ImageObject, { reader }: Telling): Promise<readonly StoryLink[]> {
  const { namespace = '', name: imageName, uid } = image.metadata
  const { revision } = image.status ?? {}
  if (revision === undefined) return []
  const name = childName(imageName, revision)
  const labelSelector = `${LABELS.imageUid}=${uid}`
  const [dataVolume, claim, pods] = await Promise.all([
    reader.get(DATA_VOLUME, { namespace, name }),
    reader.get(PERSISTENT_VOLUME_CLAIM, { namespace, name }),
    reader.list(POD, { namespace, labelSelector }),
  ])
  const parts = [
    ...(isUnseen(pods)
      ? [unseenLink({ kind: POD.kind, namespace, name: 'of the import' }, pods.unseen)]
      : pods.map((pod) => neighbourLink(pod))),
    ...foundLink(PERSISTENT_VOLUME_CLAIM, { namespace, name }, claim),
  ]
  if (dataVolume === undefined) return parts.filter(({ isWell, unseen }) => !isWell || unseen !== undefined)
  if (isUnseen(dataVolume))
    return [unseenLink({ kind: DATA_VOLUME.kind, namespace, name }, dataVolume.unseen), ...parts]
  const own = neighbourLink(dataVolume)
  // Until the download is over, the claim is bound or not as CDI wants it.
  const troubled = parts.filter((part) => part.unseen !== undefined || (!part.isWell && part.message !== undefined))
  return [{ ...own, because: own.isWell ? [] : troubled }]
}

async function snapshotLinks(image: ImageObject, { reader }: Telling): Promise<readonly StoryLink[]> {
  const { namespace = '', uid } = image.metadata
  const found = await reader.list(VOLUME_SNAPSHOT, { namespace, labelSelector: `${LABELS.imageUid}=${uid}` })
  if (isUnseen(found))
    return [unseenLink({ kind: VOLUME_SNAPSHOT.kind, namespace, name: 'of the image' }, found.unseen)]
  return found.map((snapshot) => neighbourLink(snapshot)).filter(({ isWell }) => !isWell)
}

function foundLink(
  type: ResourceType,
  key: { readonly namespace: string; readonly name: string },
  found: OwnObject | Unseen | undefined,
): readonly StoryLink[] {
  if (found === undefined) return []
  if (isUnseen(found)) return [unseenLink({ kind: type.kind, ...key }, found.unseen)]
  return [neighbourLink(found)]
}
