import { vmChildNames } from '@open-terrain/constructs/operator'
import { apiVersionOf, type KubeObject, type ResourceType } from '../../operator/kube/kube-object.ts'
import {
  DATA_VOLUME,
  NETWORK_ATTACHMENT_DEFINITION,
  SECRET,
  VIRTUAL_MACHINE_INSTANCE,
} from '../../operator/kube/resource-types.ts'
import type { MachineFault, MachineScriptOptions } from '../../sandbox/simulators/index.ts'
import { NETWORK_CONFIG } from '../harness/grounds.ts'
import { type Instance, MACHINE, type Machine, reasonOf } from '../harness/kinds.ts'
import { STORAGE } from '../harness/world.ts'
import type { Play } from './play.ts'

const NAME = 'vm'
const LOGIN = { name: 'login', key: 'password' }
/** A canary: it may appear in Secrets, and nowhere else. */
export const PASSWORD = 'canary-Kx7-password'

/** The virtual machine of a play: actions of people, faults, and waits. */
export class PlayedMachine {
  readonly #play: Play
  readonly #key: { readonly namespace: string; readonly name: string }

  constructor(play: Play) {
    this.#play = play
    this.#key = { namespace: play.namespace, name: NAME }
  }

  // Actions of people

  /** Its image does not exist, but is created from the template. The downloads of the image are held. */
  async create(more: object = {}): Promise<void> {
    const { world, namespace } = this.#play
    this.#play.holdDownloads()
    await this.#put(NETWORK_ATTACHMENT_DEFINITION, 'control-net', { spec: { config: NETWORK_CONFIG } })
    await this.#put(SECRET, LOGIN.name, { stringData: { [LOGIN.key]: PASSWORD } })
    const { spec: vmDiskImageTemplate } = world.image('image', { url: this.#play.urlOf() }, { namespace })
    await this.#put(MACHINE, NAME, {
      spec: {
        name: 'demo-vm',
        users: [{ name: 'demo', passwordSecretRef: LOGIN, lock_passwd: false }],
        resources: { cpu: '2', memory: '2Gi' },
        interfaces: [{ network: 'control-net', ipAddress: '10.10.0.161/24' }],
        vmDiskImageRef: { name: 'image' },
        vmDiskImageTemplate,
        ...more,
      },
    })
  }

  /** Creates the children that a machine named `other` would have, without an owner. The operator must leave them alone. */
  async createNeighbours(): Promise<void> {
    const { clone, cloudInit } = vmChildNames('other')
    await this.#put(SECRET, cloudInit, { stringData: { userdata: '#cloud-config\n{}' } })
    const storage = { storageClassName: STORAGE, accessModes: ['ReadWriteOnce'] }
    const size = { resources: { requests: { storage: '16Mi' } } }
    await this.#put(DATA_VOLUME, clone, { spec: { source: { blank: {} }, storage: { ...storage, ...size } } })
  }

  async delete(): Promise<void> {
    await this.#play.world.client.delete(MACHINE, this.#key)
  }

  async restart(): Promise<void> {
    await this.#play.world.client.delete(VIRTUAL_MACHINE_INSTANCE, this.#key)
  }

  // Faults. Each returns a function that ends it

  breaks(fault: MachineFault, options?: MachineScriptOptions): () => void {
    return this.#play.world.simulators.kubevirt.script(this.#key, fault, options)
  }

  /** Its launcher pod waits for something, and so does its guest. */
  holdStart(): () => void {
    return this.breaks({ type: 'notCreated', message: 'a volume is not there yet' })
  }

  holdClone(): () => void {
    const { namespace, world } = this.#play
    return world.simulators.cdi.script({ namespace, name: vmChildNames(NAME).clone }, { type: 'cloneStalls' })
  }

  // State

  get machine(): Machine | undefined {
    return this.#play.of(this.#play.world.mirror.machines)[0]
  }

  get instance(): Instance | undefined {
    return this.#play.of(this.#play.world.mirror.instances)[0]
  }

  get #userData(): string {
    const secret = this.#play.world.mirror.secrets.get(`${this.#play.namespace}/${vmChildNames(NAME).cloudInit}`)
    return Buffer.from(secret?.data?.['userdata'] ?? '', 'base64').toString()
  }

  // Waiting

  async untilReason(reason: string): Promise<void> {
    await this.#play.until(`the machine has the reason ${reason}`, () => reasonOf(this.machine) === reason)
  }

  /** Waits until KubeVirt shows this state. */
  async untilShown(printableStatus: string): Promise<void> {
    const { kubevirtMachines } = this.#play.world.mirror
    await this.#play.until(`KubeVirt says ${printableStatus}`, () =>
      this.#play.of(kubevirtMachines).some(({ status }) => status?.printableStatus === printableStatus),
    )
  }

  /** KubeVirt's machine exists, but the disk is not complete. */
  async untilDiskIsAwaited(): Promise<void> {
    const { kubevirtMachines } = this.#play.world.mirror
    await this.#play.until(
      'the machine waits for its disk',
      () => reasonOf(this.machine) === 'Cloning' && this.#play.of(kubevirtMachines).length > 0,
    )
  }

  /** The instance is being deleted, or gone. */
  async untilKicked({ metadata: { uid } }: Instance): Promise<void> {
    await this.#play.until('the instance is deleted', () => {
      const { metadata } = this.instance ?? {}
      return metadata?.uid !== uid || metadata?.deletionTimestamp !== undefined
    })
  }

  /** It runs, and its guest received its password. */
  async untilReady(): Promise<void> {
    await this.#play.until('the machine is Ready', () => {
      const { metadata, status } = this.machine ?? {}
      const isObserved = status?.observedGeneration === metadata?.generation
      return status?.phase === 'Ready' && isObserved && this.#userData.includes(PASSWORD)
    })
  }

  async untilGone(): Promise<void> {
    await this.#play.until('the machine is gone', () => this.machine === undefined)
  }

  async #put(type: ResourceType, name: string, content: object): Promise<void> {
    const metadata = { namespace: this.#play.namespace, name }
    const object = { apiVersion: apiVersionOf(type), kind: type.kind, metadata, ...content }
    await this.#play.world.client.create(type, object as KubeObject)
  }
}
