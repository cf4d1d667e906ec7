import { LABELS } from '@open-terrain/constructs'
import { OPERATOR_SELECTOR, RESOURCES } from '@open-terrain/constructs/operator'
import { messageOf } from '../../operator/base/messages.ts'
import { MACHINE_CHILDREN } from '../../operator/controllers/virtual-machine/decide/machine-plan.ts'
import { IMAGE_CHILDREN } from '../../operator/controllers/vm-disk-image/decide/image-plan.ts'
import { OWNED_TYPES } from '../../operator/controllers/workspace/decide/kinds.ts'
import { isApiError } from '../../operator/kube/api-error.ts'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import type { KubeObject, Raw, ResourceType } from '../../operator/kube/kube-object.ts'
import { type Listing, listPages } from '../../operator/kube/list-all.ts'
import {
  CONFIG_MAP,
  CUSTOM_RESOURCE_DEFINITION,
  DEPLOYMENT,
  EVENT,
  LEASE,
  NODE,
  POD,
  SECRET,
} from '../../operator/kube/resource-types.ts'
import { overriddenPaths, redactedObject, redactedText } from './redact.ts'

/** What a bundle is made from. */
export interface BundleSource {
  readonly client: KubeClient
  /** Returns the answer to a GET of a path of the API server. Undefined: only objects can be read. */
  readonly readPath: ((path: string) => Promise<string>) | undefined
  readonly operatorNamespace: string
}

/** The files of a bundle, and what could not be read for it. */
export interface CollectedFiles {
  /** By path. */
  readonly files: ReadonlyMap<string, string>
  readonly unread: readonly { readonly what: string; readonly why: string }[]
}

const CDI: ResourceType = {
  group: 'cdi.kubevirt.io',
  version: 'v1beta1',
  kind: 'CDI',
  plural: 'cdis',
  namespaced: false,
}
const KUBEVIRT: ResourceType = {
  group: 'kubevirt.io',
  version: 'v1',
  kind: 'KubeVirt',
  plural: 'kubevirts',
  namespaced: true,
}
/** Others may run in its namespace. */
const OF_OPERATOR = Object.entries(OPERATOR_SELECTOR)
  .map(([label, value]) => `${label}=${value}`)
  .join(',')

/** Lines of each log. */
const LOG_LINES = 5_000

/** Made by Kubernetes and KubeVirt from the template of another object. */
const MADE_FROM_TEMPLATES: ReadonlySet<string> = new Set(['Pod', 'VirtualMachineInstance'])
const TEMPLATE = 'template.'

/** Groups whose Events are about our objects, or about what they are made of. */
const TOLD_GROUPS = /^(pelotech\.ot|cdi\.kubevirt\.io|kubevirt\.io|snapshot\.)/

/** Reads what a bug report needs, with the rights of the caller, and without secrets. A Secret is never read. Throws an ApiError if there is no answer. */
export async function collectBundle(source: BundleSource): Promise<CollectedFiles> {
  const collector = new Collector(source)
  await collector.objects()
  await collector.cluster()
  await collector.events()
  await collector.logs()
  return collector
}

class Collector implements CollectedFiles {
  readonly files = new Map<string, string>()
  readonly unread: { readonly what: string; readonly why: string }[] = []
  readonly #source: BundleSource
  /** Ours as they are, which are not written anywhere. */
  #own: readonly KubeObject[] = []
  /** Paths of overrides in the pods and running machines of a namespace, which do not name them. */
  readonly #overridden = new Map<string, Set<string>>()

  constructor(source: BundleSource) {
    this.#source = source
  }

  async objects(): Promise<void> {
    for (const resource of RESOURCES) {
      const objects = await this.#list(`objects/${resource.plural}.json`, resource)
      this.#own = [...this.#own, ...objects]
    }
    const types = new Map(
      [...OWNED_TYPES, ...MACHINE_CHILDREN, ...IMAGE_CHILDREN].map(({ type }) => [
        `${type.group}/${type.plural}`,
        type,
      ]),
    )
    for (const resource of RESOURCES) types.delete(`${resource.group}/${resource.plural}`)
    // One of KubeVirt has the same plural, in another group. What names its overrides comes before what is made from it.
    const isMade = (type: ResourceType) => MADE_FROM_TEMPLATES.has(type.kind)
    const inOrder = [...types.values()].toSorted((one, other) => Number(isMade(one)) - Number(isMade(other)))
    for (const type of inOrder) {
      if (type.kind === SECRET.kind) continue
      const name = `children/${type.plural}${type.group === '' ? '' : `.${type.group}`}.json`
      const isOurs = ({ metadata: { labels = {} } }: KubeObject) =>
        Object.values(LABELS).some((label) => label !== LABELS.managedBy && labels[label] !== undefined)
      await this.#list(name, type, {}, isOurs)
    }
  }

  async cluster(): Promise<void> {
    const namespace = this.#source.operatorNamespace
    await this.#list('operator/configmaps.json', CONFIG_MAP, { namespace }, ({ metadata }) =>
      metadata.name.startsWith('sync-operator'),
    )
    await this.#list('operator/leases.json', LEASE, { namespace })
    await this.#list('operator/deployments.json', DEPLOYMENT, { namespace, labelSelector: OF_OPERATOR })
    await this.#list('cluster/cdi.json', CDI)
    await this.#list('cluster/kubevirt.json', KUBEVIRT)
    const isOurs = ({ metadata }: KubeObject) => metadata.name.endsWith('.pelotech.ot')
    const asVersion = ({ metadata, spec, status }: Raw) => ({
      name: metadata.name,
      versions: spec?.versions?.map(({ name }: Raw) => name),
      conditions: status?.conditions,
    })
    await this.#list('cluster/crds.json', CUSTOM_RESOURCE_DEFINITION, {}, isOurs, asVersion)
    const asNode = ({ metadata, status }: Raw) => ({
      name: metadata.name,
      nodeInfo: status?.nodeInfo,
      conditions: status?.conditions,
      allocatable: status?.allocatable,
    })
    await this.#list('cluster/nodes.json', NODE, {}, () => true, asNode)
    await this.#text('cluster/version.json', '/version')
  }

  async events(): Promise<void> {
    const byUid = new Map(this.#own.map((one) => [one.metadata.uid, one]))
    const labs = this.#own.filter(({ kind }) => kind === 'Workspace')
    const ofLabs = new Map(labs.map((lab) => [lab.metadata.name, [lab]]))
    for (const one of this.#own) ofLabs.get(one.metadata.namespace ?? '')?.push(one)
    const isTold = ({ metadata, involvedObject }: Raw) =>
      TOLD_GROUPS.test(involvedObject?.apiVersion ?? '') || ofLabs.has(metadata.namespace)
    const asEvent = ({
      metadata,
      involvedObject,
      type,
      reason,
      message,
      count,
      firstTimestamp,
      lastTimestamp,
      eventTime,
    }: Raw) => {
      const { kind, namespace, name } = involvedObject ?? {}
      const meant = byUid.get(involvedObject?.uid)
      const quoted = [...(meant === undefined ? [] : [meant]), ...(ofLabs.get(metadata.namespace) ?? [])]
      const told = redactedText(String(message ?? ''), quoted)
      return { kind, namespace, name, type, reason, message: told, count, firstTimestamp, lastTimestamp, eventTime }
    }
    await this.#list('events.json', EVENT, {}, isTold, asEvent)
  }

  async logs(): Promise<void> {
    const namespace = this.#source.operatorNamespace
    const pods = await this.#list('operator/pods.json', POD, { namespace, labelSelector: OF_OPERATOR })
    for (const { metadata } of pods) {
      const path = `/api/v1/namespaces/${namespace}/pods/${metadata.name}/log`
      await this.#text(`operator/logs/${metadata.name}.log`, `${path}?tailLines=${LOG_LINES}&timestamps=true`)
    }
  }

  /** Writes the objects of a kind to a file, and returns them as they are. */
  async #list(
    file: string,
    type: ResourceType,
    where: Pick<Listing<KubeObject>, 'namespace' | 'labelSelector'> = {},
    isKept: (object: KubeObject) => boolean = () => true,
    shown: (object: KubeObject) => object = (object) => this.#redacted(object),
  ): Promise<KubeObject[]> {
    const objects: KubeObject[] = []
    try {
      for await (const { items } of listPages(this.#source.client, type, { ...where, project: (one) => one }))
        objects.push(...items.filter(isKept))
    } catch (error) {
      // Where nothing answers, nothing else can be read either.
      if (!isApiError(error) || error.reason === 'NoAnswer') throw error
      this.unread.push({ what: file, why: error.message })
    }
    if (objects.length > 0)
      this.files.set(
        file,
        `${JSON.stringify(
          objects.map((one) => shown(one)),
          undefined,
          1,
        )}\n`,
      )
    return objects
  }

  #redacted(object: KubeObject): object {
    const { namespace = '' } = object.metadata
    const known = this.#overridden.get(namespace) ?? new Set()
    for (const path of overriddenPaths(object)) if (path.startsWith(TEMPLATE)) known.add(path.slice(TEMPLATE.length))
    this.#overridden.set(namespace, known)
    return redactedObject(
      object,
      this.#source.operatorNamespace,
      MADE_FROM_TEMPLATES.has(object.kind) ? [...known] : [],
    )
  }

  async #text(file: string, path: string): Promise<void> {
    const { readPath } = this.#source
    try {
      if (readPath === undefined) throw new Error('this client reads objects alone')
      const text = await readPath(path)
      // A log quotes what the operator has met.
      const lines = text.split('\n').map((line) => redactedText(line, []))
      this.files.set(file, lines.join('\n'))
    } catch (error) {
      this.unread.push({ what: file, why: redactedText(messageOf(error), []) })
    }
  }
}

/** Returns what a bundle says of itself. */
export function bundleManifest({ files, unread }: CollectedFiles, at: string): string {
  const contents = [...files].map(([path, text]) => ({ path, bytes: Buffer.byteLength(text) }))
  const notIn =
    'Secrets, user data, contents of files, values of environment variables and headers, words of commands, variables of plays, overrides, passwords, data of ConfigMaps other than those of the operator, and credentials and queries of URLs'
  return `${JSON.stringify({ createdAt: at, notIn, contents, unread }, undefined, 2)}\n`
}
