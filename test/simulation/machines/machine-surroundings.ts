import type { ResourceType } from '../../../operator/kube/kube-object.ts'
import {
  DATA_SOURCE,
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  NAMESPACE,
  VIRTUAL_MACHINE_INSTANCE,
} from '../../../operator/kube/resource-types.ts'
import { ASK_AGAIN_MS, leaveRefused } from '../people.ts'
import type { Trouble } from '../trouble.ts'
import type { SurroundingsAction } from './machine-schedule.ts'
import { FARM, type MachineWorld, TEAM } from './machine-world.ts'

const KINDS: Readonly<Record<'CDI' | 'KubeVirt', readonly ResourceType[]>> = {
  CDI: [DATA_VOLUME, DATA_SOURCE],
  KubeVirt: [KUBEVIRT_VIRTUAL_MACHINE, VIRTUAL_MACHINE_INSTANCE],
}

/** Namespaces, and the kinds of other systems, are taken away and come back. */
export class MachineSurroundings {
  readonly #world: MachineWorld
  readonly #trouble: Trouble
  /** Puts back what people had in a namespace. */
  readonly #onBack: (namespace: string) => void
  /** How often each system is away at the same time. */
  readonly #away = { CDI: 0, KubeVirt: 0 }

  constructor(world: MachineWorld, trouble: Trouble, onBack: (namespace: string) => void) {
    this.#world = world
    this.#trouble = trouble
    this.#onBack = onBack
  }

  carryOut(action: SurroundingsAction): void {
    if (action.do === 'uninstall') {
      this.#uninstall(action.what, action.forMs)
      return
    }
    const name = action.namespace === 'farm' ? FARM : TEAM
    leaveRefused(() => this.#world.simulated.cluster.admin.delete(NAMESPACE, { name }))
    this.#trouble.later(action.forMs, () => this.#bringBack(name))
  }

  #bringBack(name: string): void {
    const { simulated } = this.#world
    const found = this.#world.namespace(name)
    if (found === undefined) {
      simulated.create(NAMESPACE, { name })
      this.#onBack(name)
    } else if (found.metadata.deletionTimestamp !== undefined) {
      simulated.time.schedule(ASK_AGAIN_MS, () => this.#bringBack(name))
    }
  }

  #uninstall(what: 'CDI' | 'KubeVirt', forMs: number): void {
    const { cluster } = this.#world.simulated
    this.#away[what] += 1
    if (this.#away[what] === 1) for (const type of KINDS[what]) cluster.uninstall(type)
    this.#trouble.later(forMs, () => {
      this.#away[what] -= 1
      if (this.#away[what] === 0) for (const type of KINDS[what]) cluster.install(type)
    })
  }
}
