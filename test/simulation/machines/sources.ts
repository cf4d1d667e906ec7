import type { VirtualMachineSpecInput } from '@open-terrain/constructs'
import { keyOf, type ObjectKey } from '../../../operator/kube/kube-object.ts'
import { IMAGE } from '../../harness/kinds.ts'
import { firstImageOf, pick } from '../data-syncs/vms.ts'
import type { Actor } from '../kind.ts'
import * as objects from '../objects.ts'
import { leaveRefused } from '../people.ts'
import type { Action } from '../schedule.ts'
import { urlOf } from '../sources.ts'
import type { World } from '../world.ts'
import type { SourcePlan } from './machine-schedule.ts'

/** Where all machines are. */
export const TEAM = pick(objects.NAMESPACES, 0)
/** Namespace of the images that are not those of a DataSync. */
const FARM = pick(objects.NAMESPACES, 1)

type Template = NonNullable<VirtualMachineSpecInput['vmDiskImageTemplate']>

/** An image that machines name. */
export interface Source {
  readonly key: Required<ObjectKey>
  /** As machines create it; undefined: they wait until somebody else has created it. */
  readonly template: Template | undefined
}

/** The images that machines of a schedule name, whoever creates them. */
export class Sources implements Actor {
  readonly #world: World
  readonly #plans: readonly SourcePlan[]
  readonly #sources: readonly Source[]
  #refreshes = 0

  constructor(world: World) {
    this.#world = world
    this.#plans = world.schedule.sources ?? []
    this.#sources = this.#plans.map((plan, number) => this.#sourceOf(plan, number))
  }

  /** Creates those that people create before the first machine. */
  furnish(): void {
    for (const [number, { isMadeByPerson, release }] of this.#plans.entries()) {
      const { key, template } = this.of(number)
      const image = objects.image(key.namespace, key.name, { ...template, diskSize: '2Gi' })
      if (isMadeByPerson && release === undefined) this.#world.cluster.admin.create(IMAGE, image)
    }
  }

  of(number: number): Source {
    return pick(this.#sources, number)
  }

  /** @param imageKey `namespace/name` */
  has(imageKey: string): boolean {
    return this.#sources.some(({ key }) => keyOf(key) === imageKey)
  }

  carryOut(action: Action): boolean {
    const { admin } = this.#world.cluster
    switch (action.do) {
      case 'deleteSource':
        leaveRefused(() => admin.delete(IMAGE, this.of(action.source).key))
        return true
      case 'refreshSource': {
        const { key } = this.of(action.source)
        this.#refreshes += 1
        const url = urlOf(key.name, this.#refreshes, QUICK)
        leaveRefused(() => {
          admin.mergePatch(IMAGE, key, { spec: { url } })
        })
        return true
      }
      default:
        return false
    }
  }

  #sourceOf({ hasSnapshot, bindsLate, release }: SourcePlan, number: number): Source {
    const { schedule, namespaces } = this.#world
    if (release !== undefined) {
      const plan = pick(schedule.dataSyncs ?? [], release.dataSync)
      const { key, spec } = firstImageOf(plan, release.vm, pick(namespaces, plan.namespace))
      return { key, template: release.hasTemplate ? spec : undefined }
    }
    const key = { namespace: FARM, name: `golden-${number}` }
    const storageClass = bindsLate ? 'late' : 'fast'
    const template: Template = {
      url: urlOf(key.name, 0, QUICK),
      sourceType: 'http',
      diskSize: '1Gi',
      storageClass,
      ...(hasSnapshot && { snapshotClass: 'snapshots-0' }),
    }
    return { key, template }
  }
}

const QUICK = { nature: 'good', downloadSeconds: 0 } as const
