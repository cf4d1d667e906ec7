import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { SHARED_LABEL, vmChildNames } from '@open-terrain/constructs/operator'
import { toTime } from '../../../operator/base/time.ts'
import { isApiError } from '../../../operator/kube/api-error.ts'
import { controllerOf } from '../../../operator/kube/controller-of.ts'
import {
  apiVersionOf,
  type KubeObject,
  keyOf,
  type ObjectKey,
  type ResourceType,
} from '../../../operator/kube/kube-object.ts'
import {
  CONFIG_MAP,
  DEPLOYMENT,
  JOB,
  KUBEVIRT_VIRTUAL_MACHINE,
  NAMESPACE,
  NETWORK_ATTACHMENT_DEFINITION,
  NETWORK_POLICY,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  RESOURCE_QUOTA,
  SECRET,
  VIRTUAL_MACHINE_INSTANCE,
} from '../../../operator/kube/resource-types.ts'
import { hasFinished, type Job } from '../../../sandbox/memory-cluster/job-objects.ts'
import { restoreRequest } from '../../../sandbox/simulators/kubevirt-restores.ts'
import { IMAGE, type Image, MACHINE, type Machine, WORKSPACE, type Workspace } from '../../harness/kinds.ts'
import { isDeletion } from '../chronicle.ts'
import { pick } from '../data-syncs/vms.ts'
import type { People } from '../kind.ts'
import * as objects from '../objects.ts'
import { CANARY, PASSWORD as SHARED } from '../oracle/secrets.ts'
import { ASK_AGAIN_MS, find, leaveRefused } from '../people.ts'
import type { Action } from '../schedule.ts'
import type { World } from '../world.ts'
import { INIT, INIT_DATA, type Words } from './lab-words.ts'
import { COPY, FARM, imageOf, KEY, type Lab, labOf, PASSWORD, sourceOf, specOf } from './labs.ts'
import type { ClusterOfPlan, Part, PlayHarm, VmOfPlan, WordOf, WorkspaceAction } from './workspace-schedule.ts'

const PART_TYPES: Readonly<Record<Part, ResourceType>> = {
  Namespace: NAMESPACE,
  NetworkPolicy: NETWORK_POLICY,
  NetworkAttachmentDefinition: NETWORK_ATTACHMENT_DEFINITION,
  PersistentVolumeClaim: PERSISTENT_VOLUME_CLAIM,
  ConfigMap: CONFIG_MAP,
  Deployment: DEPLOYMENT,
  VirtualMachine: MACHINE,
  Secret: SECRET,
}

/** What somebody writes into a part in place of its content. */
const SPOILS: Readonly<Record<Part, object>> = {
  Namespace: { metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } } },
  NetworkPolicy: { spec: { podSelector: { matchLabels: { nobody: 'here' } } } },
  NetworkAttachmentDefinition: { spec: { config: '{"cniVersion":"0.3.1","type":"loopback"}' } },
  PersistentVolumeClaim: { metadata: { labels: { [LABELS.managedBy]: 'somebody' } } },
  ConfigMap: { data: { 'inventory.yaml': 'nobody' } },
  Deployment: { spec: { replicas: 0 } },
  VirtualMachine: { spec: { resources: { cpu: '2' } } },
  Secret: { data: { [PASSWORD.key]: null } },
}

/** What somebody writes into a part of a lab that is off, to have it on. */
const SWITCHED_ON: Readonly<Partial<Record<Part, object>>> = {
  Deployment: { spec: { replicas: 1 } },
  VirtualMachine: { spec: { powerState: null } },
}

/** Names that people take where a workspace needs parts of that kind. */
const TAKEN: Readonly<Record<Exclude<Part, 'Namespace' | 'NetworkPolicy'>, readonly string[]>> = {
  NetworkAttachmentDefinition: ['control', 'edge'],
  PersistentVolumeClaim: ['data'],
  ConfigMap: ['ansible'],
  Deployment: ['dns', 'web-front', 'ansible'],
  VirtualMachine: ['router', 'web', 'host'],
  Secret: [PASSWORD.name, COPY],
}

/** When people try to create the key of a lab, after the lab: it needs its namespace. */
const KEY_AFTER_MS = [2_000, 20_000, 90_000]

/** Carried out by others. */
const FAULTS: ReadonlySet<string> = new Set<WorkspaceAction['do']>(['podFault', 'labGuestFault', 'playFault'])

const MADE_AGAIN: ReadonlySet<string> = new Set(['VolumeLost', 'DiskLost'])

/** An end that no schedule reaches. */
const NEVER = '2099-01-01T00:00:00Z'
const NAMESAKE = { metadata: { labels: { owner: 'somebody' } } }

/** What people do to workspaces and to their parts. */
export class WorkspacePeople implements People {
  readonly labs: readonly Lab[]
  /** Objects that somebody created where a workspace needs one of its own. */
  readonly #namesakes: { readonly type: ResourceType; readonly key: ObjectKey }[] = []
  readonly #world: World
  #rotations = 0
  #restores = 0
  #asked = 0

  constructor(world: World) {
    this.#world = world
    this.labs = (world.schedule.workspaces ?? []).map(labOf)
  }

  plan(): number {
    const times = (this.#world.schedule.workspaces ?? []).map(({ createdAtMs }) => createdAtMs)
    for (const [number, atMs] of times.entries())
      this.#world.time.schedule(atMs, () => this.#ensure(pick(this.labs, number)))
    return Math.max(0, ...times)
  }

  carryOut(action: Action): boolean {
    if (!('workspace' in action) || FAULTS.has(action.do)) return false
    this.#act(action, pick(this.labs, action.workspace))
    return true
  }

  /** Creates the Secrets that labs have copies of. */
  furnish(): void {
    this.#world.cluster.admin.create(NAMESPACE, objects.namespace(objects.SHARED_NAMESPACE))
    for (const lab of this.labs) this.#share(lab)
  }

  /** Deletes somebody's objects that are in the way, and what keeps a deleted claim or image from going. Creates workspaces that are missing, and asks for what is lost. */
  clearAway(): void {
    for (const { type, key } of this.#namesakes.splice(0)) {
      const found = find(this.#world, type, key)
      if (found !== undefined && controllerOf(found) === undefined)
        leaveRefused(() => this.#world.cluster.admin.delete(type, key))
    }
    for (const lab of this.labs) {
      this.#share(lab)
      this.#keep(lab)
      if (lab.isWanted) this.#ensure(lab)
      this.#ensureSecrets(lab)
      this.#freeClaims(lab)
      this.#freeImages(lab)
      this.#answer(lab)
    }
  }

  deleteAll(): void {
    for (const lab of this.labs) this.#delete(lab)
  }

  #act(action: WorkspaceAction, lab: Lab): void {
    switch (action.do) {
      case 'deleteWorkspace':
        this.#delete(lab)
        return
      case 'recreateWorkspace':
        this.#delete(lab)
        lab.isWanted = true
        this.#ensure(lab)
        return
      case 'deletePart':
      case 'spoilPart':
      case 'unlabelPart':
        this.#harm(action.do, lab, action.kind, action.number)
        return
      case 'takePartName':
        this.#take(lab, action.kind, action.number)
        return
      case 'deleteWorkspaceImage': {
        if (lab.vms.length === 0) return
        const { name } = imageOf(pick(lab.vms, action.vm).image, this.#world.schedule)
        leaveRefused(() => this.#world.cluster.admin.delete(IMAGE, { namespace: FARM, name }))
        return
      }
      case 'spoilCopy':
        leaveRefused(() => {
          const data = { [PASSWORD.key]: 'c29tZWJvZHlz', theirs: 'dGhlaXJz' }
          this.#world.cluster.admin.mergePatch(SECRET, { namespace: lab.name, name: COPY }, { data })
        })
        return
      case 'rotateLogin':
      case 'withdrawLogin':
      case 'deleteLogin':
        this.#changeSource(action, lab)
        return
      case 'crampWorkspace':
        this.#cramp(lab, action.forMs)
        return
      case 'fillWorkspace':
        this.#fill(lab, action.forMs)
        return
      case 'giveUpDisks':
        this.#giveUp(lab)
        return
      case 'restartVm':
      case 'harmPlay':
        this.#interfere(action, lab)
        return
      case 'restoreVm':
        this.#restore(action, lab)
        return
      case 'resetVm':
      case 'rebuildVm':
        this.#askAlone(action, lab)
        return
      default:
        this.#edit(action, lab)
        this.#rewrite(lab)
    }
  }

  #edit(action: WorkspaceAction, lab: Lab): void {
    switch (action.do) {
      case 'spoilWorkspace':
        lab.isSpoiled = !lab.isSpoiled
        return
      case 'switchLab':
        lab.isOff = !lab.isOff
        return
      case 'endLab':
        lab.end = this.#endOf(action)
        return
      case 'toggleVm':
        lab.vms = toggled(lab.vms, action.vm, ({ vm }: VmOfPlan) => vm)
        return
      case 'toggleCluster':
        lab.clusters = toggled(lab.clusters, action.cluster, ({ cluster }: ClusterOfPlan) => cluster)
        return
      case 'toggleNetwork':
        lab.networks = flipped(lab.networks, action.number % 3)
        return
      case 'toggleVolume':
        lab.volumes = flipped(lab.volumes, action.number % 2)
        return
      case 'ignoreVm':
        lab.vms = lab.vms.map((one, at) => (at === action.number ? { ...one, isIgnored: !one.isIgnored } : one))
        return
      case 'ignoreCluster':
        lab.clusters = lab.clusters.map((one, at) =>
          at === action.number ? { ...one, isIgnored: !one.isIgnored } : one,
        )
        return
      case 'togglePlayImage':
        lab.plays = lab.plays && { ...lab.plays, hasImage: !lab.plays.hasImage }
        return
      case 'askForPlays':
        lab.requests.plays += 1
        return
      case 'rebuildLab':
        lab.requests.disks += 1
        return
      case 'resetLab':
        lab.requests.resets += 1
        return
      case 'changeVmImage':
        lab.vms = lab.vms.map((one, at) =>
          at === action.number % lab.vms.length ? { ...one, image: action.image } : one,
        )
        return
      case 'toggleWord':
        lab.words = withToggled(lab.words, action.number, action.word)
        return
      case 'renewCluster':
        lab.renewals.set(action.number, (lab.renewals.get(action.number) ?? 0) + 1)
        return
      default:
    }
  }

  #endOf({ afterMs, onExpiry }: Extract<WorkspaceAction, { readonly do: 'endLab' }>): Lab['end'] {
    const { epochMs, elapsedMs } = this.#world.time
    const expiresAt = afterMs === undefined ? undefined : toTime(epochMs + elapsedMs + afterMs)
    return { ...(expiresAt !== undefined && { expiresAt }), ...(onExpiry !== undefined && { onExpiry }) }
  }

  /** Creates it as soon as the previous object of the name is gone. */
  #ensure(lab: Lab): void {
    if (!lab.isWanted) return
    const { cluster, time, schedule } = this.#world
    const found = find(this.#world, WORKSPACE, { name: lab.name })
    if (found === undefined) {
      cluster.admin.create(WORKSPACE, objects.make(WORKSPACE, { name: lab.name }, { spec: specOf(lab, schedule) }))
      for (const afterMs of KEY_AFTER_MS) time.schedule(afterMs, () => this.#ensureSecrets(lab))
    } else if (isDeletion(found)) time.schedule(ASK_AGAIN_MS, () => this.#ensure(lab))
  }

  /** Takes back what lets a lab end: at rest, all are there. One that the policy has switched off starts with an end of its own. */
  #keep(lab: Lab): void {
    const { expiry } = find<Workspace>(this.#world, WORKSPACE, { name: lab.name })?.status ?? {}
    const isOffByPolicy = expiry?.source === 'policy' && expiry.ended === true
    if (lab.end === undefined && !isOffByPolicy) return
    lab.end = isOffByPolicy ? { expiresAt: NEVER } : undefined
    this.#rewrite(lab)
  }

  #rewrite(lab: Lab): void {
    const found = find(this.#world, WORKSPACE, { name: lab.name })
    const spec = specOf(lab, this.#world.schedule)
    if (found === undefined) return
    const annotations = { ...found.metadata.annotations, ...requestsOf(lab) }
    const metadata = { ...found.metadata, annotations }
    this.#world.cluster.admin.replace(WORKSPACE, { ...found, metadata, spec } as KubeObject)
    this.#ensureSecrets(lab)
  }

  /** Creates what the lab takes from Secrets and ConfigMaps of people, once there is its namespace. */
  #ensureSecrets(lab: Lab): void {
    const { name: namespace } = lab
    const encoded = Object.entries(INIT_DATA).map(([key, text]) => [key, Buffer.from(text).toString('base64')])
    const made = [
      [SECRET, Object.fromEntries(encoded)],
      [CONFIG_MAP, { [INIT.answers]: '<unattend/>' }],
    ] as const
    for (const [type, data] of made)
      leaveRefused(() => {
        this.#world.cluster.admin.create(type, objects.make(type, { namespace, name: INIT.name }, { data }))
      })
    this.#ensureKey(lab)
  }

  #ensureKey({ name: namespace, plays }: Lab): void {
    if (plays?.hasKey !== true) return
    const data = { [KEY.key]: Buffer.from(`${CANARY} of ${namespace}`).toString('base64') }
    leaveRefused(() => {
      this.#world.cluster.admin.create(SECRET, objects.make(SECRET, { namespace, name: KEY.name }, { data }))
    })
  }

  #interfere(action: WorkspaceAction & { readonly do: 'restartVm' | 'harmPlay' }, { name: namespace }: Lab): void {
    const { admin } = this.#world.cluster
    const type = action.do === 'restartVm' ? VIRTUAL_MACHINE_INSTANCE : JOB
    leaveRefused(() => {
      const all = admin.list(type, { namespace }).items
      // People interfere with what goes on.
      const open = all.filter((one) => !(action.do === 'harmPlay' && hasFinished(one as Job)))
      const found = open.length > 0 ? open : all
      if (found.length === 0) return
      const { metadata } = pick(found, action.number)
      if (action.do === 'restartVm') admin.delete(type, metadata)
      else this.#harmPlay(action.what, metadata)
    })
  }

  /** There is a snapshot only of a machine that has run. */
  #restore({ number, isInPlace }: WorkspaceAction & { readonly do: 'restoreVm' }, { name: namespace }: Lab): void {
    const { admin } = this.#world.cluster
    leaveRefused(() => {
      const all = admin.list(MACHINE, { namespace }).items as readonly Machine[]
      const booted = all.filter(({ status }) => status?.bootedAt !== undefined)
      if (booted.length === 0) return
      this.#restores += 1
      const patch = restoreRequest({ name: 'before', uid: String(this.#restores), isInPlace })
      const { name } = pick(booted, number).metadata
      admin.mergePatch(KUBEVIRT_VIRTUAL_MACHINE, { namespace, name: vmChildNames(name).machine }, patch)
    })
  }

  /** Asks for one machine. It may have a request of its lab, which may count or not. */
  #askAlone({ do: what, number }: WorkspaceAction & { readonly do: 'resetVm' | 'rebuildVm' }, lab: Lab): void {
    const { admin } = this.#world.cluster
    const annotation = what === 'resetVm' ? ANNOTATIONS.resetRequestedAt : ANNOTATIONS.rebuildRequestedAt
    leaveRefused(() => {
      const machines = admin.list(MACHINE, { namespace: lab.name }).items
      if (machines.length === 0) return
      this.#asked += 1
      const annotations = { [annotation]: `alone-${this.#asked}` }
      admin.mergePatch(MACHINE, pick(machines, number).metadata, { metadata: { annotations } })
    })
  }

  #harmPlay(what: PlayHarm, { namespace = '', name }: KubeObject['metadata']): void {
    const { admin } = this.#world.cluster
    if (what === 'suspendJob') admin.mergePatch(JOB, { namespace, name }, { spec: { suspend: true } })
    else if (what === 'deleteJob') admin.delete(JOB, { namespace, name }, { propagationPolicy: 'Background' })
    else if (what === 'deleteJobAlone') admin.delete(JOB, { namespace, name })
    else
      for (const { metadata } of admin.list(POD, { namespace, labelSelector: `${LABELS.play}=${name}` }).items)
        leaveRefused(() => admin.delete(POD, metadata))
  }

  #delete(lab: Lab): void {
    lab.isWanted = false
    leaveRefused(() => this.#world.cluster.admin.delete(WORKSPACE, { name: lab.name }))
  }

  #partsOf({ name }: Lab, kind: Part): readonly KubeObject[] {
    const type = PART_TYPES[kind]
    const { admin } = this.#world.cluster
    if (kind === 'Namespace') return [find(this.#world, type, { name })].filter((one) => one !== undefined)
    try {
      return admin.list(type, { namespace: name, labelSelector: LABELS.workspaceUid }).items
    } catch (error) {
      if (!isApiError(error)) throw error
      // The kind is not served at the moment.
      return []
    }
  }

  #harm(what: 'deletePart' | 'spoilPart' | 'unlabelPart', lab: Lab, kind: Part, number: number): void {
    const parts = this.#partsOf(lab, kind)
    if (parts.length === 0) return
    const { metadata } = pick(parts, number)
    const { admin } = this.#world.cluster
    const type = PART_TYPES[kind]
    leaveRefused(() => {
      if (what === 'deletePart') admin.delete(type, metadata)
      else if (what === 'spoilPart') admin.mergePatch(type, metadata, (lab.isOff && SWITCHED_ON[kind]) || SPOILS[kind])
      else admin.mergePatch(type, metadata, { metadata: { labels: { [LABELS.workspaceUid]: null } } })
    })
  }

  /** A deleted claim stays as long as a pod runs from it: the pods are deleted. */
  #freeClaims({ name: namespace }: Lab): void {
    const { admin } = this.#world.cluster
    const leaving = admin.list(PERSISTENT_VOLUME_CLAIM, { namespace }).items.filter(isDeletion)
    if (leaving.length === 0) return
    for (const { metadata } of admin.list(POD, { namespace, labelSelector: LABELS.containerCluster }).items)
      leaveRefused(() => admin.delete(POD, metadata))
  }

  /** Asks for the lost parts of a workspace to be made again. A machine that is there and has lost its disk waits on. */
  #answer(lab: Lab): void {
    const found = find<Workspace>(this.#world, WORKSPACE, { name: lab.name })
    const isLost = found?.status?.components?.some(
      ({ reason, message = '' }) => MADE_AGAIN.has(reason) && message.includes('it is not made again by itself'),
    )
    if (found === undefined || isLost !== true || isDeletion(found)) return
    lab.requests.disks += 1
    const annotations = requestsOf(lab)
    leaveRefused(() =>
      this.#world.cluster.admin.mergePatch(WORKSPACE, { name: lab.name }, { metadata: { annotations } }),
    )
  }

  /** A deleted image stays as long as a machine has a disk of it, also one that its spec no longer names: the machines that the image tells of are recreated. */
  #freeImages({ name: namespace }: Lab): void {
    const { admin } = this.#world.cluster
    const leaving = (admin.list(IMAGE, { namespace: FARM }).items as readonly Image[]).filter(isDeletion)
    if (leaving.length === 0) return
    for (const { metadata, spec } of admin.list(MACHINE, { namespace }).items as readonly Machine[]) {
      const title = new RegExp(`${MACHINE.kind}/${keyOf(metadata)}\\b`)
      const hasDisk = leaving.some(
        (image) => spec.vmDiskImageRef.name === image.metadata.name || title.test(image.status?.message ?? ''),
      )
      if (hasDisk) leaveRefused(() => admin.delete(MACHINE, metadata))
    }
  }

  /** Takes a name if it is free. The namespace of the workspace must exist, unless its name is the one to take. */
  #take({ name: namespace }: Lab, kind: Part, number: number): void {
    if (kind === 'NetworkPolicy') return
    const type = PART_TYPES[kind]
    const name =
      kind === 'ConfigMap' ? `${namespace}-ansible` : kind === 'Namespace' ? namespace : pick(TAKEN[kind], number)
    const key = type.namespaced ? { namespace, name } : { name }
    leaveRefused(() => {
      this.#world.cluster.admin.create(type, namesakeOf(type, key))
      this.#namesakes.push({ type, key })
    })
  }

  /** The Secret that a lab has a copy of is there, and shared. */
  #share(lab: Lab): void {
    const { admin } = this.#world.cluster
    const labels = { [SHARED_LABEL]: 'true' }
    const found = find(this.#world, SECRET, sourceOf(lab))
    if (found === undefined)
      admin.create(SECRET, objects.make(SECRET, { ...sourceOf(lab), labels }, { type: 'Opaque', data: this.#login() }))
    else if (found.metadata.labels?.[SHARED_LABEL] !== 'true')
      admin.mergePatch(SECRET, sourceOf(lab), { metadata: { labels } })
  }

  #login(): Readonly<Record<string, string>> {
    this.#rotations += 1
    const value = Buffer.from(`${SHARED}-${this.#rotations}`).toString('base64')
    return { [PASSWORD.key]: value, [`key-${this.#rotations}`]: value }
  }

  #changeSource(action: Extract<WorkspaceAction, { do: `${string}Login` }>, lab: Lab): void {
    const { admin } = this.#world.cluster
    const source = sourceOf(lab)
    const found = find<KubeObject & { readonly data?: object }>(this.#world, SECRET, source)
    if (found === undefined) return
    if (action.do === 'rotateLogin') {
      const gone = Object.keys(found.data ?? {}).map((key) => [key, null] as const)
      admin.mergePatch(SECRET, source, { data: { ...Object.fromEntries(gone), ...this.#login() } })
      return
    }
    if (action.do === 'deleteLogin') admin.delete(SECRET, source)
    else admin.mergePatch(SECRET, source, { metadata: { labels: { [SHARED_LABEL]: null } } })
    this.#world.trouble.later(action.forMs, () => this.#share(lab))
  }

  #cramp(lab: Lab, forMs: number): void {
    this.#limit(lab, 'cramped', { pods: '0', persistentvolumeclaims: '0' }, forMs)
  }

  #fill(lab: Lab, forMs: number): void {
    leaveRefused(() => {
      const { items } = this.#world.cluster.admin.list(PERSISTENT_VOLUME_CLAIM, { namespace: lab.name })
      this.#limit(lab, 'full', { persistentvolumeclaims: String(items.length) }, forMs)
    })
  }

  #giveUp({ name: namespace }: Lab): void {
    const { admin } = this.#world.cluster
    leaveRefused(() => {
      for (const machine of admin.list(MACHINE, { namespace }).items as readonly Machine[]) {
        const { message = '' } = machine.status?.conditions?.find(({ type }) => type === 'Replacing') ?? {}
        const [, word] = new RegExp(`${ANNOTATIONS.deleteDiskFirst}=([0-9a-f]+)$`).exec(message) ?? []
        const annotations = { [ANNOTATIONS.deleteDiskFirst]: word }
        if (word !== undefined) admin.mergePatch(MACHINE, machine.metadata, { metadata: { annotations } })
      }
    })
  }

  #limit({ name: namespace }: Lab, name: string, hard: Readonly<Record<string, string>>, forMs: number): void {
    const { admin } = this.#world.cluster
    const quota = objects.make(RESOURCE_QUOTA, { namespace, name }, { spec: { hard } })
    leaveRefused(() => admin.create(RESOURCE_QUOTA, quota))
    this.#world.trouble.later(forMs, () => leaveRefused(() => admin.delete(RESOURCE_QUOTA, quota.metadata)))
  }
}

function requestsOf({ requests: { plays, disks, resets } }: Lab): Readonly<Record<string, string>> {
  return {
    ...(plays > 0 && { [ANNOTATIONS.playRequestedAt]: `${plays}` }),
    ...(disks > 0 && { [ANNOTATIONS.rebuildRequestedAt]: `${disks}` }),
    ...(resets > 0 && { [ANNOTATIONS.resetRequestedAt]: `${resets}` }),
  }
}

function toggled<T>(all: readonly T[], one: T, idOf: (one: T) => number): readonly T[] {
  const others = all.filter((other) => idOf(other) !== idOf(one))
  return others.length < all.length ? others : [...all, one]
}

/** The others keep their words. Says the word if it is not said, and takes it back otherwise. */
function withToggled(words: Words, number: number, { of, say }: WordOf): Words {
  const other = (all: readonly string[]) => (all.includes(say) ? all.filter((one) => one !== say) : [...all, say])
  if (of === 'lab') return { ...words, lab: other(words.lab) } as Words
  const lists = [0, 1, 2].map((at) => words[of][at] ?? [])
  return { ...words, [of]: lists.map((all, at) => (at === number ? other(all) : all)) }
}

function flipped(numbers: ReadonlySet<number>, one: number): ReadonlySet<number> {
  const others = [...numbers].filter((other) => other !== one)
  return new Set(others.length < numbers.size ? others : [...others, one])
}

function namesakeOf(type: ResourceType, key: ObjectKey): KubeObject {
  const labels = { app: 'somebodys' }
  const spec =
    type === DEPLOYMENT
      ? { replicas: 0, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [] } } }
      : type === MACHINE
        ? { ignoreOnDeploy: true, resources: { cpu: '1', memory: '1Gi' }, vmDiskImageRef: { name: 'nobodys' } }
        : {}
  return {
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    ...NAMESAKE,
    metadata: { ...NAMESAKE.metadata, ...key },
    spec,
  } as KubeObject
}
