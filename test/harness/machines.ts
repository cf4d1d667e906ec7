import type { VirtualMachineSpecInput } from '@open-terrain/constructs'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { conditionOf, type DataVolume, MACHINE, type Machine, reasonOf } from './kinds.ts'
import type { World } from './world.ts'
import { WorldObjects } from './world-objects.ts'

/** Reasons of a running machine. It may need a restart or a new disk, or run from another image than it asks for. */
const RUNNING = ['Running', 'ImageMismatch', 'RestartRequired', 'RebuildRequired']

/** Without one, a machine is warned of that nobody can log in. */
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDEMO demo@example.com'

/** Actions of people on machines in a {@link World}, and what they observe. */
export class Machines extends WorldObjects<Machine> {
  constructor(world: World, namespace?: string) {
    super(world, MACHINE, world.mirror.machines, namespace)
  }

  /** Creates a machine of the image `golden`, with an image template. `spec` overrides fields. */
  async create(name: string, spec: Partial<VirtualMachineSpecInput> = {}): Promise<Machine> {
    const { namespace } = this.world
    const usual = {
      name,
      users: [{ name: 'demo', lock_passwd: true, ssh_authorized_keys: [KEY] }],
      resources: { cpu: '1', memory: '1Gi' },
      vmDiskImageRef: this.namespace === namespace ? { name: 'golden' } : { name: 'golden', namespace },
      vmDiskImageTemplate: this.world.image('golden').spec,
    }
    return await this.createObject(name, { ...usual, ...spec })
  }

  /** Resolves when another machine, `other`, runs from its own image: enough time for what must not happen. */
  async untilAnotherRuns(): Promise<void> {
    const vmDiskImageTemplate = this.world.image('other').spec as never
    await this.create('other', { vmDiskImageRef: { name: 'other' }, vmDiskImageTemplate })
    await this.untilReady('other')
  }

  async patch(name: string, spec: Partial<VirtualMachineSpecInput>): Promise<void> {
    await this.patchObject(name, { spec })
  }

  /** The root disk. */
  disk(name: string): DataVolume | undefined {
    return this.world.mirror.dataVolumes.get(`${this.namespace}/${name}-root`)
  }

  /** Children that the operator created for the machines of the namespace, as `Kind/name`. */
  children(): string[] {
    const { kubevirtMachines, dataVolumes, secrets } = this.world.mirror
    return [kubevirtMachines, dataVolumes, secrets].flatMap((store) =>
      [...(store.values() as IterableIterator<KubeObject>)].flatMap(({ kind, metadata }) => {
        const isOfMachine = metadata.ownerReferences?.some(({ kind: owner }) => owner === MACHINE.kind) === true
        return metadata.namespace === this.namespace && isOfMachine ? [`${kind}/${metadata.name}`] : []
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

  protected override describe(machine: Machine): string {
    const { metadata, status } = machine
    return `  machine ${metadata.name}: ${status?.phase} (${reasonOf(machine)}) ${status?.message}; image: ${conditionOf(machine, 'ImageReady')?.message}`
  }
}
