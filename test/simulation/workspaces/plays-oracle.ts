import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import { CONFIG_MAP, JOB, PERSISTENT_VOLUME_CLAIM, POD } from '../../../operator/kube/resource-types.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import type { Job } from '../../../sandbox/memory-cluster/job-objects.ts'
import type { Pod } from '../../../sandbox/simulators/models.ts'
import { MACHINE, type Machine, WORKSPACE, type Workspace } from '../../harness/kinds.ts'
import { SECOND } from '../../prepared/runtime/times.ts'
import { isOperator } from '../chronicle.ts'
import { POLICY_KEY } from '../objects.ts'
import { WitnessOracle } from '../oracle/oracle.ts'
import type { World } from '../world.ts'
import { isType } from './lab-parts.ts'

/** After this time without an image, the operator must have noticed. */
const NOTICED_MS = 60 * SECOND

/** What one Job was made for. */
interface Made {
  readonly title: string
  readonly atMs: number
  readonly isBuild: boolean
  /** Uid of the disk, or of the instance, that the machine had then. */
  readonly of: string | undefined
}

/** When somebody asked for plays, and since when no image is named. */
interface Lab {
  asked: string | undefined
  askedAtMs: number
  unnamedSinceMs: number | undefined
}

/**
 * Invariant 7, for the roles of machines: they are played at most once for a disk, or at each start, as long as nobody asks, and not at all for a disk that was there
 * while nobody played. What was played is what the containers of the pods show, whatever became of their Jobs.
 */
export class PlaysOracle extends WitnessOracle<World> {
  /** By uid of the Job. */
  readonly #made = new Map<string, Made>()
  /** By play and its disk or start: the Job by which it was last played, and the pod. */
  readonly #played = new Map<string, { readonly made: Made; readonly pod: string }>()
  /** By name of the workspace. */
  readonly #labs = new Map<string, Lab>()
  /** By uid of a disk that was there while no image was named: when that was over. */
  readonly #foreign = new Map<string, { readonly sinceMs: number; readonly untilMs: number }>()

  onCommit(commit: Commit): void {
    const { resource, object, type } = commit
    if (isType(resource, WORKSPACE)) {
      if (type === 'DELETED') this.#labs.delete(object.metadata.name)
      else this.#noteLab(object as Workspace)
    }
    if (isType(resource, CONFIG_MAP) && object.metadata.name === POLICY_KEY.name) this.#noteAll()
    if (isType(resource, JOB) && type === 'ADDED') this.#noteJob(commit)
    if (isType(resource, POD) && type === 'MODIFIED') this.#notePod(commit)
  }

  #noteAll(): void {
    for (const { object } of this.witness.chronicle.traces.of<Workspace>(WORKSPACE).values()) this.#noteLab(object)
  }

  #noteLab(workspace: Workspace): void {
    const { name, annotations } = workspace.metadata
    const { nowMs } = this.witness.chronicle
    const asked = annotations?.[ANNOTATIONS.playRequestedAt]
    const lab = this.#labs.get(name) ?? { asked: undefined, askedAtMs: Number.NEGATIVE_INFINITY, unnamedSinceMs: nowMs }
    this.#labs.set(name, lab)
    if (asked !== lab.asked) Object.assign(lab, { asked, askedAtMs: nowMs })
    const isNamed = this.#isImageNamed(workspace)
    if (!isNamed) lab.unnamedSinceMs ??= nowMs
    else if (lab.unnamedSinceMs !== undefined) {
      this.#noteForeign(name, lab.unnamedSinceMs)
      lab.unnamedSinceMs = undefined
    }
  }

  #isImageNamed({ spec }: Workspace): boolean {
    const mounts = (spec.containerClusters ?? [])
      .flatMap(({ containers }) => containers)
      .flatMap((one) => one.volumeMounts ?? [])
    if (spec.ansible?.image !== undefined) return true
    const value = this.witness.policy.data['ansibleImage'] ?? 'none'
    return value !== 'none' && !mounts.some(({ name }) => name === 'ansible')
  }

  /** Disks that were there for long while nobody played are as somebody else has set them up. */
  #noteForeign(namespace: string, sinceMs: number): void {
    const { chronicle, disturbances } = this.witness
    const { nowMs: untilMs } = chronicle
    if (untilMs - sinceMs < NOTICED_MS || disturbances.calmForMs('api', 'watch', 'freeze', 'crash') < NOTICED_MS) return
    for (const { object, createdAtMs } of chronicle.traces.of(PERSISTENT_VOLUME_CLAIM).values()) {
      const { uid = '', namespace: home } = object.metadata
      if (home === namespace && createdAtMs < untilMs - NOTICED_MS) this.#foreign.set(uid, { sinceMs, untilMs })
    }
  }

  #noteJob({ object, actor, revision }: Commit): void {
    const { name, namespace = '', uid = '', labels } = object.metadata
    if (labels?.[LABELS.play] === undefined || !isOperator(actor)) return
    if ((object as Job).spec.suspend !== true)
      this.witness.report(
        7,
        `revision ${revision}: Job ${namespace}/${name} is made, and starts before its uid is stored`,
      )
    const args: readonly string[] = (object as PlayJob).spec.template.spec.containers[0]?.args ?? []
    const vm = args[args.indexOf('--limit') + 1] ?? ''
    const isBuild = args.at(-1)?.endsWith('/build.yaml') === true
    const of = this.#subjectOf(namespace, vm, isBuild)
    const title = `${isBuild ? 'build' : 'deploy'} of ${namespace}/${vm}`
    this.#made.set(uid, { title, atMs: this.witness.chronicle.nowMs, isBuild, of })
  }

  /** As its status says: nobody can know better when a machine has just been started again. */
  #subjectOf(namespace: string, vm: string, isBuild: boolean): string | undefined {
    const machines = [...this.witness.chronicle.traces.of<Machine>(MACHINE).values()].map(({ object }) => object)
    const found = machines.find(({ metadata }) => metadata.namespace === namespace && metadata.name === vm)
    return isBuild ? found?.status?.diskUID : found?.status?.kubevirt?.instanceUID
  }

  /** The containers of a pod run only once. */
  #notePod({ object, before, revision }: Commit): void {
    const isRunning = (pod: KubeObject | undefined) => (pod as Pod | undefined)?.status?.phase === 'Running'
    if (!isRunning(object) || isRunning(before)) return
    const made = this.#made.get(object.metadata.labels?.['batch.kubernetes.io/controller-uid'] ?? '')
    if (made?.of === undefined) return
    const { namespace = '', uid = '' } = object.metadata
    const { title, of, isBuild } = made
    const { askedAtMs = Number.NEGATIVE_INFINITY } = this.#labs.get(namespace) ?? {}
    const report = (text: string) => this.witness.report(7, `revision ${revision}: ${title} ${text}`)
    const last = this.#played.get(`${title} ${of}`)
    // Somebody may have asked before the pod of a Job that was deleted ran at last. A Job runs one pod, whoever asks.
    if (last !== undefined && last.pod !== uid && (last.made === made || askedAtMs < last.made.atMs))
      report(`is played again on ${of}, and nobody asked`)
    this.#played.set(`${title} ${of}`, { made, pod: uid })
    const foreign = isBuild ? this.#foreign.get(of) : undefined
    if (foreign !== undefined && made.atMs > foreign.untilMs && askedAtMs < foreign.sinceMs)
      report(`is played on ${of}, which was there while nobody played`)
  }
}

interface PlayJob extends KubeObject {
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly { readonly args?: readonly string[] }[] } }
  }
}
