import { randomBytes } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { NETWORK_POLICY, POD, SERVICE } from '../../operator/kube/resource-types.ts'
import { CONTROL_PLANE } from '../../sandbox/node/addresses.ts'
import type { Place } from '../lab-networks/place.ts'
import type { InsideNodes } from './inside-nodes.ts'
import { Lab, type LabPod, startForLabs, webOf } from './lab.ts'
import { INSIDE, type RealCluster } from './real-cluster.ts'
import { useRealCluster } from './shared-cluster.ts'

/** Every member listens on it, and no spec has it. */
const UNDECLARED = 81
/** Addresses of nobody on the network that the nodes are on, which stand for the internet, and for a range of it that the policy denies. */
const INTERNET = '9.9.9.9'
const DENIED = '9.9.8.8'
const DNS = { namespace: 'kube-system', labels: { 'k8s-app': 'kube-dns' } } as const

interface PodEnd {
  readonly place: Place
  readonly address: string
}

/** Who asks whom, at which port, and whether NetworkPolicies let them. */
type Way = readonly [what: string, from: Place, to: string, port: number, isAllowed: boolean]

describe('the pod network of a lab, on nodes that enforce NetworkPolicies', () => {
  const cluster = useRealCluster()
  const web = (further?: object) => webOf(cluster(), further)

  it('is open where the spec says so, and nowhere else: without the NetworkPolicies all of it would be', async ({
    skip,
  }) => {
    const { inside, client } = cluster()
    if (inside === undefined) return skip(INSIDE)
    await using stage = await startForLabs(cluster(), {
      allowedServiceTypes: 'ClusterIP NodePort',
      allowInternetAccess: 'true',
      internetDeniedCidrs: '9.9.8.0/24',
    })
    const on = (last: number) => [{ network: 'net', ipAddress: `10.77.0.${last}/24` }]
    const [lab, other] = await Promise.all([
      Lab.create(stage, {
        networks: [{ name: 'net', cidr: '10.77.0.0/24' }],
        containerClusters: [
          { name: 'page', interfaces: on(1), containers: web() },
          { name: 'gate', containers: web() },
          { name: 'door', containers: web({ portMappings: [{ containerPort: 80 }] }) },
          // The node itself asks, so it is ready although nobody may reach it.
          {
            name: 'inner',
            interfaces: on(4),
            containers: web({ readinessProbe: { tcpSocket: { port: 80 }, periodSeconds: 1 } }),
          },
        ],
        services: [
          { name: 'page', member: 'page', ports: [{ port: 8000, targetPort: 80 }] },
          { name: 'gate', member: 'gate', type: 'NodePort', ports: [{ port: 80 }] },
        ],
      }),
      Lab.create(stage, {
        internetAccess: 'Enabled',
        containerClusters: [{ name: 'stranger', containers: web({ portMappings: [{ containerPort: 80 }] }) }],
      }),
    ])
    const [anyPod, dns] = await Promise.all([
      createPod(cluster(), { namespace: stage.namespace, labels: {} }),
      createPod(cluster(), DNS),
    ])
    await Promise.all([lab.untilReady(), other.untilReady()])
    const end = (pod: LabPod) => endOf(inside, pod)
    const [page, gate, door, inner] = await Promise.all(
      ['page', 'gate', 'door', 'inner'].map(async (name) => end(await lab.podOf(name))),
    )
    const [stranger, anybody, resolver] = await Promise.all([end(await other.podOf('stranger')), end(anyPod), end(dns)])
    if (!(page && gate && door && inner && stranger && anybody && resolver)) throw new Error('a pod is missing')
    const { outside } = inside
    const places = [page, gate, door, inner, resolver].map(({ place }) => place)
    for (const address of [INTERNET, DENIED]) {
      await outside.run(`ip addr add ${address}/32 dev lo`)
      onTestFinished(async () => await outside.run(`ip addr del ${address}/32 dev lo`))
    }
    // Pods that go leave the processes that were started in them.
    onTestFinished(async () => void (await Promise.all([outside, ...places].map((place) => place.remove()))))
    const served = places.map((place) => place.serve(UNDECLARED, 'undeclared'))
    await Promise.all([...served, resolver.place.serve(53, 'resolver'), outside.serve(80, 'outside')])
    const [ofPage, ofGate] = await Promise.all(
      ['page', 'gate'].map((name) => client.get<Service>(SERVICE, { namespace: lab.name, name })),
    )
    const pageIp = ofPage?.spec.clusterIP ?? ''
    const nodePort = ofGate?.spec.ports[0]?.nodePort ?? 0
    const node = inside.all[0]?.address ?? ''

    const ways: readonly Way[] = [
      ['a pod to a service', anybody.place, pageIp, 8000, true],
      ['a pod to the port of that service', anybody.place, page.address, 80, true],
      ['a pod to another port of its member', anybody.place, page.address, UNDECLARED, false],
      ['a pod to a port mapping', anybody.place, door.address, 80, true],
      ['a pod to another port beside a port mapping', anybody.place, door.address, UNDECLARED, false],
      ['a pod to a member that declares nothing', anybody.place, inner.address, 80, false],
      ['the outside to a NodePort', outside, node, nodePort, true],
      ['the outside to another port of its member', outside, gate.address, UNDECLARED, false],
      ['the outside to a port mapping', outside, door.address, 80, true],
      ['the outside to a member with a ClusterIP', outside, page.address, 80, false],
      ['a member to a service of its lab', inner.place, pageIp, 8000, true],
      ['a member to a port mapping of its lab', inner.place, door.address, 80, true],
      ['a member to another port of its lab', inner.place, page.address, UNDECLARED, false],
      ['a member to a member over their network', inner.place, '10.77.0.1', UNDECLARED, true],
      ['a member to a port mapping of another lab', inner.place, stranger.address, 80, false],
      ['another lab to a service', stranger.place, pageIp, 8000, false],
      ['another lab to a port mapping', stranger.place, door.address, 80, false],
      ['a member to a pod', inner.place, anybody.address, 80, false],
      ['a member to the DNS of the cluster', inner.place, resolver.address, 53, true],
      ['a member to another port of the DNS', inner.place, resolver.address, UNDECLARED, false],
      ['a member to what is outside of the cluster', inner.place, CONTROL_PLANE, 80, false],
      ['a member to the API server', inner.place, API_SERVER, 443, false],
      ['a member to the internet', inner.place, INTERNET, 80, false],
      ['a member of a lab with access to the internet', stranger.place, INTERNET, 80, true],
      ['that one to a range that the policy denies', stranger.place, DENIED, 80, false],
      ['that one to a private address outside of the cluster', stranger.place, CONTROL_PLANE, 80, false],
      ['that one to the API server', stranger.place, API_SERVER, 443, false],
    ]
    const closed = async () => {
      const answers = await Promise.all(ways.map(([, from, to, port]) => from.ask(to, port)))
      return ways.flatMap(([what], index) => (answers[index] === 'nothing' ? [what] : []))
    }
    const denied = ways.flatMap(([what, , , , isAllowed]) => (isAllowed ? [] : [what]))

    // Nobody writes them again.
    await stage.killOperator()
    for (const { name } of [lab, other]) {
      const { items } = await client.list(NETWORK_POLICY, { namespace: name })
      for (const { metadata } of items) await client.delete(NETWORK_POLICY, metadata)
    }
    // Nodes take some seconds to hear of policies and of Services, more on a machine with much to do.
    await expect.poll(closed).toEqual([])
    stage.startOperator()
    await expect.poll(closed).toEqual(denied)
    await Promise.all([lab.remove(), other.remove()])
  })
})

/** The Service `kubernetes`. */
const API_SERVER = '10.96.0.1'

interface Service extends KubeObject {
  readonly spec: { readonly clusterIP: string; readonly ports: readonly { readonly nodePort?: number }[] }
}

async function endOf(inside: InsideNodes, pod: LabPod): Promise<PodEnd> {
  return { place: await inside.placeOf(pod), address: pod.status?.podIP ?? '' }
}

/** Creates a pod of no lab, with the web server of the cluster, and resolves when it runs. It is deleted when the test has ended. */
async function createPod(
  { client, podImage }: RealCluster,
  { namespace, labels }: { readonly namespace: string; readonly labels: Readonly<Record<string, string>> },
): Promise<LabPod> {
  const metadata = { namespace, name: `pod-${randomBytes(3).toString('hex')}`, labels }
  const spec = { containers: [{ name: 'web', image: podImage }], terminationGracePeriodSeconds: 1 }
  await client.create(POD, { apiVersion: 'v1', kind: 'Pod', metadata, spec } as KubeObject)
  onTestFinished(async () => void (await client.delete(POD, metadata)))
  const phase = async () => (await client.get<LabPod>(POD, metadata)).status?.phase
  await expect.poll(phase).toBe('Running')
  return await client.get<LabPod>(POD, metadata)
}
