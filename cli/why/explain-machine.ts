import { LABELS } from '@open-terrain/constructs'
import type { VirtualMachineSpec, VirtualMachineStatus } from '@open-terrain/constructs/operator'
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
import { isUnseen } from './reader.ts'
import {
  conditionIn,
  neighbourLink,
  type OwnObject,
  ownLink,
  type StoryLink,
  type Telling,
  unseenLink,
} from './story.ts'

export interface MachineObject extends OwnObject {
  readonly spec?: Partial<VirtualMachineSpec>
  readonly status?: VirtualMachineStatus
}

/** Reasons of a machine that is not on its way to its disk, or to run: looking further shows nothing. */
const BY_SPEC: ReadonlySet<string | undefined> = new Set([
  ...['InvalidSpec', 'TooLarge', 'NetworkNotAllowed', 'OverrideNotAllowed', 'NameConflict', 'NamespaceTerminating'],
  ...['KubeVirtMissing', 'CDIMissing', 'KubeVirtNotResponding', 'CDINotResponding', 'Refused', 'InternalError'],
])
const SECRETS: ReadonlySet<string | undefined> = new Set(['MissingPasswordSecret', 'MissingUserDataSecret'])

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
  if (conditionIn(machine, 'ImageReady')?.status === 'False') return [await telling.image(imageKeyOf(machine))]
  const disk = await diskLinks(machine, telling)
  return disk.length > 0 ? disk : await guestLinks(machine, telling)
}

/** Returns the image of the root disk, as the status has it, or the spec. */
export function imageKeyOf({ metadata, spec, status }: MachineObject) {
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

/** Returns the disks that are not complete, each with its claim. */
async function diskLinks({ metadata }: MachineObject, { reader }: Telling): Promise<readonly StoryLink[]> {
  const { namespace = '', uid } = metadata
  const labelSelector = `${LABELS.vmUid}=${uid}`
  const [disks, claims] = await Promise.all([
    reader.list(DATA_VOLUME, { namespace, labelSelector }),
    reader.list(PERSISTENT_VOLUME_CLAIM, { namespace, labelSelector }),
  ])
  if (isUnseen(disks)) return [unseenLink({ kind: DATA_VOLUME.kind, namespace, name: 'of the machine' }, disks.unseen)]
  const open = disks.filter((disk) => (disk as OwnObject).status?.phase !== 'Succeeded')
  return open.map((disk) => {
    const link = neighbourLink(disk)
    const claim = isUnseen(claims) ? undefined : claims.find((one) => one.metadata.name === disk.metadata.name)
    return {
      ...link,
      because: link.isWell || claim === undefined ? [] : [neighbourLink(claim)].filter(({ isWell }) => !isWell),
    }
  })
}

/** Returns what KubeVirt makes of the machine: its VirtualMachine, the instance of that, and its pod. */
async function guestLinks({ metadata }: MachineObject, { reader }: Telling): Promise<readonly StoryLink[]> {
  const { namespace = '', name, uid } = metadata
  const [machine, instance, pods] = await Promise.all([
    reader.get(KUBEVIRT_VIRTUAL_MACHINE, { namespace, name }),
    reader.get(VIRTUAL_MACHINE_INSTANCE, { namespace, name }),
    reader.list(POD, { namespace, labelSelector: `${LABELS.vmUid}=${uid}` }),
  ])
  const podLinks = isUnseen(pods)
    ? [unseenLink({ kind: POD.kind, namespace, name: 'of the machine' }, pods.unseen)]
    : pods.map((pod) => neighbourLink(pod)).filter(({ isWell }) => !isWell)
  const instances = partLink(VIRTUAL_MACHINE_INSTANCE, { namespace, name }, instance, podLinks)
  return partLink(KUBEVIRT_VIRTUAL_MACHINE, { namespace, name }, machine, instances.length > 0 ? instances : podLinks)
}

/** A part that is well and has nothing behind it says nothing. */
function partLink(
  type: ResourceType,
  key: { readonly namespace: string; readonly name: string },
  found: KubeObject | { readonly unseen: string } | undefined,
  because: readonly StoryLink[],
): readonly StoryLink[] {
  if (found === undefined) return because
  if (isUnseen(found)) return [unseenLink({ kind: type.kind, group: type.group, ...key }, found.unseen), ...because]
  const link = neighbourLink(found, because)
  if (!link.isWell) return [link]
  return because
}
