import { LABELS, type VirtualMachineSpecInput } from '@open-terrain/constructs'
import { RUN_STRATEGIES, vmChildNames } from '@open-terrain/constructs/operator'
import { type KubeObject, keyOf, type ObjectKey, type ResourceType } from '../../../operator/kube/kube-object.ts'
import {
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  NAMESPACE,
  NETWORK_ATTACHMENT_DEFINITION,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  SECRET,
  VIRTUAL_MACHINE_INSTANCE,
} from '../../../operator/kube/resource-types.ts'
import type { Machine as KubeVirtMachine } from '../../../sandbox/simulators/kubevirt-models.ts'
import { restoreRequest } from '../../../sandbox/simulators/kubevirt-restores.ts'
import { MACHINE, type Machine } from '../../harness/kinds.ts'
import { isDeletion } from '../chronicle.ts'
import { pick } from '../data-syncs/vms.ts'
import type { People } from '../kind.ts'
import * as objects from '../objects.ts'
import { PASSWORD } from '../oracle/secrets.ts'
import { ASK_AGAIN_MS, find, leaveRefused } from '../people.ts'
import type { Action } from '../schedule.ts'
import type { World } from '../world.ts'
import type { MachineChild, MachinePlan, Namesake, NamesakeAction, PersonAction } from './machine-schedule.ts'
import { type Sources, TEAM } from './sources.ts'

/** The Secret that passwords of machines come from. */
const LOGIN = { namespace: TEAM, name: 'login' }
const NETWORKS = ['net-0', 'net-1', 'net-2']

const CHILD_TYPES: Readonly<Record<Exclude<MachineChild, 'Pod'>, ResourceType>> = {
  Secret: SECRET,
  VirtualMachine: KUBEVIRT_VIRTUAL_MACHINE,
  VirtualMachineInstance: VIRTUAL_MACHINE_INSTANCE,
  DataVolume: DATA_VOLUME,
}

/** A machine of the schedule. */
export interface Subject {
  readonly plan: MachinePlan
  readonly name: string
  /** As people currently want it, whether or not it exists. */
  spec: VirtualMachineSpecInput
  isWanted: boolean
}

/** What people do to machines, and to what belongs to them. */
export class MachinePeople implements People {
  readonly subjects: readonly Subject[]
  readonly #world: World
  readonly #sources: Sources
  #restores = 0
  readonly #inTheWay: { readonly type: ResourceType; readonly object: KubeObject }[] = []

  constructor(world: World, sources: Sources) {
    this.#world = world
    this.#sources = sources
    this.subjects = (world.schedule.machines ?? []).map((plan, number) => ({
      plan,
      name: `vm-${number}`,
      spec: this.#specOf(plan, number),
      isWanted: true,
    }))
  }

  /** Creates what they have in a namespace, also when it is created again. Images are created from templates. */
  furnishNamespace(name: string): void {
    if (name !== TEAM) return
    this.#restoreLogin()
    for (const network of NETWORKS) this.#admin.create(NETWORK_ATTACHMENT_DEFINITION, objects.network(TEAM, network))
    if (this.#world.time.elapsedMs > 0) for (const subject of this.subjects) this.#ensure(subject)
  }

  plan(): number {
    for (const subject of this.subjects)
      this.#world.time.schedule(subject.plan.createdAtMs, () => this.#ensure(subject))
    return Math.max(0, ...this.subjects.map(({ plan }) => plan.createdAtMs))
  }

  carryOut(action: Action): boolean {
    switch (action.do) {
      case 'toggleLogin':
        if (find(this.#world, SECRET, LOGIN) === undefined) this.#restoreLogin()
        else this.#delete(SECRET, LOGIN)
        return true
      case 'takeName':
        this.#takeName(action)
        return true
      case 'deleteMachine':
      case 'recreateMachine':
      case 'halt':
      case 'virtctl':
      case 'editMachine':
      case 'ignoreOnDeploy':
      case 'correctTemplate':
      case 'restore':
      case 'deleteMachineChild':
        this.#act(action, this.#subject(action.machine))
        return true
      default:
        return false
    }
  }

  /** Clears what keeps machines waiting: objects that have their names, and images that are being deleted but have users. */
  clearAway(): void {
    this.#restoreLogin()
    for (const { type, object } of this.#inTheWay.splice(0)) {
      const { uid = '' } = object.metadata
      leaveRefused(() => this.#admin.delete(type, object.metadata, { uid }))
    }
    const { images, traces } = this.#world.chronicle
    for (const image of images.values()) {
      // An image that is deleted with its namespace waits for nobody.
      if (!isDeletion(image) || traces.leavingNamespaces.has(image.metadata.namespace ?? '')) continue
      for (const subject of this.subjects) {
        const hasDisk = find(this.#world, DATA_VOLUME, keyOfChild(subject.name, 'DataVolume')) !== undefined
        const isItsImage = keyOf(subject.spec.vmDiskImageRef) === keyOf(image.metadata)
        if (subject.isWanted && hasDisk && isItsImage) this.#recreate(subject)
      }
    }
  }

  deleteAll(): void {
    for (const subject of this.subjects) this.#remove(subject)
  }

  nameOf(number: number): string {
    return this.#subject(number).name
  }

  get #admin() {
    return this.#world.cluster.admin
  }

  #act(action: PersonAction, subject: Subject): void {
    switch (action.do) {
      case 'deleteMachine':
        this.#remove(subject)
        return
      case 'recreateMachine':
        this.#recreate(subject)
        return
      case 'halt':
        leaveRefused(() => {
          this.#admin.mergePatch(KUBEVIRT_VIRTUAL_MACHINE, keyOfMachine(subject.name), {
            spec: { runStrategy: 'Halted' },
          })
        })
        return
      case 'virtctl':
        this.#startOrStop(subject)
        return
      case 'editMachine':
        this.#edit(subject, editOf(subject.spec, action))
        return
      case 'ignoreOnDeploy':
        this.#edit(subject, { ignoreOnDeploy: action.ignore })
        return
      case 'correctTemplate': {
        const { vmDiskImageTemplate: template } = subject.spec
        if (template !== undefined)
          this.#edit(subject, { vmDiskImageTemplate: { ...template, diskSize: action.diskSize } })
        return
      }
      case 'restore':
        this.#restore(subject, action.isInPlace)
        return
      case 'deleteMachineChild':
        this.#deleteChild(subject, action)
        return
    }
  }

  /** Creates it as soon as the previous object of the name is gone and its namespace exists. */
  #ensure(subject: Subject): void {
    const key = keyOfMachine(subject.name)
    const found = find<Machine>(this.#world, MACHINE, key)
    if (!subject.isWanted || (found !== undefined && !isDeletion(found))) return
    const namespace = find(this.#world, NAMESPACE, { name: TEAM })
    const canBeCreated = namespace !== undefined && !isDeletion(namespace)
    if (found === undefined && canBeCreated)
      this.#admin.create(MACHINE, objects.make(MACHINE, key, { spec: subject.spec }))
    else this.#world.time.schedule(ASK_AGAIN_MS, () => this.#ensure(subject))
  }

  #remove(subject: Subject): void {
    subject.isWanted = false
    this.#delete(MACHINE, keyOfMachine(subject.name))
  }

  #recreate(subject: Subject): void {
    this.#remove(subject)
    subject.isWanted = true
    this.#ensure(subject)
  }

  #edit(subject: Subject, change: Partial<VirtualMachineSpecInput>): void {
    subject.spec = { ...subject.spec, ...change }
    leaveRefused(() => {
      this.#admin.mergePatch(MACHINE, keyOfMachine(subject.name), { spec: change })
    })
  }

  /** Records the request in the status, as KubeVirt's API server does. */
  #startOrStop({ name }: Subject): void {
    const key = keyOfMachine(name)
    leaveRefused(() => {
      const machine = this.#admin.get<KubeVirtMachine>(KUBEVIRT_VIRTUAL_MACHINE, key)
      const { uid } = find(this.#world, VIRTUAL_MACHINE_INSTANCE, key)?.metadata ?? {}
      const request = uid === undefined ? { action: 'Start' } : { action: 'Stop', uid }
      const status = { ...machine.status, stateChangeRequests: [request] }
      this.#admin.replaceStatus(KUBEVIRT_VIRTUAL_MACHINE, { ...machine, status } as KubeObject)
    })
  }

  #restore({ name }: Subject, isInPlace: boolean): void {
    this.#restores += 1
    const patch = restoreRequest({ name: 'before', uid: String(this.#restores), isInPlace })
    leaveRefused(() => {
      this.#admin.mergePatch(KUBEVIRT_VIRTUAL_MACHINE, keyOfMachine(name), patch)
    })
  }

  #deleteChild(
    { name }: Subject,
    { kind, propagationPolicy }: Extract<PersonAction, { do: 'deleteMachineChild' }>,
  ): void {
    if (kind !== 'Pod') {
      this.#delete(CHILD_TYPES[kind], keyOfChild(name, kind), propagationPolicy)
      return
    }
    for (const { metadata } of this.#admin.list(POD, { namespace: TEAM }).items)
      if (metadata.name.startsWith(`virt-launcher-${name}-`)) this.#delete(POD, metadata, propagationPolicy)
  }

  #delete(type: ResourceType, key: ObjectKey, propagationPolicy: 'Background' | 'Foreground' = 'Background'): void {
    leaveRefused(() => this.#admin.delete(type, key, { propagationPolicy }))
  }

  /** Creates an object that looks like the operator's, except for the owner. */
  #takeName({ machine, kind }: NamesakeAction): void {
    const { name } = this.#subject(machine)
    const type = kind === 'PersistentVolumeClaim' ? PERSISTENT_VOLUME_CLAIM : CHILD_TYPES[kind]
    const uid = find(this.#world, MACHINE, keyOfMachine(name))?.metadata.uid
    const isMarked = kind !== 'PersistentVolumeClaim' && uid !== undefined
    leaveRefused(() => {
      const metadata = { ...keyOfChild(name, kind), ...(isMarked && { labels: { [LABELS.vmUid]: uid } }) }
      const object = this.#admin.create(type, objects.make(type, metadata, FOREIGN[kind]))
      this.#inTheWay.push({ type, object })
    })
  }

  #restoreLogin(): void {
    const data = { password: encoded(PASSWORD), setup: encoded(USER_DATA) }
    leaveRefused(() => {
      this.#admin.create(SECRET, objects.make(SECRET, LOGIN, { data }))
    })
  }

  #subject(number: number): Subject {
    return pick(this.subjects, number)
  }

  #specOf({ source, interfaces, hasSecret, ignoreOnDeploy }: MachinePlan, number: number): VirtualMachineSpecInput {
    const password = hasSecret
      ? { passwordSecretRef: { name: LOGIN.name, key: 'password' } }
      : { plain_text_passwd: PASSWORD }
    // Every other machine has user data too, from where its password is.
    const userData = hasSecret ? { userDataSecretRef: { name: LOGIN.name, key: 'setup' } } : { userData: USER_DATA }
    const { key, template } = this.#sources.of(source)
    return {
      name: `host-${number}`,
      users: [{ name: 'demo', lock_passwd: false, ...password }],
      ...(number % 2 === 1 && userData),
      resources: { cpu: '1', memory: '1Gi' },
      interfaces: interfacesOf(interfaces),
      vmDiskImageRef: key,
      ...(template !== undefined && { vmDiskImageTemplate: template }),
      ignoreOnDeploy,
    }
  }
}

const encoded = (text: string) => Buffer.from(text).toString('base64')
const USER_DATA = `#cloud-config\nhostname: other\nruncmd: [[login, --password=${PASSWORD}]]\n`

const FOREIGN: Readonly<Record<Namesake, object>> = {
  Secret: {},
  VirtualMachine: { spec: { runStrategy: 'Halted', template: { spec: { domain: { memory: { guest: '1Gi' } } } } } },
  DataVolume: { spec: { source: { upload: {} }, storage: {} } },
  PersistentVolumeClaim: { spec: { resources: { requests: { storage: '1Gi' } }, storageClassName: 'other' } },
}

function keyOfMachine(name: string): Required<ObjectKey> {
  return { namespace: TEAM, name }
}

function keyOfChild(machine: string, kind: Exclude<MachineChild | Namesake, 'Pod'>): Required<ObjectKey> {
  const { cloudInit, clone, machine: name } = vmChildNames(machine)
  if (kind === 'Secret') return { namespace: TEAM, name: cloudInit }
  return { namespace: TEAM, name: kind === 'DataVolume' || kind === 'PersistentVolumeClaim' ? clone : name }
}

/** The order of the networks depends on their number: each must keep its address. */
function interfacesOf(count: number): { network: string; ipAddress: string }[] {
  const all = Array.from({ length: count }, (_, at) => ({ network: `net-${at}`, ipAddress: `10.10.${at}.10/24` }))
  return count % 2 === 0 ? all.reverse() : all
}

function editOf(
  { users = [], resources }: VirtualMachineSpecInput,
  { field, value }: Extract<PersonAction, { do: 'editMachine' }>,
): Partial<VirtualMachineSpecInput> {
  switch (field) {
    case 'cpu':
      return { resources: { ...resources, cpu: String(1 + value) } }
    case 'users':
      return { users: users.map((user) => ({ ...user, name: `user-${value}` })) }
    case 'hostname':
      return { name: `host-of-${value}` }
    case 'interfaces':
      return { interfaces: interfacesOf(value) }
    case 'runStrategy':
      return { runStrategy: RUN_STRATEGIES[value % RUN_STRATEGIES.length] }
  }
}
