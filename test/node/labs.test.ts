import { podNetworksIn } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { apiVersionOf, type KubeObject, type ResourceType } from '../../operator/kube/kube-object.ts'
import { NAMESPACE, NETWORK_ATTACHMENT_DEFINITION } from '../../operator/kube/resource-types.ts'
import { CONTROL_PLANE } from '../../sandbox/node/addresses.ts'
import { ATTACKS, type Scene } from '../lab-networks/attacks.ts'
import type { InsideNodes } from './inside-nodes.ts'
import { Lab, type LabPod, SITE_NETWORK, startForLabs, webOf } from './lab.ts'
import { installLabIsolation } from './lab-isolation.ts'
import { INSIDE, type RealCluster } from './real-cluster.ts'
import { useRealCluster } from './shared-cluster.ts'

const SERVICES: ResourceType = { group: '', version: 'v1', kind: 'Service', plural: 'services', namespaced: true }
const ENDPOINT_SLICES: ResourceType = {
  group: 'discovery.k8s.io',
  version: 'v1',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
  namespaced: true,
}

describe('a lab on nodes that run its containers', () => {
  const cluster = useRealCluster()
  const start = () => startForLabs(cluster())
  const web = (further?: object) => webOf(cluster(), further)

  it('has the interfaces, addresses, routes and name servers that it declares, and a hostPort that answers', async ({
    skip,
  }) => {
    const { inside } = cluster()
    if (inside === undefined) return skip(INSIDE)
    await using stage = await start()
    await makeSiteNetwork(cluster())
    const lab = await Lab.create(stage, {
      names: 'hosts',
      networks: [
        {
          name: 'front',
          cidr: '10.77.0.0/24',
          routes: [
            { destinationNetworkCidr: '0.0.0.0/0', nextHopIpAddress: '10.77.0.1' },
            { destinationNetworkCidr: '172.27.0.0/16', nextHopIpAddress: '10.77.0.20' },
          ],
          nameservers: { addresses: ['10.77.0.53'] },
        },
        { name: 'back', cidr: '10.78.0.0/24' },
        { name: 'wire' },
        { name: 'site', attach: SITE_NETWORK },
      ],
      containerClusters: [
        { name: 'router', interfaces: [{ network: 'front', ipAddress: '10.77.0.1/24' }], containers: web() },
        {
          name: 'member',
          interfaces: [
            { network: 'front', ipAddress: '10.77.0.10/24' },
            { network: 'back', ipAddress: '10.78.0.10/24' },
            { network: 'wire', macAddress: '52:54:00:00:00:03' },
            { network: 'site', ipAddress: '10.81.0.10/24' },
          ],
          containers: web(),
        },
        {
          name: 'door',
          interfaces: [{ network: 'front', ipAddress: '10.77.0.20/24' }],
          containers: web({ portMappings: [{ containerPort: 80, hostPort: 8081 }] }),
        },
        {
          name: 'inner',
          interfaces: [
            { network: 'back', ipAddress: '10.78.0.30/24' },
            { network: 'wire', ipAddresses: ['10.79.0.30/24', 'fd00:79::30/64'] },
            { network: 'site', ipAddress: '10.81.0.30/24' },
          ],
          containers: web({
            files: [
              { path: '/etc/motd', content: 'welcome\n' },
              { path: '/run/key', secretKeyRef: { name: 'web', key: 'key' } },
            ],
            env: [
              { name: 'KEY', valueFrom: { secretKeyRef: { name: 'web', key: 'key' } } },
              { name: 'LAB', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
            ],
            readinessProbe: { tcpSocket: { port: 80 }, periodSeconds: 1 },
          }),
        },
      ],
      services: [{ name: 'page', member: 'door', ports: [{ port: 8000, targetPort: 80 }] }],
    })
    const create = `kubectl -n ${lab.name} create secret generic web `
    expect(await lab.untilReason('inner', 'SecretMissing')).toBe(`${create}--from-file=key=FILE`)
    await lab.createSecret('web', { key: 'not for everybody' })
    await lab.untilReady()
    const [router, member, door, inner] = await lab.podsOf('router', 'member', 'door', 'inner')

    const place = await inside.placeOf(member)
    const links = JSON.parse(await place.exec(['ip', '-json', '-4', 'address'])) as Link[]
    const addresses = links.map(({ ifname, addr_info: [first] }) => [ifname, `${first?.local}/${first?.prefixlen}`])
    expect(addresses.filter(([name]) => name?.startsWith('net'))).toEqual([
      ['net1', '10.77.0.10/24'],
      ['net2', '10.78.0.10/24'],
      ['net4', '10.81.0.10/24'],
    ])
    const macs = (await Promise.all(['net1', 'net2', 'net3', 'net4'].map((name) => place.macOf(name)))).filter(Boolean)
    expect(macs).toEqual(podNetworksIn(member.metadata.annotations).map(({ mac }) => mac))
    const way = async (from: typeof place, to: string) => {
      const [route] = JSON.parse(await from.exec(['ip', '-json', 'route', 'get', to])) as Route[]
      return [route?.dev, route?.gateway]
    }
    for (const far of ['8.8.8.8', '192.0.2.1']) expect(await way(place, far)).toEqual(['net1', '10.77.0.1'])
    expect(await way(place, '172.27.3.4')).toEqual(['net1', '10.77.0.20'])
    expect(await inside.fileOf(member, '/etc/resolv.conf')).toBe('nameserver 10.77.0.53\n')
    // The kubelet leaves the file alone that the operator has mounted there.
    const hosts = (await inside.fileOf(member, '/etc/hosts')).split('\n')
    expect(hosts.filter((line) => /^10\./.test(line))).toEqual([
      '10.77.0.20 door',
      ...['10.78.0.30 inner', '10.79.0.30 inner', '10.81.0.30 inner'],
      ...['10.77.0.10 member', '10.78.0.10 member', '10.81.0.10 member'],
      '10.77.0.1 router',
    ])
    expect(await inside.fileOf(inner, '/etc/motd')).toBe('welcome\n')
    expect(await inside.fileOf(inner, '/run/key')).toBe('not for everybody')
    const variables = (await inside.fileOf(inner, '/proc/1/environ')).split('\0')
    expect(variables).toEqual(expect.arrayContaining(['KEY=not for everybody', `LAB=${lab.name}`]))
    // A container that runs may not answer yet, and kube-proxy hears of a Service in its own time.
    await expect.poll(() => place.ask('10.77.0.20', 80)).toBe('door')
    await expect.poll(() => place.ask('10.78.0.30', 80)).toBe('inner')
    await expect.poll(() => place.ask('10.81.0.30', 80)).toBe('inner')
    // An interface without an address gets one from whoever is in the pod.
    await place.exec(['ip', 'address', 'add', '10.79.0.10/24', 'dev', 'net3'])
    await expect.poll(() => place.ask('10.79.0.30', 80)).toBe('inner')
    expect(await (await inside.placeOf(inner)).exec(['ip', '-6', 'address', 'show', 'net2'])).toContain(
      'fd00:79::30/64',
    )
    // Nobody has told it of another network.
    expect((await way(await inside.placeOf(inner), '8.8.8.8'))[0]).toBe('eth0')

    const page = await stage.cluster.client.get<KubeObject & { spec: { clusterIP: string } }>(SERVICES, {
      namespace: lab.name,
      name: 'page',
    })
    // The default route of the router is that of its node.
    const gateway = await inside.placeOf(router)
    await expect.poll(() => gateway.ask(page.spec.clusterIP, 8000)).toBe('door')

    const { address } = inside.nodeOf(door.spec.nodeName ?? '')
    await expect.poll(() => inside.outside.ask(address, 8081)).toBe('door')
    expect(await lab.untilReason('door', 'DefaultRouteLeftOut')).toMatch(/no default route/)
    await lab.remove()
  })

  it('has containers behind a router that is one: each has the routes that it can use', async ({ skip }) => {
    const { inside } = cluster()
    if (inside === undefined) return skip(INSIDE)
    await using stage = await start()
    const lan = (name: string, at: number, far: number) => ({
      name,
      routes: [
        { destinationNetworkCidr: `10.${far}.0.0/24`, nextHopIpAddress: `10.${at}.0.1` },
        { destinationNetworkCidr: `fd00:${far}::/64`, nextHopIpAddress: `fd00:${at}::1` },
      ],
    })
    const on = (network: string, at: number, host: number) => ({
      network,
      ipAddresses: [`10.${at}.0.${host}/24`, `fd00:${at}::${host}/64`],
    })
    const lab = await Lab.create(stage, {
      networks: [lan('left', 77, 78), lan('right', 78, 77)],
      containerClusters: [
        { name: 'router', interfaces: [on('left', 77, 1), on('right', 78, 1)], containers: web() },
        { name: 'first', interfaces: [on('left', 77, 10)], containers: web() },
        { name: 'second', interfaces: [on('right', 78, 10)], containers: web() },
      ],
    })
    await lab.untilReady()
    const [router, first, second] = await Promise.all(
      ['router', 'first', 'second'].map(async (name) => inside.placeOf(await lab.podOf(name))),
    )
    if (!(router && first && second)) throw new Error('a pod is missing')
    // As whoever is a router has it.
    await router.run('sysctl -qw net.ipv4.ip_forward=1')
    await expect.poll(() => first.ask('10.78.0.10', 80)).toBe('second')
    await expect.poll(() => second.ask('10.77.0.10', 80)).toBe('first')
    const way = JSON.parse(await first.exec(['ip', '-6', '-json', 'route', 'get', 'fd00:78::10'])) as Route[]
    expect(way.map(({ dev, gateway }) => [dev, gateway])).toEqual([['net1', 'fd00:77::1']])
    expect(await router.exec(['ip', 'route', 'show', '10.78.0.0/24'])).not.toContain('via')
    await lab.remove()
  })

  it('is not ready while a pod runs without its networks, says so, and replaces it', async ({ skip }) => {
    const { inside } = cluster()
    if (inside === undefined) return skip(INSIDE)
    await using stage = await start()
    await Promise.all(inside.all.map((node) => node.setMultus(false)))
    const lab = await Lab.create(stage, {
      networks: [{ name: 'inside', cidr: '10.77.0.0/24' }],
      containerClusters: [
        { name: 'web', interfaces: [{ network: 'inside', ipAddress: '10.77.0.2/24' }], containers: web() },
      ],
    })
    const missing = await lab.untilReason('web', 'NetworksMissing')
    expect(missing).toMatch(/runs without its networks: it has no interface net1, as Multus has reported nothing/)
    const [before] = await lab.pods()
    expect(before?.status?.phase).toBe('Running')
    await Promise.all(inside.all.map((node) => node.setMultus(true)))
    await lab.untilReady()
    const after = await lab.podOf('web')
    expect(after.metadata.uid).not.toBe(before?.metadata.uid)
    expect(await (await inside.placeOf(after)).exec(['ip', 'address', 'show', 'net1'])).toContain('10.77.0.2/24')
    await lab.remove()
  })

  it('reaches neither its node nor what is behind it nor Services over its networks where labIsolation is installed', async ({
    skip,
  }) => {
    const { inside } = cluster()
    if (inside === undefined) return skip(INSIDE)
    await using stage = await start()
    // In the range of the cluster's Services, and one of them has the address of a member.
    const at = (address: string) => [{ network: 'net', ipAddress: `${address}/24` }]
    const [lab, other] = await Promise.all([
      Lab.create(stage, {
        networks: [{ name: 'net', cidr: '10.96.77.0/24' }],
        containerClusters: [
          { name: 'mallory', interfaces: at('10.96.77.66'), containers: web() },
          { name: 'member', interfaces: at(SERVICE), containers: web() },
        ],
      }),
      Lab.create(stage, {
        networks: [{ name: 'net', cidr: '10.97.0.0/24' }],
        containerClusters: [{ name: 'other', interfaces: at('10.97.0.7'), containers: web() }],
      }),
    ])
    await Promise.all([lab.untilReady(), other.untilReady()])
    await createService(cluster(), lab.name)
    await lab.untilCondition('NetworksIsolated', 'Unknown')

    const pod = await lab.podOf('mallory')
    const scene = await sceneOf(inside, pod, await bridgeOf(cluster(), pod))
    const outcome = async () => {
      const found: Record<string, string> = {}
      for (const [what, , attack] of ATTACKS) found[what] = await attack(scene)
      await scene.mallory.run('ip neigh flush nud permanent dev net1')
      return found
    }
    await expect.poll(outcome).toEqual(Object.fromEntries(ATTACKS.map(([what, open]) => [what, open])))
    // kube-proxy hears of the Service in its own time.
    await expect.poll(() => scene.mallory.ask(SERVICE, 80)).not.toBe('member')

    await installLabIsolation(cluster())
    await lab.untilCondition('NetworksIsolated', 'True')
    expect(await outcome()).toEqual(Object.fromEntries(ATTACKS.map(([what]) => [what, 'nothing'])))
    expect(await scene.mallory.resolve(scene.nodeAddress, 'net1')).toBe('nothing')
    await expect.poll(() => scene.mallory.ask(SERVICE, 80)).toBe('member')
    await scene.known('10.97.0.7')
    expect(await scene.mallory.ask('10.97.0.7', 80)).toBe('nothing')
    await scene.remove()
    await Promise.all([lab.remove(), other.remove()])
  })
})

/** Of the lab that attacks, and of a Service of the cluster. */
const SERVICE = '10.96.77.10'
const NODE_PORT = 10_999

/** A Service that leads out of the lab. */
async function createService({ client }: RealCluster, namespace: string): Promise<void> {
  const metadata = { name: 'outside', namespace }
  const port = { name: 'http', port: 80, protocol: 'TCP' }
  await client.create(SERVICES, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
    spec: { clusterIP: SERVICE, ports: [port] },
  } as KubeObject)
  await client.create(ENDPOINT_SLICES, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { ...metadata, labels: { 'kubernetes.io/service-name': metadata.name } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [CONTROL_PLANE] }],
    ports: [port],
  } as KubeObject)
}

async function bridgeOf({ client }: RealCluster, { metadata }: LabPod): Promise<string> {
  const [network] = podNetworksIn(metadata.annotations)
  const definition = await client.get<KubeObject & { spec: { config: string } }>(NETWORK_ATTACHMENT_DEFINITION, {
    namespace: network?.namespace ?? '',
    name: network?.name ?? '',
  })
  return (JSON.parse(definition.spec.config) as { bridge: string }).bridge
}

/** What a platform team makes once: a network of the site, which pods get the addresses on that they ask for. */
async function makeSiteNetwork({ client }: RealCluster): Promise<void> {
  const [namespace = '', name = ''] = SITE_NETWORK.split('/')
  const config = {
    cniVersion: '0.3.1',
    name,
    type: 'bridge',
    bridge: 'site0',
    capabilities: { ips: true, mac: true },
    ipam: { type: 'static' },
  }
  const apiVersion = apiVersionOf(NETWORK_ATTACHMENT_DEFINITION)
  await client.create(NAMESPACE, { apiVersion: 'v1', kind: NAMESPACE.kind, metadata: { name: namespace } })
  await client.create(NETWORK_ATTACHMENT_DEFINITION, {
    apiVersion,
    kind: NETWORK_ATTACHMENT_DEFINITION.kind,
    metadata: { namespace, name },
    spec: { config: JSON.stringify(config) },
  } as KubeObject)
}

/** A pod, its node, and what is behind that. Answers find their way, if the node lets questions through. */
async function sceneOf(inside: InsideNodes, pod: LabPod, bridge: string): Promise<Scene & { remove(): Promise<void> }> {
  const nodeName = pod.spec.nodeName ?? ''
  const { address } = inside.nodeOf(nodeName)
  const [node, mallory, { outside }] = [inside.placeOfNode(nodeName), await inside.placeOf(pod), inside]
  await node.run(`ip route add 10.96.77.0/24 dev ${bridge}`)
  await outside.run(`ip route add 10.96.77.0/24 via ${address}`)
  await mallory.run(`ip route add ${address}/32 dev net1
    ip route add ${CONTROL_PLANE}/32 dev net1
    ip route add 10.97.0.0/24 dev net1`)
  await Promise.all([node.serve(NODE_PORT, 'the node'), outside.serve(80, 'outside')])
  const mac = await node.macOf(bridge)
  return {
    node,
    mallory,
    bridge,
    nodeAddress: address,
    nodePort: NODE_PORT,
    outsideAddress: CONTROL_PLANE,
    known: (to) => mallory.run(`ip neigh replace ${to} lladdr ${mac} dev net1 nud permanent`),
    remove: async () => {
      await Promise.all([node.remove(), outside.remove()])
      await outside.run('ip route del 10.96.77.0/24')
    },
  }
}

interface Link {
  readonly ifname: string
  readonly addr_info: readonly { readonly local: string; readonly prefixlen: number }[]
}

interface Route {
  readonly dev: string
  readonly gateway?: string
}
