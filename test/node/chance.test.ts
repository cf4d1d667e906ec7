import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { compareResourceVersions, type KubeObject } from '../../operator/kube/kube-object.ts'
import { ignoreExisting, ignoreNotFound } from '../harness/grounds.ts'
import { IMAGE, type Image, isSynced } from '../harness/kinds.ts'
import { checkLedger, checkOrder } from '../harness/ledger-check.ts'
import { inNamespaces } from '../harness/own-objects.ts'
import { randomFrom } from '../simulation/random.ts'
import { hasScratch, type ImporterPod, importersOf, isDownloading, isRunning } from './importers.ts'
import { NodeStage } from './node-stage.ts'
import { useRealCluster } from './shared-cluster.ts'
import { WatchedHistory } from './watched-history.ts'

const SEED = Number(process.env['NODE_SEED'] ?? 1)
/** They take about five seconds each. CI has no time for them. */
const INTERRUPTIONS = Number(process.env['NODE_INTERRUPTIONS'] ?? 0)
const LIMIT = 2
/** An outage comes with every so many interruptions. */
const OUTAGE_EVERY = 12
/** Every image needs scratch space. One is slow enough to be interrupted while it downloads. */
const IMAGES: Readonly<Record<string, string>> = {
  one: 'disk.qcow2',
  two: 'disk.raw.xz',
  three: 'disk.raw.gz',
  four: 'disk.qcow2',
  five: 'slow/disk.raw.xz',
  six: 'disk.raw.gz',
}
const NAMES = Object.keys(IMAGES)

class Chance {
  readonly told: string[] = []
  /** Nodes that were interrupted, and when. */
  readonly outages: { readonly from: number; readonly to: number }[] = []
  readonly #stage: NodeStage
  readonly #random: () => number
  readonly #later: { readonly after: number; readonly undo: () => Promise<unknown> }[] = []
  #step = 0
  #refreshes = 0

  constructor(stage: NodeStage, random: () => number) {
    this.#stage = stage
    this.#random = random
  }

  #oneOf<T>(all: readonly T[]): T {
    return all[Math.floor(this.#random() * all.length)] as T
  }

  /** Moments in the life of an import, in their order. */
  readonly #moments: Readonly<Record<string, (name: string) => boolean>> = {
    queued: (name) => this.#stage.imageOf(name)?.status?.phase === 'Queued',
    'has a DataVolume': (name) => this.#importerOf(name) === undefined && this.#dataVolumeOf(name) !== undefined,
    'has an importer': (name) => this.#importerOf(name) !== undefined,
    downloads: (name) => isRunning(this.#importerOf(name)),
    'waits for scratch space': (name) => hasScratch(this.#importerOf(name)) && !isRunning(this.#importerOf(name)),
    'downloads to scratch space': (name) => hasScratch(this.#importerOf(name)) && isRunning(this.#importerOf(name)),
    'has downloaded': (name) => this.#stage.imageOf(name)?.status?.phase === 'Succeeded',
  }

  readonly #acts: Readonly<Record<string, (name: string) => Promise<unknown>>> = {
    suspend: async (name) => {
      await this.#patch(name, { spec: { suspend: true } })
      this.#afterwards(() => this.#patch(name, { spec: { suspend: false } }))
    },
    refresh: (name) => this.#refresh(name),
    delete: async (name) => {
      await this.#delete(name)
      this.#afterwards(() => this.#create(name))
    },
    'delete and create': async (name) => {
      const uid = this.#stage.imageOf(name)?.metadata.uid ?? ''
      await this.#delete(name)
      const probe = () => this.#stage.imageOf(name)?.metadata.uid !== uid
      await this.#stage.mirror.until(`the end of ${name}`, probe, () => this.#stage.seen())
      await this.#create(name)
    },
    pause: async () => {
      await this.#stage.setPolicy({ concurrency: '0' })
      this.#afterwards(() => this.#stage.setPolicy({ concurrency: String(LIMIT) }))
    },
  }

  /** Interrupts an image at a moment of its import. */
  async interrupt(): Promise<void> {
    this.#step += 1
    if (this.#step % OUTAGE_EVERY === 0) await this.#outage()
    for (const due of this.#later.filter(({ after }) => after <= this.#step)) await this.#undo(due)
    const moment = this.#oneOf(Object.keys(this.#moments))
    const name = await this.#untilSomeone(moment)
    const acts = Object.keys(this.#acts)
    // A second one comes while the first is still carried out.
    for (const act of this.#random() < 0.25 ? [this.#oneOf(acts), this.#oneOf(acts)] : [this.#oneOf(acts)]) {
      this.told.push(`${this.#step}: ${name} ${moment}: ${act}`)
      await this.#acts[act]?.(name)
    }
  }

  /** Undoes everything, and waits until every image is synced. */
  async settle(): Promise<void> {
    await this.#undoAll()
    for (const name of NAMES) await this.#stage.untilImage(name, 'synced', isSynced)
  }

  /** Resolves with an image for which it is that moment. If all is at rest, all is begun again. */
  async #untilSomeone(moment: string): Promise<string> {
    const isNow = this.#moments[moment] as (name: string) => boolean
    const { mirror, namespace } = this.#stage
    const first = Math.floor(this.#random() * NAMES.length)
    const names = [...NAMES.slice(first), ...NAMES.slice(0, first)]
    const isAtRest = () =>
      inNamespaces(mirror.dataVolumes, [namespace]).every(({ status }) => status?.phase === 'Succeeded') &&
      (this.#later.length > 0 || inNamespaces(mirror.images, [namespace]).every(isSynced))
    const probe = () => names.find(isNow) ?? (isAtRest() && ('' as const))
    for (;;) {
      const found = await mirror.until(`an image that ${moment}`, probe, () => this.#stage.seen())
      if (found !== '') return found
      await this.#undoAll()
      for (const name of NAMES) await this.#refresh(name)
    }
  }

  async #undoAll(): Promise<void> {
    for (const due of [...this.#later]) await this.#undo(due)
  }

  async #outage(): Promise<void> {
    const { inside } = this.#stage.cluster
    const from = Date.now()
    const node = this.#oneOf(['node-1', 'node-2'])
    const all: Readonly<Record<string, () => Promise<void>>> = {
      'the operator is killed': () => this.#stage.replaceOperator(),
      ...(inside && {
        'the controller of CDI is killed': () => inside.killCdi(),
        [`kubelet and containerd of ${node} are killed`]: () => inside.nodeOf(node).restartAgents(),
        [`the power of ${node} is cut`]: async () => {
          await inside.nodeOf(node).stop()
          await inside.nodeOf(node).startAgain()
        },
      }),
    }
    const names = Object.keys(all)
    // In turn, so that each of them comes.
    const name = names[(this.#step / OUTAGE_EVERY) % names.length] as string
    this.told.push(`${this.#step}: ${name}`)
    await all[name]?.()
    if (name.includes('node')) this.outages.push({ from, to: Date.now() })
  }

  #afterwards(undo: () => Promise<unknown>): void {
    this.#later.push({ after: this.#step + 1 + Math.floor(this.#random() * 3), undo })
  }

  async #undo(due: { readonly undo: () => Promise<unknown> }): Promise<void> {
    this.#later.splice(this.#later.indexOf(due as never), 1)
    await due.undo()
  }

  /** Resolves when the image is there, and not being deleted. What the mirror shows may be older than the last deletion. */
  async #create(name: string): Promise<void> {
    const { client } = this.#stage.cluster
    for (;;) {
      await this.#stage.createImage(name, IMAGES[name] as string).catch(ignoreExisting)
      const found = await client.get(IMAGE, this.#stage.keyOf(name)).catch(ignoreNotFound)
      if (found !== undefined && found.metadata.deletionTimestamp === undefined) return
      // It was gone between the two requests.
      if (found === undefined) continue
      const probe = () => this.#stage.imageOf(name)?.metadata.uid !== found.metadata.uid
      await this.#stage.mirror.until(`the end of ${name}`, probe, () => this.#stage.seen())
    }
  }

  async #delete(name: string): Promise<void> {
    await this.#stage.deleteImage(name).catch(ignoreNotFound)
  }

  async #refresh(name: string): Promise<void> {
    this.#refreshes += 1
    const annotations = { [ANNOTATIONS.syncRequestedAt]: String(this.#refreshes) }
    await this.#patch(name, { metadata: { annotations } })
  }

  async #patch(name: string, patch: object): Promise<void> {
    await this.#stage.cluster.client.mergePatch(IMAGE, this.#stage.keyOf(name), patch).catch(ignoreNotFound)
  }

  #importerOf(name: string): ImporterPod | undefined {
    return importersOf(this.#stage).find((pod) => isOf(pod, name) && pod.metadata.deletionTimestamp === undefined)
  }

  #dataVolumeOf(name: string): KubeObject | undefined {
    const { mirror, namespace } = this.#stage
    return inNamespaces(mirror.dataVolumes, [namespace]).find(
      (one) => isOf(one, name) && one.status?.phase !== 'Succeeded',
    )
  }
}

function isOf({ metadata }: KubeObject, name: string): boolean {
  return metadata.labels?.[LABELS.imageName] === name
}

/** No more importers may be there at any moment than slots. */
function checkImporters(history: WatchedHistory): void {
  const present = new Map<string, ImporterPod>()
  const version = ({ object }: { readonly object: KubeObject }) => object.metadata.resourceVersion ?? '0'
  const pods = history.events.filter(({ kind }) => kind === 'Pod')
  for (const { type, object } of pods.toSorted((a, b) => compareResourceVersions(version(a), version(b)))) {
    const pod = object as ImporterPod
    if (type === 'DELETED' || !isDownloading(pod)) present.delete(pod.metadata.uid ?? '')
    else present.set(pod.metadata.uid ?? '', pod)
    if (present.size > LIMIT) {
      const names = [...present.values()].map(({ metadata }) => metadata.labels?.[LABELS.imageName])
      throw new Error(`revision ${version({ object })}: importers of ${names.join(', ')}, the limit is ${LIMIT}`)
    }
  }
}

/** Only what a node went through makes an attempt fail: what else happened was a person's wish, or does not concern a download. */
function untrueAttempts(history: WatchedHistory, { outages }: Chance): unknown[] {
  const attempts = history.events
    .filter(({ kind }) => kind === 'VMDiskImage')
    .flatMap(({ object }) => (object as Image).status?.attempts ?? [])
  const all = new Map(attempts.map((attempt) => [`${attempt.dataVolumeUID} ${attempt.outcome}`, attempt]))
  const isExplained = (startedAt = '', endedAt = '') =>
    outages.some(({ from, to }) => Date.parse(endedAt) + 1_000 >= from && Date.parse(startedAt) - 1_000 <= to)
  const wished = new Set(['Suspended', 'SpecChanged'])
  return [...all.values()].filter(
    ({ outcome, reason, startedAt, endedAt }) =>
      outcome !== 'Succeeded' &&
      !(outcome === 'Cancelled' && wished.has(reason)) &&
      !isExplained(startedAt, endedAt ?? undefined),
  )
}

describe('downloads that are interrupted by chance', () => {
  const cluster = useRealCluster()

  it.runIf(INTERRUPTIONS > 0)(
    `keep their slots and no others, and all images are synced in the end (${INTERRUPTIONS} times, NODE_SEED=${SEED})`,
    async () => {
      await using stage = await NodeStage.start(cluster(), {
        concurrency: String(LIMIT),
        retryLimit: '100',
        retryBackoffDuration: '1s',
        retryBackoffMax: '1s',
      })
      const history = new WatchedHistory(cluster().client, stage.namespace, stage.operatorNamespace)
      const chance = new Chance(stage, randomFrom(SEED))
      try {
        for (const [name, source] of Object.entries(IMAGES)) await stage.createImage(name, source)
        for (let left = INTERRUPTIONS; left > 0; left -= 1) await chance.interrupt()
        await chance.settle()
        await stage.finish()
        await stage.untilNoSlots()
        await history.stop()
        checkLedger(history.events, stage.operatorNamespace)
        // On a busy machine its own writes take longer than others are to wait for it.
        const isPassed = (ticket: string) =>
          stage.logs.lines.some((line) => line.includes('an image cannot start yet') && line.includes(`"${ticket}"`))
        checkOrder(history.events, stage.operatorNamespace, { isPassed })
        checkImporters(history)
        expect(untrueAttempts(history, chance)).toEqual([])
      } catch (error) {
        throw new Error(`${(error as Error).message}\nwhat was done:\n${chance.told.join('\n')}`, { cause: error })
      }
    },
  )
})
