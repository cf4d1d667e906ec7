import { LABELS } from '@open-terrain/constructs'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { NODE, POD } from '../../operator/kube/resource-types.ts'
import { IMAGES } from '../../sandbox/node/images.ts'
import { ignoreExisting } from '../harness/grounds.ts'
import type { InsideNodes } from './inside-nodes.ts'
import { Lab, type LabPod, startForLabs, webOf } from './lab.ts'
import type { NodeStage } from './node-stage.ts'
import { INSIDE } from './real-cluster.ts'
import { useRealCluster } from './shared-cluster.ts'

const PORT = 9090

interface Node extends KubeObject {
  readonly spec: { readonly taints?: readonly Taint[]; readonly unschedulable?: boolean }
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] }
}

interface Taint {
  readonly key: string
  readonly value?: string
  readonly effect: string
}

describe('a lab and its nodes', () => {
  const cluster = useRealCluster()
  const start = () => startForLabs(cluster())
  const web = (further?: object) => webOf(cluster(), further)
  const onNet = (last: number) => [{ network: 'net', ipAddress: `10.77.0.${last}/24` }]
  const networks = [{ name: 'net', cidr: '10.77.0.0/24' }]
  const change = (node: string, spec: object) => cluster().client.mergePatch(NODE, { name: node }, { spec })
  const deletePod = ({ metadata }: LabPod) => cluster().client.delete(POD, metadata)

  /** Makes it unschedulable until the test has ended, however that ends. */
  async function cordon(name: string): Promise<void> {
    onTestFinished(async () => void (await change(name, { unschedulable: null })))
    await change(name, { unschedulable: true })
  }

  /** Stops a node. It is started again by what this returns, or else when the test has ended, however that ends. */
  async function stopNode(inside: InsideNodes, name: string): Promise<() => Promise<void>> {
    const node = inside.nodeOf(name)
    let back: Promise<void> | undefined
    const startAgain = async () => {
      // A kubelet that makes its Node itself can take minutes until its storage drivers are registered.
      await cluster().client.create(NODE, { apiVersion: 'v1', kind: 'Node', metadata: { name } }).catch(ignoreExisting)
      await node.startAgain()
      await change(name, { taints: null })
      await expect.poll(() => isReady(name)).toBe('True')
    }
    const once = async () => {
      back ??= startAgain()
      await back
    }
    onTestFinished(once, 150_000)
    await node.stop()
    return once
  }

  async function isReady(name: string): Promise<string | undefined> {
    const { status } = await cluster().client.get<Node>(NODE, { name })
    return status?.conditions?.find(({ type }) => type === 'Ready')?.status
  }

  /** A lab with one member, and the node that it is on. */
  async function labOnNode(stage: NodeStage): Promise<{ lab: Lab; before: LabPod; name: string }> {
    const containerClusters = [{ name: 'web', interfaces: onNet(1), containers: web() }]
    const lab = await Lab.create(stage, { networks, containerClusters })
    await lab.untilReady()
    const before = await lab.podOf('web')
    return { lab, before, name: before.spec.nodeName ?? '' }
  }

  async function expectMoved(lab: Lab, before: LabPod): Promise<void> {
    const after = await lab.untilReplaced('web', before)
    expect(after.spec.nodeName).not.toBe(before.spec.nodeName)
    await lab.untilReady()
  }

  it('finds one node for members with a hostPort and a local volume, and says what prevents it', async ({ skip }) => {
    if (cluster().localStorageClass === undefined) return skip('no volumes here are bound to a node')
    await using stage = await start()
    const door = { name: 'door', containers: web({ portMappings: [{ containerPort: 80, hostPort: PORT }] }) }
    const members = () =>
      Lab.create(stage, {
        networks,
        volumes: [{ name: 'data', size: '64Mi' }],
        containerClusters: [
          { name: 'plain', interfaces: onNet(1), containers: web() },
          {
            name: 'stored',
            interfaces: onNet(2),
            containers: web({ volumeMounts: [{ name: 'data', containerPath: '/data' }] }),
          },
          { ...door, interfaces: onNet(3) },
        ],
      })
    const [taker, lab] = await Promise.all([Lab.create(stage, { containerClusters: [door] }), members()])
    await Promise.all([taker.untilReady(), lab.untilReady()])
    const [node, ...further] = await lab.nodes()
    const [taken] = await taker.nodes()
    expect(further).toEqual([])
    expect(node).not.toBe(taken)

    const late = await members()
    expect(await late.untilReason('door', 'Unschedulable')).toMatch(/free ports/)
    await taker.remove()
    await late.untilReady()
    expect(await late.nodes()).toEqual([taken])

    const before = await lab.pods()
    await Promise.all(before.map(deletePod))
    for (const one of before) await lab.untilReplaced(one.metadata.labels?.[LABELS.containerCluster] ?? '', one)
    await lab.untilReady()
    expect(await lab.nodes()).toEqual([node])
    await Promise.all([lab.remove(), late.remove()])
  })

  it('moves when its node is drained, after a pod that does not end when it is told to', async () => {
    // Elsewhere it ends.
    const image = cluster().inside === undefined ? cluster().podImage : IMAGES.stubbornWeb
    await using stage = await start()
    const lab = await Lab.create(stage, {
      networks,
      containerClusters: [
        { name: 'stubborn', interfaces: onNet(1), containers: web({ image }) },
        { name: 'plain', interfaces: onNet(2), containers: web() },
      ],
    })
    await lab.untilReady()
    const before = await lab.podOf('stubborn')
    const node = before.spec.nodeName ?? ''
    await cordon(node)
    const started = performance.now()
    await Promise.all((await lab.pods()).map(deletePod))
    await lab.untilReplaced('stubborn', before)
    expect(lab.isHeldBy(before)).toBe(false)
    await lab.untilReady()
    process.stdout.write(`the drain took ${Math.round((performance.now() - started) / 1_000)} s\n`)
    expect(await lab.nodes()).not.toContain(node)
    await lab.remove()
  })

  it('does not move when its node is lost, gives the command for that, and moves after it', async ({ skip }) => {
    const { inside, client } = cluster()
    if (inside === undefined) return skip(INSIDE)
    await using stage = await start()
    const { lab, before, name } = await labOnNode(stage)
    const startAgain = await stopNode(inside, name)
    const told = await lab.untilReason('web', 'NodeNotReporting')
    // As the cluster does five minutes later.
    await deletePod(before)
    expect(await lab.untilReason('web', 'PodNotEnding')).toContain(commandIn(told))
    expect(lab.isHeldBy(before)).toBe(true)
    expect((await lab.pods()).filter(({ spec }) => spec.nodeName !== undefined)).toHaveLength(1)

    const [node, key = '', value = '', effect = ''] = commandIn(told).split(/[ =:]/).slice(3)
    expect(node).toBe(name)
    const { spec } = await client.get<Node>(NODE, { name })
    await change(name, { taints: [...(spec.taints ?? []), { key, value, effect }] })
    await expectMoved(lab, before)

    await startAgain()
    await lab.remove()
  })

  it('moves when somebody deletes the Node of a node that is lost', async ({ skip }) => {
    const { inside, client } = cluster()
    if (inside === undefined) return skip(INSIDE)
    await using stage = await start()
    const { lab, before, name } = await labOnNode(stage)
    const startAgain = await stopNode(inside, name)
    await client.delete(NODE, { name })
    await expectMoved(lab, before)

    await startAgain()
    await lab.remove()
  })
})

/** The command at the end of a message. */
function commandIn(message: string): string {
  return /kubectl taint nodes \S+ \S+$/.exec(message)?.[0] ?? ''
}
