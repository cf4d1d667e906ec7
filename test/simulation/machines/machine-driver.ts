import { LABELS, RUN_STRATEGIES, type VirtualMachineSpecInput, vmChildNames } from '@open-terrain/constructs'
import type { KubeObject, ObjectKey, ResourceType } from '../../../operator/kube/kube-object.ts'
import {
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  SECRET,
  VIRTUAL_MACHINE_INSTANCE,
} from '../../../operator/kube/resource-types.ts'
import { IMAGE } from '../../../sandbox/memory-cluster/index.ts'
import type { MachineFault } from '../../../sandbox/simulators/index.ts'
import type { Machine as KubeVirtMachine } from '../../../sandbox/simulators/kubevirt-models.ts'
import { ASK_AGAIN_MS, leaveRefused } from '../people.ts'
import { Trouble } from '../trouble.ts'
import type { MachinePolicy } from './machine-policy.ts'
import type {
  GuestAction,
  GuestFault,
  MachineAction,
  MachineChild,
  MachinePlan,
  MachineSchedule,
  Namesake,
  NamesakeAction,
  PersonAction,
} from './machine-schedule.ts'
import { MachineSurroundings } from './machine-surroundings.ts'
import { FARM, MACHINE, type Machine, type MachineWorld, PASSWORD, TEAM, TEMPLATE } from './machine-world.ts'

/** That passwords of machines come from. */
export const LOGIN = 'login'

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
  /** As people want it by now, whether or not it exists. */
  spec: VirtualMachineSpecInput
  isWanted: boolean
}

/** Carries out what a schedule says that people, guests, networks and processes do. */
export class MachineDriver {
  /** How often each action was carried out. */
  readonly done = new Map<string, number>()
  readonly subjects: readonly Subject[]
  readonly #world: MachineWorld
  readonly #schedule: MachineSchedule
  readonly #policy: MachinePolicy
  readonly #trouble: Trouble
  readonly #surroundings: MachineSurroundings
  readonly #inTheWay: { readonly type: ResourceType; readonly object: KubeObject }[] = []
  #counter = 0

  constructor(world: MachineWorld, schedule: MachineSchedule, policy: MachinePolicy) {
    this.#world = world
    this.#schedule = schedule
    this.#policy = policy
    const { simulated, network, disturbances, replicas } = world
    this.#trouble = new Trouble({ time: simulated.time, cluster: simulated.cluster, network, disturbances, replicas })
    this.#surroundings = new MachineSurroundings(world, this.#trouble, (namespace) => this.#refurnish(namespace))
    this.subjects = schedule.machines.map((plan, number) => ({
      plan,
      name: `vm-${number}`,
      spec: this.#specOf(plan, number),
      isWanted: true,
    }))
  }

  /** What is there before anybody acts. */
  furnish(): void {
    this.#restoreLogin()
    for (const [number, { isMadeByPerson }] of this.#schedule.images.entries())
      if (isMadeByPerson) this.#world.createImage(imageName(number), { ...this.#templateOf(number), diskSize: '2Gi' })
  }

  /** Puts everything on the timeline. Returns when the last step is taken, in virtual milliseconds. */
  plan(): number {
    const { time } = this.#world.simulated
    const startMs = time.elapsedMs
    for (const subject of this.subjects) time.schedule(subject.plan.createdAtMs, () => this.#ensure(subject))
    let afterMs = 0
    for (const step of this.#schedule.steps) {
      afterMs += step.afterMs
      time.schedule(afterMs, () => this.#carryOut(step.action))
    }
    return startMs + Math.max(afterMs, ...this.subjects.map(({ plan }) => plan.createdAtMs))
  }

  /** Every trouble that was to last for a while is over now. What people wrote stays. */
  calm(): void {
    this.#trouble.calm()
  }

  /** People clear away what keeps machines waiting: what has their names, and images that are to go but have users. */
  clearAway(): void {
    this.#restoreLogin()
    this.#policy.resume()
    for (const { type, object } of this.#inTheWay.splice(0)) {
      const { uid = '' } = object.metadata
      leaveRefused(() => this.#admin.delete(type, object.metadata, { uid }))
    }
    // What goes with its namespace waits for nobody.
    const isFarmLeaving = this.#world.namespace(FARM)?.metadata.deletionTimestamp !== undefined
    for (const image of this.#admin.list(IMAGE, { namespace: FARM }).items) {
      if (image.metadata.deletionTimestamp === undefined || isFarmLeaving) continue
      for (const subject of this.subjects) {
        const hasDisk = this.#world.find(DATA_VOLUME, TEAM, vmChildNames(subject.name).clone) !== undefined
        const isItsImage = subject.spec.vmDiskImageRef.name === image.metadata.name
        if (subject.isWanted && hasDisk && isItsImage) this.#recreate(subject)
      }
    }
  }

  /** So that each machine is looked at once more. */
  touchAll(): void {
    this.#counter += 1
    for (const { name } of this.subjects)
      leaveRefused(() =>
        this.#admin.mergePatch(MACHINE, keyOfMachine(name), { metadata: { labels: { touched: `${this.#counter}` } } }),
      )
  }

  /** The end of everything. */
  deleteMachines(): void {
    for (const subject of this.subjects) this.#delete(subject)
  }

  deleteImages(): void {
    for (const { metadata } of this.#admin.list(IMAGE, { namespace: FARM }).items)
      this.#world.delete(IMAGE, FARM, metadata.name)
  }

  get #admin() {
    return this.#world.simulated.cluster.admin
  }

  #carryOut(action: MachineAction): void {
    this.done.set(action.do, (this.done.get(action.do) ?? 0) + 1)
    switch (action.do) {
      case 'delete':
      case 'recreate':
      case 'halt':
      case 'virtctl':
      case 'edit':
      case 'ignoreOnDeploy':
      case 'correctTemplate':
      case 'deleteChild':
        this.#act(action)
        return
      case 'deleteImage':
        leaveRefused(() => this.#admin.delete(IMAGE, { namespace: FARM, name: this.#imageOf(action.image) }))
        return
      case 'refreshImage':
        this.#refresh(this.#imageOf(action.image))
        return
      case 'takeName':
        this.#takeName(action)
        return
      case 'toggleSecret':
        if (this.#world.find(SECRET, TEAM, LOGIN) === undefined) this.#restoreLogin()
        else this.#world.delete(SECRET, TEAM, LOGIN)
        return
      case 'guestFault':
        this.#troubleGuests(action)
        return
      case 'cloneFault': {
        const fault = action.fault === 'slowClone' ? { type: action.fault, delayMs: 30_000 } : { type: action.fault }
        this.#trouble.later(action.forMs, this.#world.simulated.simulators.cdi.script({ namespace: TEAM }, fault))
        return
      }
      case 'deleteNamespace':
      case 'uninstall':
        this.#surroundings.carryOut(action)
        return
      case 'setPolicy':
        this.#policy.set(action.key, action.value)
        return
      case 'deletePolicy':
        this.#policy.delete()
        this.#trouble.later(action.forMs, () => this.#policy.restore())
        return
      default:
        this.#trouble.carryOut(action)
        return
    }
  }

  // People

  #act(action: PersonAction): void {
    const subject = this.#subject(action.machine)
    switch (action.do) {
      case 'delete':
        this.#delete(subject)
        return
      case 'recreate':
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
      case 'edit':
        this.#edit(subject, editOf(subject.spec, action))
        return
      case 'ignoreOnDeploy':
        this.#edit(subject, { ignoreOnDeploy: action.ignore })
        return
      case 'correctTemplate':
        this.#edit(subject, {
          vmDiskImageTemplate: { ...TEMPLATE, ...subject.spec.vmDiskImageTemplate, diskSize: action.diskSize },
        })
        return
      case 'deleteChild':
        this.#deleteChild(subject, action)
        return
    }
  }

  /** Creates it, as soon as its namesake is gone, and its namespace there. */
  #ensure(subject: Subject): void {
    const found = this.#world.find<Machine>(MACHINE, TEAM, subject.name)
    if (!subject.isWanted || (found !== undefined && found.metadata.deletionTimestamp === undefined)) return
    const namespace = this.#world.namespace(TEAM)
    const canBeCreated = namespace !== undefined && namespace.metadata.deletionTimestamp === undefined
    if (found === undefined && canBeCreated)
      this.#world.simulated.create(MACHINE, keyOfMachine(subject.name), { spec: subject.spec })
    else this.#world.simulated.time.schedule(ASK_AGAIN_MS, () => this.#ensure(subject))
  }

  /** People make again what they had in a namespace. Images are made from templates. */
  #refurnish(namespace: string): void {
    if (namespace !== TEAM) return
    this.#restoreLogin()
    this.#world.simulated.createNetworks()
    for (const subject of this.subjects) this.#ensure(subject)
  }

  #delete(subject: Subject): void {
    subject.isWanted = false
    leaveRefused(() => this.#world.delete(MACHINE, TEAM, subject.name))
  }

  #recreate(subject: Subject): void {
    this.#delete(subject)
    subject.isWanted = true
    this.#ensure(subject)
  }

  #edit(subject: Subject, change: Partial<VirtualMachineSpecInput>): void {
    subject.spec = { ...subject.spec, ...change }
    leaveRefused(() => {
      this.#admin.mergePatch(MACHINE, keyOfMachine(subject.name), { spec: change })
    })
  }

  /** As KubeVirt's API server notes it. Where the machine is not to be run by hand, nobody looks at that. */
  #startOrStop({ name }: Subject): void {
    const key = keyOfMachine(name)
    leaveRefused(() => {
      const machine = this.#admin.get<KubeVirtMachine>(KUBEVIRT_VIRTUAL_MACHINE, key)
      const { uid } = this.#world.find(VIRTUAL_MACHINE_INSTANCE, TEAM, name)?.metadata ?? {}
      const request = uid === undefined ? { action: 'Start' } : { action: 'Stop', uid }
      const status = { ...machine.status, stateChangeRequests: [request] }
      this.#admin.replaceStatus(KUBEVIRT_VIRTUAL_MACHINE, { ...machine, status } as KubeObject)
    })
  }

  #deleteChild({ name }: Subject, { kind, propagationPolicy }: Extract<PersonAction, { do: 'deleteChild' }>): void {
    const remove = (type: ResourceType, key: ObjectKey) =>
      leaveRefused(() => this.#admin.delete(type, key, { propagationPolicy }))
    if (kind !== 'Pod') {
      remove(CHILD_TYPES[kind], { namespace: TEAM, name: childNameOf(name, kind) })
      return
    }
    for (const { metadata } of this.#admin.list(POD, { namespace: TEAM }).items)
      if (metadata.name.startsWith(`virt-launcher-${name}-`)) remove(POD, metadata)
  }

  #refresh(name: string): void {
    this.#counter += 1
    const url = `https://images.example.com/${name}-${this.#counter}.qcow2`
    leaveRefused(() => {
      this.#admin.mergePatch(IMAGE, { namespace: FARM, name }, { spec: { url } })
    })
  }

  /** It looks like ours, but for the owner. */
  #takeName({ machine, kind }: NamesakeAction): void {
    const { name } = this.#subject(machine)
    const type = kind === 'PersistentVolumeClaim' ? PERSISTENT_VOLUME_CLAIM : CHILD_TYPES[kind]
    const uid = this.#world.vm(name)?.metadata.uid
    const isMarked = kind !== 'PersistentVolumeClaim' && uid !== undefined
    const key = { namespace: TEAM, name: childNameOf(name, kind) }
    leaveRefused(() => {
      const metadata = { ...key, ...(isMarked && { labels: { [LABELS.vmUid]: uid } }) }
      this.#inTheWay.push({ type, object: this.#world.simulated.create(type, metadata, FOREIGN[kind]) })
    })
  }

  #restoreLogin(): void {
    const data = { password: Buffer.from(PASSWORD).toString('base64') }
    leaveRefused(() => this.#world.simulated.create(SECRET, { namespace: TEAM, name: LOGIN }, { data }))
  }

  // Guests

  #troubleGuests({ machine, fault, times, forMs }: GuestAction): void {
    const target = machine === undefined ? {} : { name: this.#subject(machine).name }
    const { kubevirt } = this.#world.simulated.simulators
    this.#trouble.later(forMs, kubevirt.script({ namespace: TEAM, ...target }, faultOf(fault), { times }))
  }

  // What the schedule's numbers mean

  #subject(number: number): Subject {
    return this.subjects[number % this.subjects.length] as Subject
  }

  #imageOf(number: number): string {
    return imageName(number % this.#schedule.images.length)
  }

  #specOf({ image, interfaces, hasSecret, ignoreOnDeploy }: MachinePlan, number: number): VirtualMachineSpecInput {
    const password = hasSecret
      ? { passwordSecretRef: { name: LOGIN, key: 'password' } }
      : { plain_text_passwd: PASSWORD }
    return {
      name: `host-${number}`,
      users: [{ name: 'demo', lock_passwd: false, ...password }],
      resources: { cpu: '1', memory: '1Gi' },
      interfaces: interfacesOf(interfaces),
      vmDiskImageRef: { namespace: FARM, name: this.#imageOf(image) },
      vmDiskImageTemplate: this.#templateOf(image % this.#schedule.images.length),
      ignoreOnDeploy,
    }
  }

  #templateOf(number: number): NonNullable<VirtualMachineSpecInput['vmDiskImageTemplate']> {
    const { hasSnapshot = true, bindsLate = false } = this.#schedule.images[number] ?? {}
    const { snapshotClass, ...template } = TEMPLATE
    return { ...template, storageClass: bindsLate ? 'late' : 'fast', ...(hasSnapshot && { snapshotClass }) }
  }
}

const FOREIGN: Readonly<Record<Namesake, object>> = {
  Secret: {},
  VirtualMachine: { spec: { runStrategy: 'Halted', template: { spec: { domain: { memory: { guest: '1Gi' } } } } } },
  DataVolume: { spec: { source: { upload: {} }, storage: {} } },
  PersistentVolumeClaim: { spec: { resources: { requests: { storage: '1Gi' } }, storageClassName: 'other' } },
}

function imageName(number: number): string {
  return `image-${number}`
}

function keyOfMachine(name: string): Required<ObjectKey> {
  return { namespace: TEAM, name }
}

function childNameOf(name: string, kind: Exclude<MachineChild | Namesake, 'Pod'>): string {
  const names = vmChildNames(name)
  if (kind === 'Secret') return names.cloudInit
  return kind === 'DataVolume' || kind === 'PersistentVolumeClaim' ? names.clone : names.machine
}

/** The order of the networks changes with their number: each must keep its address. */
function interfacesOf(count: number): { network: string; ipAddress: string }[] {
  const all = Array.from({ length: count }, (_, at) => ({ network: `net-${at}`, ipAddress: `10.10.${at}.10/24` }))
  return count % 2 === 0 ? all.reverse() : all
}

function editOf(
  { users = [], resources }: VirtualMachineSpecInput,
  { field, value }: Extract<PersonAction, { do: 'edit' }>,
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

function faultOf(type: GuestFault): MachineFault {
  switch (type) {
    case 'slowStart':
      return { type, delayMs: 20_000 }
    case 'PausedByUser':
    case 'PausedIOError':
    case 'PausedByMigrationMonitor':
      return { type: 'paused', reason: type }
    case 'podRefused':
    case 'instanceRefused':
      return { type, message: 'somebody forbids it' }
    case 'guestShutdown':
    case 'guestCrash':
      return { type, afterMs: 3_000 }
    default:
      return { type }
  }
}
