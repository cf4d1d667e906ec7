import { labIsolationRules } from '@open-terrain/constructs/infra'
import { renderWorkspaceNetwork } from '@open-terrain/constructs/operator'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ATTACKS } from './attacks.ts'
import { Host, whyNot } from './namespaces.ts'

const why = await whyNot()
if (why !== undefined) process.stdout.write(`the attacks of labs on their node are not tried in this run: ${why}\n`)

const [LAB, OTHER] = [bridgeOf('lab-1'), bridgeOf('lab-2')]
/** An address of the node that belongs to another interface. */
const NODE = '192.0.2.1'
/** A Service address, and also that of a member of the lab. */
const SERVICE = '10.96.0.10'

/**
 * A node as Kubernetes configures it, with the bridges of two labs as the plug-in `bridge` makes them: up, with a veth for each member, without an
 * address. `mallory` and `web` are in one lab, `other` is in another one. `outside` is behind the node.
 */
async function makeNode() {
  const [node, mallory, web, other, outside] = await Promise.all(
    ['node', 'mallory', 'web', 'other', 'outside'].map((role) => Host.make(role)),
  )
  const all = [node, mallory, web, other, outside].filter((one) => one !== undefined)
  onTestFinished(async () => {
    await Promise.all(all.map((one) => one.remove()))
  })
  if (!(node && mallory && web && other && outside)) throw new Error('no hosts')
  await node.run(`
    ip addr add ${NODE}/32 dev lo
    ip link add ${LAB} type bridge
    ip link set ${LAB} up
    ip link add ${OTHER} type bridge
    ip link set ${OTHER} up
    sysctl -qw net.ipv4.ip_forward=1
    sysctl -qw net.bridge.bridge-nf-call-iptables=1
    sysctl -qw net.bridge.bridge-nf-call-ip6tables=1
    nft add table ip kube
    nft add chain ip kube services { type nat hook prerouting priority dstnat; }
    nft add rule ip kube services ip daddr ${SERVICE} tcp dport 80 dnat to ${NODE}:10256
  `)
  const attach = async (host: Host, bridge: string, port: string, address: string) => {
    await node.connect(port, host, 'net1')
    await node.run(`ip link set ${port} master ${bridge}`)
    await host.run(`ip addr add ${address} dev net1`)
  }
  await attach(mallory, LAB, 'v1', '10.96.0.66/24')
  await attach(web, LAB, 'v2', `${SERVICE}/24`)
  await attach(other, OTHER, 'v3', '10.97.0.7/24')
  await node.connect('up0', outside, 'eth0')
  await node.run('ip addr add 198.51.100.1/24 dev up0')
  // So that answers would find their way, if the node let questions through.
  await outside.run('ip addr add 198.51.100.2/24 dev eth0\nip route add 10.96.0.0/24 via 198.51.100.1')
  await node.run(`ip route add 10.96.0.0/24 dev ${LAB}`)
  await Promise.all([
    node.serve(10_256, 'the node'),
    web.serve(80, 'the lab'),
    other.serve(80, 'another lab'),
    outside.serve(80, 'outside'),
  ])
  const mac = await node.macOf(LAB)
  await mallory.run(`
    ip route add ${NODE}/32 dev net1
    ip route add 198.51.100.0/24 dev net1
    ip route add 10.97.0.0/24 dev net1
  `)
  /** Without ARP: root in a guest can send anything. */
  const known = async (address: string) =>
    await mallory.run(`ip neigh replace ${address} lladdr ${mac} dev net1 nud permanent`)
  const scene = { bridge: LAB, nodeAddress: NODE, nodePort: 10_256, outsideAddress: '198.51.100.2' }
  return { ...scene, node, mallory, web, other, outside, known }
}

const isolate = async (node: Host) => {
  await node.exec(['nft', '-f', '-'], labIsolationRules())
}

describe.skipIf(why !== undefined)('on a node with Linux bridges, a member of a lab', () => {
  it.each(ATTACKS)('reaches %s without the rules, and not with them', async (_what, open, attack) => {
    const scene = await makeNode()
    expect(await attack(scene)).toBe(open)
    await isolate(scene.node)
    expect(await attack(scene)).toBe('nothing')
  })

  it('gets an ARP answer of the node without the rules, and none with them', async () => {
    const { node, mallory } = await makeNode()
    expect(await mallory.resolve(NODE, 'net1')).toBe(await node.macOf(LAB))
    await mallory.run('ip neigh flush dev net1')
    await isolate(node)
    expect(await mallory.resolve(NODE, 'net1')).toBe('nothing')
  })

  it('reaches a member at an address that is that of a Service with the rules, and the Service without them', async () => {
    const { node, mallory } = await makeNode()
    expect(await mallory.ask(SERVICE, 80)).not.toBe('the lab')
    await isolate(node)
    expect(await mallory.ask(SERVICE, 80)).toBe('the lab')
  })

  it('never reaches another lab, and is not reached from the node or from behind it', async () => {
    const { node, mallory, web, other, outside, known } = await makeNode()
    await web.run(`
      ip addr add 10.96.0.80/24 dev net1
      ip route add ${NODE}/32 dev net1
      ip route add 198.51.100.0/24 dev net1
      ip neigh replace 198.51.100.2 lladdr ${await node.macOf(LAB)} dev net1 nud permanent
    `)
    const fromNode = async () => [await node.ask('10.96.0.80', 80), await outside.ask('10.96.0.80', 80)]
    expect(await fromNode()).toEqual(['the lab', 'the lab'])
    await isolate(node)
    expect(await fromNode()).toEqual(['nothing', 'nothing'])
    await known('10.97.0.7')
    const address = await other.linkLocalOf('net1')
    expect([await mallory.ask('10.97.0.7', 80), await mallory.ask(`${address}%net1`, 80)]).toEqual([
      'nothing',
      'nothing',
    ])
    expect(await mallory.ask(`${await web.linkLocalOf('net1')}%net1`, 80)).toBe('the lab')
  })

  it('is isolated by rules that can be loaded twice, and that leave the node itself alone', async () => {
    const { node, outside } = await makeNode()
    await isolate(node)
    await isolate(node)
    const tables = (await node.exec(['nft', 'list', 'tables'])).trim().split('\n')
    expect(tables.filter((one) => one.endsWith('open_terrain_labs'))).toHaveLength(2)
    expect([await outside.ask('198.51.100.1', 10_256), await node.ask('198.51.100.2', 80)]).toEqual([
      'the node',
      'outside',
    ])
  })
})

/** The bridge of a network, as it is rendered for the plug-in. */
function bridgeOf(workspace: string): string {
  const network = { name: 'net', cidr: '10.0.0.0/24' }
  const spec = { networks: [network] }
  const [definition] = renderWorkspaceNetwork({
    workspace: { name: workspace, uid: workspace },
    spec,
    network,
    driver: 'bridge',
  })
  return JSON.parse(definition?.spec.config ?? '{}').bridge
}
