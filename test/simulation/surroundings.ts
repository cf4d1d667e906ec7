import type { ResourceType } from '../../operator/kube/kube-object.ts'
import {
  CONFIG_MAP,
  DATA_SOURCE,
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  NAMESPACE,
  NETWORK_ATTACHMENT_DEFINITION,
  PERSISTENT_VOLUME_CLAIM,
  RESOURCE_QUOTA,
  VIRTUAL_MACHINE_INSTANCE,
} from '../../operator/kube/resource-types.ts'
import { OPERATOR_NAMESPACE } from './chronicle.ts'
import type { Actor } from './kind.ts'
import * as objects from './objects.ts'
import { ASK_AGAIN_MS, find, leaveRefused } from './people.ts'
import type { Action, System } from './schedule.ts'
import type { World } from './world.ts'

const LEDGER = { namespace: OPERATOR_NAMESPACE, name: 'sync-operator-slots' }
/** Time until watches have reported the removal of a system's kinds and of what went with them. */
const CLEAR_AFTER_MS = 40_000
const KINDS: Readonly<Record<System, readonly ResourceType[]>> = {
  CDI: [DATA_VOLUME, DATA_SOURCE],
  KubeVirt: [KUBEVIRT_VIRTUAL_MACHINE, VIRTUAL_MACHINE_INSTANCE],
  Multus: [NETWORK_ATTACHMENT_DEFINITION],
}

/** What everything depends on is removed, and comes back: namespaces, the kinds and processes of other systems, the ledger. */
export class Surroundings implements Actor {
  readonly #world: World
  /** Number of overlapping outages of each system. */
  readonly #away = { CDI: 0, KubeVirt: 0, Multus: 0 }

  constructor(world: World) {
    this.#world = world
  }

  carryOut(action: Action): boolean {
    const { cluster, cost, trouble, simulators } = this.#world
    switch (action.do) {
      case 'deleteLedger':
        cost.renewAll()
        leaveRefused(() => cluster.admin.delete(CONFIG_MAP, LEDGER))
        return true
      case 'garbleLedger':
        cost.renewAll()
        leaveRefused(() => {
          cluster.admin.mergePatch(CONFIG_MAP, LEDGER, { data: { holders: 'garbled' } })
        })
        return true
      case 'floodLedger':
        cost.renewAll()
        leaveRefused(() => {
          const holders = JSON.stringify(Array.from({ length: action.holders }, (_, number) => inventedHolder(number)))
          cluster.admin.mergePatch(CONFIG_MAP, LEDGER, { data: { holders } })
        })
        return true
      case 'limitClaims':
        this.#limitClaims(action.namespace, action.more, action.forMs)
        return true
      case 'restartSimulators':
        this.#restartSimulators(action.downMs)
        return true
      case 'deleteNamespace': {
        const { namespaces } = this.#world
        const name = namespaces[action.namespace % namespaces.length] ?? ''
        leaveRefused(() => cluster.admin.delete(NAMESPACE, { name }))
        trouble.later(action.forMs, () => this.#bringBack(name))
        return true
      }
      case 'uninstall':
        this.#uninstall(action.what, action.forMs)
        return true
      case 'stopCdi':
        // Not marked as a disturbance: pods show what CDI does not.
        trouble.later(action.forMs, simulators?.cdi.stopController() ?? (() => undefined))
        return true
      case 'stopKubevirt':
        trouble.later(action.forMs, simulators?.kubevirt.stopController() ?? (() => undefined))
        return true
      default:
        return false
    }
  }

  #limitClaims(number: number, more: number, forMs: number): void {
    const { cluster, namespaces, trouble } = this.#world
    const namespace = namespaces[number % namespaces.length] ?? ''
    const claims = cluster.admin.list(PERSISTENT_VOLUME_CLAIM, { namespace }).items.length + more
    const quota = objects.claimQuota(namespace, claims)
    leaveRefused(() => cluster.admin.create(RESOURCE_QUOTA, quota))
    trouble.later(forMs, () => leaveRefused(() => cluster.admin.delete(RESOURCE_QUOTA, quota.metadata)))
  }

  #restartSimulators(downMs: number): void {
    const { disturbances, trouble, time, scripts } = this.#world
    disturbances.mark('cdi', downMs)
    this.#world.killSimulators()
    trouble.later(downMs, () => {
      this.#world.startSimulators()
      time.schedule(ASK_AGAIN_MS, () => scripts.again())
    })
  }

  #bringBack(name: string): void {
    const found = find(this.#world, NAMESPACE, { name })
    if (found === undefined) leaveRefused(() => this.#world.furnishNamespace(name))
    else if (found.metadata.deletionTimestamp !== undefined)
      this.#world.time.schedule(ASK_AGAIN_MS, () => this.#bringBack(name))
  }

  #uninstall(what: System, forMs: number): void {
    const { cluster, cost, disturbances, trouble } = this.#world
    if (what === 'CDI') disturbances.mark('cdi', forMs + CLEAR_AFTER_MS)
    this.#away[what] += 1
    if (this.#away[what] === 1) for (const type of KINDS[what]) cluster.uninstall(type)
    if (what === 'CDI') cost.renewAll()
    trouble.later(forMs, () => {
      this.#away[what] -= 1
      if (this.#away[what] === 0) for (const type of KINDS[what]) cluster.install(type)
    })
  }
}

function inventedHolder(number: number): object {
  const [uid, name, revision] = [`invented-${number}`, `image-of-nobody-${number}`, '01234567']
  return { uid, namespace: objects.NAMESPACES[0], name, revision, attempt: 1, claimant: 'somebody' }
}
