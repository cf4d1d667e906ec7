import type { VirtualMachineSpecInput } from '@open-terrain/constructs'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { apiVersionOf } from '../../operator/kube/kube-object.ts'
import { conditionOf, currentIf, type DataVolume, MACHINE, type Machine, reasonOf } from './kinds.ts'
import type { World } from './world.ts'

/** Reasons of a running machine. It may need a restart or a new disk. */
const RUNNING = ['Running', 'RestartRequired', 'RebuildRequired']

/** Actions of people on machines in a {@link World}, and what they observe. */
export class Machines {
  readonly #world: World
  readonly #namespace: string

  /** @param namespace of the machines; default: that of the images */
  constructor(world: World, namespace = world.namespace) {
    this.#world = world
    this.#namespace = namespace
  }

  /** Creates a machine of the image `golden`, with an image template. `spec` overrides fields. */
  async create(name: string, spec: Partial<VirtualMachineSpecInput> = {}): Promise<Machine> {
    const { namespace, client } = this.#world
    const usual = {
      name,
      users: [{ name: 'demo', lock_passwd: true }],
      resources: { cpu: '1', memory: '1Gi' },
      vmDiskImageRef: this.#namespace === namespace ? { name: 'golden' } : { name: 'golden', namespace },
      vmDiskImageTemplate: this.#world.image('golden').spec,
    }
    const metadata = { namespace: this.#namespace, name }
    const object = { apiVersion: apiVersionOf(MACHINE), kind: MACHINE.kind, metadata, spec: { ...usual, ...spec } }
    return await client.create<Machine>(MACHINE, object as Machine)
  }

  /** Resolves when another machine, `other`, runs from its own image: enough time for what must not happen. */
  async untilAnotherRuns(): Promise<void> {
    const vmDiskImageTemplate = this.#world.image('other').spec as never
    await this.create('other', { vmDiskImageRef: { name: 'other' }, vmDiskImageTemplate })
    await this.untilReady('other')
  }

  async patch(name: string, spec: Partial<VirtualMachineSpecInput>): Promise<void> {
    await this.#world.client.mergePatch(MACHINE, { namespace: this.#namespace, name }, { spec })
  }

  async delete(...names: readonly string[]): Promise<void> {
    const { client } = this.#world
    for (const name of names) await client.delete(MACHINE, { namespace: this.#namespace, name })
    for (const name of names) await this.#until(`${name} is gone`, () => this.get(name) === undefined)
  }

  get(name: string): Machine | undefined {
    return this.#world.mirror.machines.get(`${this.#namespace}/${name}`)
  }

  /** The root disk. */
  disk(name: string): DataVolume | undefined {
    return this.#world.mirror.dataVolumes.get(`${this.#namespace}/${name}-root`)
  }

  /** Children that the operator created for the machines of the namespace, as `Kind/name`. */
  children(): string[] {
    const { kubevirtMachines, dataVolumes, secrets } = this.#world.mirror
    return [kubevirtMachines, dataVolumes, secrets].flatMap((store) =>
      [...(store.values() as IterableIterator<KubeObject>)].flatMap(({ kind, metadata }) => {
        const isOfMachine = metadata.ownerReferences?.some(({ kind: owner }) => owner === MACHINE.kind) === true
        return metadata.namespace === this.#namespace && isOfMachine ? [`${kind}/${metadata.name}`] : []
      }),
    )
  }

  async untilReady(name: string, ...reasons: string[]): Promise<Machine> {
    const wanted = reasons.length === 0 ? RUNNING : reasons
    return await this.until(
      name,
      `Ready, ${wanted.join(' or ')}`,
      (machine) => machine.status?.phase === 'Ready' && wanted.includes(reasonOf(machine) ?? ''),
    )
  }

  async untilReason(name: string, reason: string): Promise<Machine> {
    return await this.until(name, reason, (machine) => reasonOf(machine) === reason)
  }

  /** Ignores a status that does not reflect the current generation. */
  async until(name: string, what: string, holds: (machine: Machine) => boolean): Promise<Machine> {
    return await this.#until(`machine ${name}: ${what}`, () => currentIf(this.get(name), holds))
  }

  async #until<T>(what: string, look: () => T | undefined | false): Promise<T> {
    const seen = () => {
      const mine = [...this.#world.mirror.machines.values()].map(
        (one) =>
          `  machine ${one.metadata.name}: ${one.status?.phase} (${reasonOf(one)}) ${one.status?.message}; image: ${conditionOf(one, 'ImageReady')?.message}`,
      )
      return `${mine.join('\n')}\n${this.#world.describe()}`
    }
    return await this.#world.mirror.until(what, look, seen)
  }
}
