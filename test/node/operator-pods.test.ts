import { join } from 'node:path'
import { OPERATOR_NAMESPACE, POLICY_NAME } from '@open-terrain/constructs/operator'
import type { Manifest } from '@open-terrain/constructs/platform'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { environmentManifests } from '../../infra/manifests.ts'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { DEPLOYMENT } from '../../operator/kube/resource-types.ts'
import { NODE } from '../../sandbox/resource-types.ts'
import { isOperatorPod } from '../../sandbox/simulators/operator-pods/template.ts'
import { InstalledOperator } from '../harness/installed-operator.ts'
import { inNamespaces } from '../harness/own-objects.ts'
import { execIn } from './exec.ts'
import { NodeStage } from './node-stage.ts'
import { useRealCluster } from './shared-cluster.ts'

const ROOT = join(import.meta.dirname, '../..')
const REPLICAS = 2
const DEPLOYMENT_KEY = { namespace: OPERATOR_NAMESPACE, name: 'open-terrain-operator' }
const KEPT = /^(CustomResourceDefinition|Namespace)$/
/** Mebibytes of the installed limit. */
const LIMIT = 320
/** An image that takes a while, and one that waits for its slot. */
const SLOW = 'slow/disk.raw.xz'
const QUICK = 'disk.qcow2'

interface OperatorPod extends KubeObject {
  readonly spec: { readonly nodeName?: string }
  readonly status?: {
    readonly containerStatuses?: readonly {
      readonly imageID: string
      readonly restartCount: number
      readonly ready: boolean
      readonly state?: { readonly terminated?: { readonly exitCode: number } }
    }[]
  }
}

/** What a process in the container of the operator sees. `peak` and `limit` are bytes. */
interface Inside {
  readonly uid: number
  readonly gid: number
  readonly written: string
  readonly limit: number
  readonly peak: number
  readonly status: string
  readonly resident: number
}

const LOOK_INSIDE = `
const fs = require('node:fs')
const read = (...files) => fs.readFileSync(files.find((file) => fs.existsSync(file)), 'utf8')
let written = 'written'
try { fs.writeFileSync('/operator.txt', '') } catch (error) { written = error.code }
const groups = '/sys/fs/cgroup'
const status = read('/proc/1/status')
console.log(JSON.stringify({
  uid: process.getuid(), gid: process.getgid(), written, status,
  limit: Number(read(groups + '/memory.max', groups + '/memory/memory.limit_in_bytes')),
  peak: Number(read(groups + '/memory.peak', groups + '/memory/memory.max_usage_in_bytes')),
  resident: Number(/VmRSS:\\s+(\\d+)/.exec(status)[1]),
}))`

/** What an observer of a namespace saw. Starts at once. */
class Downloads {
  most = 0
  readonly #uids = new Map<string, Set<string>>()

  constructor({ mirror, namespace }: NodeStage) {
    mirror.dataVolumes.onChange(({ after }) => {
      if (after === undefined || after.metadata.namespace !== namespace) return
      const { ownerReferences: [owner] = [], uid = '' } = after.metadata
      const image = owner?.name ?? ''
      this.#uids.set(image, (this.#uids.get(image) ?? new Set()).add(uid))
      const open = inNamespaces(mirror.dataVolumes, [namespace]).filter(({ status }) => status?.phase !== 'Succeeded')
      this.most = Math.max(this.most, open.length)
    })
  }

  /** How many downloads an image has had. */
  of(image: string): number {
    return this.#uids.get(image)?.size ?? 0
  }
}

/** Containers of the operator as the kubelet told last, also of pods that are gone. */
const containersOf = (pods: readonly KubeObject[]) =>
  (pods as readonly OperatorPod[]).flatMap(({ status }) => status?.containerStatuses ?? [])

describe('the operator as pods on nodes', () => {
  const cluster = useRealCluster()
  let stage: NodeStage
  let operator: InstalledOperator
  let image = ''
  let manifests: readonly Manifest[] = []

  beforeAll(async () => {
    const images = cluster().operatorImages
    if (images === undefined) return
    image = await images.of(inject('operatorBundle'), 'today')
    manifests = manifestsOf(image, cluster().sourceUrl)
    stage = await NodeStage.startIdle(cluster())
    operator = new InstalledOperator(stage)
    for (const object of manifests) await operator.applyObject(object)
    await operator.untilRolledOut(image, REPLICAS)
  })

  /** What outlives an installation stays: CRDs and namespaces. */
  afterAll(async () => {
    if (image === '') return
    await operator.removeOperator()
    for (const object of manifests.filter(({ kind }) => !KEPT.test(kind))) await operator.remove(object)
    await operator[Symbol.asyncDispose]()
    await stage[Symbol.asyncDispose]()
  })

  beforeEach(({ skip }) => skip(image === '', 'NODE_REGISTRY names no registry that nodes of this cluster pull from'))

  const pods = () => operator.pods as readonly KubeObject[] as readonly OperatorPod[]
  const nodes = () => new Set(pods().map(({ spec }) => spec.nodeName))
  const podOf = (name: string) => pods().find(({ metadata }) => metadata.name === name) as OperatorPod
  const evict = (pod: OperatorPod) =>
    operator.admin.ask('POST', `${podPath(pod)}/eviction`, {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { namespace: pod.metadata.namespace, name: pod.metadata.name },
    })

  /** Disturbs the operator while one image downloads and another waits for the only slot. Each is downloaded once, one after the other. */
  async function duringDownload(name: string, disturb: () => Promise<void>): Promise<void> {
    const downloads = new Downloads(stage)
    await stage.createImage(`${name}-first`, SLOW)
    await stage.untilImage(`${name}-first`, 'downloading', ({ status }) => status?.phase === 'Syncing')
    await stage.createImage(`${name}-second`, QUICK)
    await disturb()
    for (const one of [`${name}-first`, `${name}-second`]) {
      expect(await stage.untilDecided(one)).toBe('Synced')
      expect(stage.imageOf(one)?.status?.attempts).toMatchObject([{ number: 1, outcome: 'Succeeded', downloads: 1 }])
      expect(downloads.of(one)).toBe(1)
    }
    expect(downloads.most).toBe(1)
    await stage.finish()
    await stage.untilNoSlots()
  }

  it('are two on two nodes, pulled by digest, one of which leads; neither has more rights or memory than it was given', async () => {
    await operator.untilLeading()
    expect(nodes().size).toBe(2)
    for (const { imageID, restartCount } of containersOf(pods())) {
      expect([imageID.split('@')[1], restartCount]).toEqual([image.split('@')[1], 0])
    }
    for (const { metadata } of pods()) {
      const { kubeconfigPath } = cluster().controlPlane
      const node = ['node', '-e', LOOK_INSIDE]
      const inside = JSON.parse(await execIn(kubeconfigPath, metadata, 'operator', ...node)) as Inside
      expect(inside).toMatchObject({ uid: 65532, gid: 65532, written: 'EROFS', limit: LIMIT * 2 ** 20 })
      expect(inside.status).toMatch(/^CapEff:\t0+\n(?:.*\n)*NoNewPrivs:\t1\nSeccomp:\t2$/m)
      // With the process that looks, which is Node too.
      expect(inside.peak).toBeLessThan(inside.limit)
      expect(inside.resident * 1_024).toBeLessThan(inside.limit / 2)
      await expect(execIn(kubeconfigPath, metadata, 'operator', '/bin/sh', '-c', 'true')).rejects.toThrow(
        /no such file or directory/,
      )
    }
  })

  it('lose and repeat nothing when the container of the leader is killed: it starts again in its pod, and one of them leads', async ({
    skip,
  }) => {
    const { inside } = cluster()
    if (inside === undefined) return skip('nobody reaches the nodes of this cluster')
    await duringDownload('killed', async () => {
      const leader = await operator.untilLeading()
      const { holderIdentity } = leaseOf(stage) ?? {}
      await inside.kill(podOf(leader))
      await stage.until('another lead', () => leaseOf(stage)?.holderIdentity !== holderIdentity)
      // The kubelet tells of the restart in its own time.
      const isRestarted = () => podOf(leader).status?.containerStatuses?.[0]?.restartCount === 1
      const ready = () => containersOf(pods()).filter((one) => one.ready)
      await stage.until(
        'two ready pods, one of which was restarted',
        () => isRestarted() && ready().length === REPLICAS,
      )
    })
  })

  it('move when the node of the leader is drained, and never all at once', async () => {
    await duringDownload('drained', async () => {
      const leader = await operator.untilLeading()
      const node = podOf(leader).spec.nodeName ?? ''
      const [there, elsewhere] = [true, false].map((is) => pods().filter(({ spec }) => (spec.nodeName === node) === is))
      await cordon(node, true)
      for (const pod of there ?? []) expect(await evict(pod)).toMatchObject({ status: 201 })
      for (const pod of elsewhere ?? []) expect(await evict(pod)).toMatchObject({ status: 429 })
      await operator.untilLeading((pod) => pod !== leader)
      await stage.until('no pod is there', () => !nodes().has(node))
      await operator.untilRolledOut(image, REPLICAS)
      await cordon(node, null)
    })
  })

  it('are replaced one by one by a new template, spread over both nodes again, and end with exit code 0', async () => {
    await duringDownload('replaced', async () => {
      let fewest = REPLICAS
      stage.mirror.deployments.onChange(() => {
        fewest = Math.min(fewest, operator.deployment?.status?.readyReplicas ?? 0)
      })
      const before = pods().map(({ metadata }) => metadata.name)
      const annotations = { 'kubectl.kubernetes.io/restartedAt': new Date().toISOString() }
      const template = { metadata: { annotations } }
      await cluster().client.mergePatch(DEPLOYMENT, DEPLOYMENT_KEY, { spec: { template } })
      await stage.until('other pods', () => pods().every(({ metadata }) => !before.includes(metadata.name)))
      await operator.untilRolledOut(image, REPLICAS)
      expect(fewest).toBe(REPLICAS)
      expect(nodes().size).toBe(2)
      await operator.untilLeading((pod) => !before.includes(pod))
    })
  })

  it('leave a node that gets a taint, and all that were stopped so far have ended by themselves', async () => {
    const leader = await operator.untilLeading()
    const node = { name: podOf(leader).spec.nodeName ?? '' }
    const taint = (taints: object[] | null) => cluster().client.mergePatch(NODE, node, { spec: { taints } })
    await taint([{ key: 'open-terrain.invalid/away', effect: 'NoExecute' }])
    await stage.until('no pod is there', () => !nodes().has(node.name))
    await taint(null)
    await operator.untilLeading((pod) => pod !== leader)
    await operator.untilRolledOut(image, REPLICAS)
    const ended = containersOf(stage.mirror.pods.deleted.filter(isOperatorPod))
    expect(ended.length).toBeGreaterThan(REPLICAS)
    expect(ended.map(({ state }) => state?.terminated?.exitCode)).toEqual(ended.map(() => 0))
  })

  async function cordon(name: string, unschedulable: boolean | null): Promise<void> {
    await cluster().client.mergePatch(NODE, { name }, { spec: { unschedulable } })
  }
})

/** What `npm run synth` writes, with one download at a time. */
function manifestsOf(image: string, sourceUrl: string): Manifest[] {
  const files = environmentManifests({ folder: ROOT, environment: 'staging', image })
  const objects = [...files]
    .filter(([file]) => file !== '4-monitoring.yaml')
    .flatMap(([, text]) => parseAllDocuments(text).map((document) => document.toJS() as Manifest))
  const policy = { allowedSourceUrls: `${sourceUrl}/`, concurrency: '1', retryLimit: '0' }
  return objects.map((object) =>
    object.metadata.name === POLICY_NAME ? { ...object, data: { ...(object['data'] as object), ...policy } } : object,
  )
}

function leaseOf({ mirror }: NodeStage) {
  return mirror.leases.get(`${OPERATOR_NAMESPACE}/sync-operator`)?.spec
}

function podPath({ metadata }: KubeObject): string {
  return `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`
}
