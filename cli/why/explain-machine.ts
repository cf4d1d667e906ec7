import { LABELS } from '@open-terrain/constructs'
import type { VirtualMachineReason, VirtualMachineSpec, VirtualMachineStatus } from '@open-terrain/constructs/operator'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import {
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  SECRET,
  VIRTUAL_MACHINE_INSTANCE,
} from '../../operator/kube/resource-types.ts'
import { notSeenLinks } from './explain-operator.ts'
import { isUnseen, type Unseen } from './reader.ts'
import {
  conditionIn,
  neighbourLink,
  type OwnObject,
  ownLink,
  type StoryLink,
  type Subject,
  type Telling,
  unseenLink,
} from './story.ts'

export interface MachineObject extends OwnObject {
  readonly spec?: Partial<VirtualMachineSpec>
  readonly status?: VirtualMachineStatus
}

/** Reasons of a machine that is not on its way to its disk, or to run: looking further shows nothing. */
const BY_SPEC: ReadonlySet<string | undefined> = new Set<VirtualMachineReason>([
  'InvalidSpec',
  'TooLarge',
  'NetworkNotAllowed',
  'OverrideNotAllowed',
  'NameConflict',
  'NamespaceTerminating',
  'KubeVirtMissing',
  'CDIMissing',
  'KubeVirtNotResponding',
  'CDINotResponding',
  'Refused',
  'InternalError',
])
const SECRETS: ReadonlySet<string | undefined> = new Set<VirtualMachineReason>([
  'MissingPasswordSecret',
  'MissingUserDataSecret',
])

/** Returns why a machine is as it is. */
export async function explainMachine(machine: MachineObject, telling: Telling): Promise<StoryLink> {
  const own = ownLink(machine)
  if (own.isWell) return own
  const because = [...(await notSeenLinks(machine, telling)), ...(await partsOf(machine, telling))]
  return { ...own, because }
}

async function partsOf(machine: MachineObject, telling: Telling): Promise<readonly StoryLink[]> {
  const { reason } = machine.status ?? {}
  if (BY_SPEC.has(reason)) return []
  if (SECRETS.has(reason)) return await secretLinks(machine, telling)
  if (conditionIn(machine, 'ImageReady')?.status === 'False') return [await telling.image(rootImageOf(machine))]
  const disk = await diskLinks(machine, telling)
  return disk.length > 0 ? disk : await guestLinks(machine, telling)
}

/** Returns the image of the root disk, as the status has it, or the spec. */
export function rootImageOf({ metadata, spec, status }: MachineObject) {
  const { namespace, name } = status?.image ?? spec?.vmDiskImageRef ?? {}
  return { namespace: namespace ?? metadata.namespace ?? '', name: name ?? '' }
}

async function secretLinks({ metadata, status }: MachineObject, { reader }: Telling): Promise<readonly StoryLink[]> {
  const { namespace = '' } = metadata
  const byName = Map.groupBy(status?.missingSecretKeys ?? [], ({ name }) => name)
  return await Promise.all(
    [...byName].map(async ([name, keys]): Promise<StoryLink> => {
      const about = { kind: SECRET.kind, group: '', namespace, name }
      const lacks = `it needs ${keys.map(({ key }) => key).join(', ')}`
      const found = await reader.getMetadata(SECRET, { namespace, name })
      if (isUnseen(found)) return { ...unseenLink(about, found.unseen), message: lacks }
      // What to do is in the message of the machine, for all of them.
      const phase = found === undefined ? 'does not exist' : 'lacks a key'
      return { about, isWell: true, phase, message: lacks, because: [] }
    }),
  )
}

/** Of a lab, everything of a kind is listed once for all of its machines. A namespace of machines alone may have thousands. */
async function partsNamed(
  type: ResourceType,
  { metadata }: MachineObject,
  reader: Telling['reader'],
): Promise<readonly KubeObject[] | Unseen> {
  const { namespace = '', uid = '', labels = {} } = metadata
  const isOfLab = labels[LABELS.workspaceUid] !== undefined
  const labelSelector = isOfLab ? LABELS.vmUid : `${LABELS.vmUid}=${uid}`
  const found = await reader.list(type, { namespace, labelSelector })
  return isUnseen(found) ? found : found.filter((one) => one.metadata.labels?.[LABELS.vmUid] === uid)
}

/** Returns the disks that are not complete, each with its claim. */
async function diskLinks(machine: MachineObject, { reader }: Telling): Promise<readonly StoryLink[]> {
  const { namespace } = machine.metadata
  const [disks, claims] = await Promise.all([
    partsNamed(DATA_VOLUME, machine, reader),
    partsNamed(PERSISTENT_VOLUME_CLAIM, machine, reader),
  ])
  if (isUnseen(disks)) return [unseenLink({ kind: DATA_VOLUME.kind, namespace, name: 'of the machine' }, disks.unseen)]
  const open = disks.filter((disk) => (disk as OwnObject).status?.phase !== 'Succeeded')
  return open.map((disk) => {
    const link = neighbourLink(disk)
    if (link.isWell) return link
    const { name } = disk.metadata
    if (isUnseen(claims))
      return { ...link, because: [unseenLink({ kind: PERSISTENT_VOLUME_CLAIM.kind, namespace, name }, claims.unseen)] }
    const claim = claims.filter((one) => one.metadata.name === name).map((one) => neighbourLink(one))
    return { ...link, because: claim.filter(({ isWell }) => !isWell) }
  })
}

/** Returns what KubeVirt makes of the machine: its VirtualMachine, the instance of that, and its pod. */
async function guestLinks(machine: MachineObject, { reader }: Telling): Promise<readonly StoryLink[]> {
  const [machines, instances, pods] = await Promise.all(
    [KUBEVIRT_VIRTUAL_MACHINE, VIRTUAL_MACHINE_INSTANCE, POD].map((type) => partsNamed(type, machine, reader)),
  )
  const key = { namespace: machine.metadata.namespace, name: machine.metadata.name }
  return layer(
    KUBEVIRT_VIRTUAL_MACHINE,
    key,
    machines,
    layer(VIRTUAL_MACHINE_INSTANCE, key, instances, layer(POD, key, pods, [])),
  )
}

/** Returns the objects that are not well, each with what is behind it. What is well says nothing, and what is behind it may. */
function layer(
  { kind, group }: ResourceType,
  key: Pick<Subject, 'namespace' | 'name'>,
  found: readonly KubeObject[] | Unseen = [],
  because: readonly StoryLink[],
): readonly StoryLink[] {
  if (isUnseen(found)) return [unseenLink({ kind, group, ...key }, found.unseen), ...because]
  const links = found.map((one) => neighbourLink(one, because)).filter(({ isWell }) => !isWell)
  return links.length > 0 ? links : because
}
