import { LABELS } from '@open-terrain/constructs'
import {
  dataSync,
  virtualMachine,
  vmDiskImage,
  type WorkspaceStatus,
  workspace,
  workspaceSnapshot,
} from '@open-terrain/constructs/operator'
import { compareTexts } from '../../operator/base/messages.ts'
import { imagesNamedBy, viewMachine } from '../../operator/controllers/virtual-machine/caches.ts'
import { find } from '../../operator/kube/find.ts'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import { type KubeObject, objectKeyOf, type ResourceType } from '../../operator/kube/kube-object.ts'
import {
  DATA_VOLUME,
  DEPLOYMENT,
  JOB,
  KUBEVIRT_VIRTUAL_MACHINE,
  NAMESPACE,
  NETWORK_ATTACHMENT_DEFINITION,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  SECRET,
  SERVICE,
  VIRTUAL_MACHINE_INSTANCE,
  VIRTUAL_MACHINE_SNAPSHOT,
  VOLUME_SNAPSHOT,
} from '../../operator/kube/resource-types.ts'
import { CommandError } from '../exit-codes.ts'
import { objectStateOf } from '../live/object-state.ts'
import { eachOf } from '../outcomes.ts'
import { structuredText } from '../structured-text.ts'
import { isUnseen, Reader } from '../why/reader.ts'
import type { OwnObject } from '../why/story.ts'
import type { LabTree, TreeNode } from './tree-node.ts'
import { treeText } from './tree-text.ts'

export const TREE_FORMS = ['table', 'json', 'yaml', 'name'] as const
export type TreeForm = (typeof TREE_FORMS)[number]

/** Kinds that a lab is made of, in the order in which they are shown. Of Secrets, the content is not asked for. */
const PARTS: readonly ResourceType[] = [
  ...[virtualMachine, KUBEVIRT_VIRTUAL_MACHINE, VIRTUAL_MACHINE_INSTANCE, DATA_VOLUME, PERSISTENT_VOLUME_CLAIM],
  ...[DEPLOYMENT, POD, SERVICE, NETWORK_ATTACHMENT_DEFINITION, JOB, SECRET],
  ...[workspaceSnapshot, VIRTUAL_MACHINE_SNAPSHOT, VOLUME_SNAPSHOT, dataSync],
]

/** Returns the objects of a lab as a tree, as text for standard output. Throws CommandError and ApiError. */
export async function showTree(client: KubeClient, name: string, output: TreeForm): Promise<string> {
  const lab = await find<OwnObject & { readonly status?: WorkspaceStatus }>(client, workspace, { name })
  if (lab === undefined) throw new CommandError('notFound', `there is no Workspace ${name}: see kubectl get otws`)
  const tree = await labTree(new Reader(client), lab)
  if (output === 'table') return treeText(tree)
  if (output === 'name') return namesIn(tree.tree).join('')
  return structuredText(tree, output)
}

async function labTree(reader: Reader, lab: OwnObject & { readonly status?: WorkspaceStatus }): Promise<LabTree> {
  const namespace = lab.status?.namespace ?? lab.metadata.name
  const [own, ...lists] = await Promise.all([
    reader.get(NAMESPACE, { name: namespace }),
    ...PARTS.map((type) => reader.list(type, { namespace, ...(type === SECRET && { metadataOnly: true }) })),
  ])
  const unseen = [own, ...lists].flatMap((found, at) => {
    return isUnseen(found) ? [`${PARTS[at - 1]?.kind ?? NAMESPACE.kind}: ${found.unseen}`] : []
  })
  const found = lists.flatMap((list, at) => (isUnseen(list) ? [] : list.map((object) => typed(object, PARTS[at]))))
  const images = await imagesOf(reader, found)
  const grown = new Grower(lab, found, images)
  const children = [
    ...(own === undefined || isUnseen(own) ? [] : [nodeOf(typed(own, NAMESPACE), [])]),
    ...grown.below(lab),
  ]
  return { tree: nodeOf(lab, children), unseen: [...unseen, ...grown.unseen] }
}

/** Items of a list, and what has metadata alone, may lack their type. */
function typed(object: KubeObject, type: ResourceType | undefined): KubeObject {
  if (type === undefined) return object
  const apiVersion = type.group === '' ? type.version : `${type.group}/${type.version}`
  return { ...object, apiVersion, kind: type.kind }
}

type Images = ReadonlyMap<string, Awaited<ReturnType<Reader['get']>>>

/** Machines share images, and a lab has few: each is read once. */
async function imagesOf(reader: Reader, objects: readonly KubeObject[]): Promise<Images> {
  const keys = [...new Set(objects.filter(isMachine).flatMap(imageKeysOf))]
  const found = await eachOf(keys, async (key) => [key, await reader.get(vmDiskImage, objectKeyOf(key))] as const)
  return new Map(found)
}

function isMachine({ apiVersion, kind }: KubeObject): boolean {
  return kind === virtualMachine.kind && apiVersion === virtualMachine.apiVersion
}

function imageKeysOf(machine: KubeObject): readonly string[] {
  return imagesNamedBy(viewMachine(machine))
}

/** Hangs each object below its owner. One that says that it is of the lab, and has no owner here, hangs below the lab. */
class Grower {
  readonly #lab: KubeObject
  readonly #images: Images
  readonly #byOwner = new Map<string, KubeObject[]>()
  readonly #objects: readonly KubeObject[]
  readonly unseen: readonly string[]

  constructor(lab: KubeObject, objects: readonly KubeObject[], images: Images) {
    this.#lab = lab
    this.#objects = objects
    this.#images = images
    this.unseen = [...images].flatMap(([key, image]) =>
      isUnseen(image) ? [`VMDiskImage ${key}: ${image.unseen}`] : [],
    )
    const known = new Set([lab, ...objects].map(({ metadata }) => metadata.uid))
    for (const object of objects) {
      const owner = this.#ownerOf(object, known)
      if (owner === undefined) continue
      this.#byOwner.set(owner, [...(this.#byOwner.get(owner) ?? []), object])
    }
  }

  /** Returns what hangs below an object, each thing once: anybody may write owners in a circle. */
  below(object: KubeObject): readonly TreeNode[] {
    const { uid = '' } = object.metadata
    const children = this.#byOwner.get(uid) ?? []
    this.#byOwner.delete(uid)
    const images = isMachine(object) ? imageKeysOf(object).flatMap((key) => this.#image(key)) : []
    return [...images, ...this.#inOrder(children).map((child) => nodeOf(child, this.below(child)))]
  }

  #inOrder(children: readonly KubeObject[]): readonly KubeObject[] {
    const at = (object: KubeObject) => this.#objects.indexOf(object)
    return children.toSorted((one, other) =>
      one.kind === other.kind ? compareTexts(one.metadata.name, other.metadata.name) : at(one) - at(other),
    )
  }

  #image(key: string): readonly TreeNode[] {
    const image = this.#images.get(key)
    if (isUnseen(image)) return []
    const { kind, group } = vmDiskImage
    const missing = { kind, group, ...objectKeyOf(key), state: 'does not exist', isWell: false, children: [] }
    return [{ ...(image === undefined ? missing : nodeOf(image, [])), isReference: true }]
  }

  /** ReplicaSets are left out: a pod of theirs names its cluster. */
  #ownerOf(object: KubeObject, known: ReadonlySet<string | undefined>): string | undefined {
    const { ownerReferences = [], labels = {} } = object.metadata
    const owner = ownerReferences.find(({ uid }) => known.has(uid))
    if (owner !== undefined) return owner.uid
    const cluster = labels[LABELS.containerCluster]
    if (object.kind === POD.kind && cluster !== undefined) return this.#uidOf(DEPLOYMENT.kind, cluster)
    const isOfLab = labels[LABELS.workspaceUid] === this.#lab.metadata.uid
    return isOfLab || object.kind === workspaceSnapshot.kind || object.kind === dataSync.kind
      ? this.#lab.metadata.uid
      : undefined
  }

  #uidOf(kind: string, cluster: string): string | undefined {
    const found = this.#objects.find(
      ({ kind: other, metadata }) => other === kind && metadata.labels?.[LABELS.containerCluster] === cluster,
    )
    return found?.metadata.uid
  }
}

function nodeOf(object: KubeObject, children: readonly TreeNode[]): TreeNode {
  const { apiVersion, kind, metadata } = object
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
  const { namespace, name } = metadata
  return {
    kind,
    group,
    namespace,
    name,
    ...(group === vmDiskImage.group ? ownState(object) : objectStateOf(object)),
    children,
  }
}

function ownState(object: OwnObject) {
  const { phase = 'New', reason, message } = object.status ?? {}
  const isGoing = object.metadata.deletionTimestamp !== undefined
  const isWell = !isGoing && (phase === 'Ready' || phase === 'Succeeded')
  const words = [isGoing ? 'Terminating' : phase, reason === phase ? undefined : reason]
  return { state: words.filter((one) => one !== undefined).join(', '), isWell, message: isWell ? undefined : message }
}

function namesIn({ kind, group, name, children }: TreeNode): readonly string[] {
  const own = `${kind.toLowerCase()}${group === '' ? '' : `.${group}`}/${name}\n`
  return [...new Set([own, ...children.flatMap(namesIn)])]
}
