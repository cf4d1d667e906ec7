import { describe, expect, it } from 'vitest'
import type { KubeObject, ResourceType } from '../../../operator/kube/kube-object.ts'
import {
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  SECRET,
  VOLUME_SNAPSHOT,
} from '../../../operator/kube/resource-types.ts'
import { type Commit, IMAGE } from '../../../sandbox/memory-cluster/index.ts'
import { randomFrom } from '../random.ts'
import { FARM, MACHINE, MachineWorld, TEAM, TEMPLATE } from './machine-world.ts'

const SEED = Number(process.env['SIMULATION_SEED'] ?? 1)
const RUNS = Math.round(12 * Number(process.env['SIMULATION_SCALE'] ?? 1))
const ACTIONS = 40
const MACHINES = ['a', 'b', 'c']
const IMAGES = ['golden', 'other']

interface Clone extends KubeObject {
  readonly spec?: { readonly source?: { readonly snapshot?: { readonly namespace: string; readonly name: string } } }
  readonly status?: { readonly phase?: string }
}

/** What people do, and what crashes, in an order that chance decides. */
class Interleaving {
  readonly world: MachineWorld
  readonly violations: string[] = []
  readonly #random: () => number
  /** Unfinished clones by uid, and the snapshot that each reads from. */
  readonly #cloning = new Map<string, string>()
  readonly #disks = new Map<string, string>()

  constructor(world: MachineWorld, random: () => number) {
    this.world = world
    this.#random = random
    world.simulated.cluster.onCommit((commit) => this.#check(commit))
  }

  async run(): Promise<void> {
    for (let count = 0; count < ACTIONS; count += 1) {
      this.#act()
      await this.world.pass(this.#random() < 0.5 ? this.#random() * 500 : this.#random() * 30_000)
    }
  }

  #act(): void {
    const { world } = this
    const [machine, image] = [this.#pick(MACHINES), this.#pick(IMAGES)]
    const acts: (() => void)[] = [
      () => world.vm(machine) ?? world.create(machine, { vmDiskImageRef: { name: image, namespace: FARM } }),
      () => this.#delete(MACHINE, TEAM, machine),
      () => this.#delete(IMAGE, FARM, image),
      () => this.#refresh(image),
      () => this.#delete(SECRET, TEAM, `${machine}-cloudinit`),
      () => this.#delete(KUBEVIRT_VIRTUAL_MACHINE, TEAM, machine),
      () => world.vm(machine) ?? world.create(machine, { vmDiskImageRef: { name: image, namespace: FARM } }),
      () => this.#crash(),
    ]
    this.#pick(acts)()
  }

  #crash(): void {
    this.world.killOperator()
    this.world.simulated.time.schedule(this.#random() * 5_000, () => this.world.startOperator())
  }

  #refresh(name: string): void {
    if (this.world.image(name)?.metadata.deletionTimestamp !== undefined || this.world.image(name) === undefined) return
    const url = `https://images.example.com/${Math.floor(this.#random() * 1e6)}.qcow2`
    this.world.patch(IMAGE, { namespace: FARM, name }, { spec: { ...TEMPLATE, url } })
  }

  #delete(type: ResourceType, namespace: string, name: string): void {
    if (this.world.find(type, namespace, name) !== undefined) this.world.delete(type, namespace, name)
  }

  /** Nothing in use is ever deleted. */
  #check(commit: Commit): void {
    const { type, resource, object, actor } = commit
    const isGoing = type === 'DELETED' || object.metadata.deletionTimestamp !== undefined
    if (resource === DATA_VOLUME && object.metadata.namespace === TEAM) this.#noteDisk(commit, isGoing)
    if (resource === VOLUME_SNAPSHOT && actor.startsWith('operator') && isGoing)
      this.#checkSnapshot(object.metadata.name)
    if (resource === IMAGE && type === 'DELETED') this.#checkImage(object.metadata.name)
  }

  #noteDisk({ type, object }: Commit, isGoing: boolean): void {
    const { uid = '', ownerReferences } = object.metadata
    const { spec, status } = object as Clone
    const source = spec?.source?.snapshot?.name
    if (isGoing || status?.phase === 'Succeeded') this.#cloning.delete(uid)
    else if (source !== undefined) this.#cloning.set(uid, source)
    if (type === 'DELETED') this.#disks.delete(uid)
    else this.#disks.set(uid, ownerReferences?.[0]?.name ?? '')
  }

  #checkSnapshot(name: string): void {
    const readers = [...this.#cloning.values()].filter((source) => source === name)
    if (readers.length > 0)
      this.violations.push(`snapshot ${name} is deleted while ${readers.length} clones read from it`)
  }

  #checkImage(name: string): void {
    const users = [...this.#disks.values()].filter((machine) => {
      const vm = this.world.vm(machine)
      return vm?.spec.vmDiskImageRef.name === name && vm.metadata.deletionTimestamp === undefined
    })
    if (users.length > 0) this.violations.push(`image ${name} is gone while ${users.join()} have disks of it`)
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)] as T
  }
}

describe('machines, images, deletions, refreshes and crashes in any order', () => {
  it.each(Array.from({ length: RUNS }, (_, at) => SEED * 1_000 + at))(
    'seed %d: nothing in use is deleted, all that is left becomes ready, and nothing leaks',
    async (seed) => {
      const world = await MachineWorld.start()
      const interleaving = new Interleaving(world, randomFrom(seed))
      await interleaving.run()
      const alive = () =>
        MACHINES.filter(
          (name) => world.vm(name) !== undefined && world.vm(name)?.metadata.deletionTimestamp === undefined,
        )
      // One may wait for an image that is being deleted, and held by another: it is its turn when that one is gone.
      while (alive().length > 0) {
        const ready = () => alive().find((name) => world.vm(name)?.status?.phase === 'Ready')
        await world.until('one to be ready', () => ready() !== undefined)
        world.delete(MACHINE, TEAM, ready() as string)
      }
      await world.until('the end of all machines', () => MACHINES.every((name) => world.vm(name) === undefined))
      await world.pass(60_000)
      expect(world.leftIn(TEAM)).toEqual([])
      expect(interleaving.violations).toEqual([])
      expect(world.logged.filter((line) => line.startsWith('error'))).toEqual([])
      world.stop()
    },
    120_000,
  )
})
