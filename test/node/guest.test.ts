import { symlink } from 'node:fs/promises'
import type { VirtualMachineSpecInput } from '@open-terrain/constructs'
import type { KubeVirtVirtualMachineSpec } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { apiVersionOf, type KubeObject } from '../../operator/kube/kube-object.ts'
import { KUBEVIRT_VIRTUAL_MACHINE, SECRET } from '../../operator/kube/resource-types.ts'
import { whyNoGuests } from '../../sandbox/guest/tools.ts'
import { conditionOf, MACHINE } from '../harness/kinds.ts'
import { FACTS_SCRIPT, type GuestFacts, readFacts } from './guest-facts.ts'
import type { InsideNodes } from './inside-nodes.ts'
import { NodeStage } from './node-stage.ts'
import { type Rendered, RenderedGuest } from './rendered-guest.ts'
import { useRealCluster } from './shared-cluster.ts'
import { reportRunning } from './stand-in-kubevirt.ts'

const NAME = 'router'
const PASSWORD = 'correct horse: "battery" \\ $taple'
const SUDO = 'ALL=(ALL) NOPASSWD:ALL'
/** Behind the neighbours of the first and the last network. */
const [FAR, FAR_V6] = ['203.0.113.7', '2001:db8::7']
/** In the order of the interfaces. */
const NEIGHBOURS = ['10.77.0.1/24', '10.78.0.1/24', 'fd77::1/64']
const INTERFACES: VirtualMachineSpecInput['interfaces'] = [
  {
    network: 'inside',
    ipAddress: '10.77.0.5/24',
    routes: [
      { to: '0.0.0.0/0', via: '10.77.0.1' },
      // The machine itself: left out.
      { to: '192.0.2.0/24', via: '10.77.0.5' },
    ],
    nameservers: ['10.77.0.1'],
  },
  {
    network: 'backup',
    ipAddress: '10.78.0.5/24',
    routes: [
      { to: '0.0.0.0/0', via: '10.78.0.1' },
      { to: '172.26.0.0/15', via: '10.78.0.1' },
    ],
  },
  { network: 'six', ipAddress: 'fd77::5/64', routes: [{ to: '::/0', via: 'fd77::1' }], nameservers: ['fd77::1'] },
]

const whyNot = process.env['NODE_KUBECONFIG'] ? 'the nodes were made by somebody else' : await whyNoGuests()

describe.skipIf(whyNot !== undefined)('a guest that is given what the operator renders', () => {
  const cluster = useRealCluster()

  it('is as the spec says, stays so when it starts again, and has read its data once', async () => {
    await using stage = await NodeStage.start(cluster())
    await using guest = await RenderedGuest.prepare(insideOf(stage).folder, NEIGHBOURS)
    const { key, publicKey } = await guest.newKey()
    const alice = { user: 'alice', host: '10.77.0.5', key }
    const users = [
      {
        name: 'demo user',
        passwordSecretRef: { name: 'login', key: 'password' },
        lock_passwd: false,
        groups: 'sudo,students',
      },
      { name: 'alice', sudo: SUDO, ssh_authorized_keys: [publicKey] },
    ]
    const disk = await rootDiskOf(stage, guest, { name: 'edge', users })
    await guest.start(await renderedIn(stage), disk)
    await guest.untilReady(alice)
    const first = readFacts(await guest.run(alice, FACTS_SCRIPT))
    const rendered = await renderedIn(stage)
    expectAsSpecified(first, rendered)
    await expectReachable(guest, alice)

    const byPassword = { user: 'demo-user', host: '10.77.0.5', password: PASSWORD }
    expect(await guest.run(byPassword, 'id -un')).toBe('demo-user\n')
    await expect(guest.run({ ...byPassword, password: 'wrong' }, 'id -un')).rejects.toThrow(/Permission denied/)
    await expect(guest.run({ ...byPassword, user: 'alice' }, 'id -un')).rejects.toThrow(/Permission denied/)

    await guest.shutDown()
    await guest.start(rendered, disk)
    await guest.untilReady(alice)
    expect(readFacts(await guest.run(alice, FACTS_SCRIPT)).lasting).toEqual(first.lasting)

    await reportRunning(cluster().client, stage.keyOf(NAME))
    await untilRunning(stage)
    const changed = [...users, { name: 'bob', ssh_authorized_keys: [publicKey] }]
    await change(stage, { users: changed })
    await guest.shutDown()
    await guest.start(await renderedIn(stage), disk)
    await guest.untilReady(alice)
    expect(readFacts(await guest.run(alice, FACTS_SCRIPT)).lasting).toEqual(first.lasting)
    await guest.shutDown()
    await cluster().client.delete(MACHINE, stage.keyOf(NAME))
    await stage.finish()
  })
})

function insideOf({ cluster }: NodeStage): InsideNodes {
  if (cluster.inside === undefined) throw new Error('the files of this cluster cannot be reached')
  return cluster.inside
}

/** Imports the guest's disk as an image and makes a machine from it. Resolves with the file that its root disk is when it is complete. */
async function rootDiskOf(
  stage: NodeStage,
  guest: RenderedGuest,
  spec: Partial<VirtualMachineSpecInput>,
): Promise<string> {
  const { client } = stage.cluster
  const inside = insideOf(stage)
  await symlink(guest.diskFile, inside.source('guest.qcow2'))
  await stage.createImage('debian', 'guest.qcow2', { diskSize: '2Gi' })
  expect(await stage.untilDecided('debian')).toBe('Synced')
  const login = { stringData: { password: PASSWORD }, metadata: stage.keyOf('login') }
  await client.create(SECRET, { apiVersion: 'v1', kind: 'Secret', ...login } as KubeObject)
  await client.create(MACHINE, {
    apiVersion: apiVersionOf(MACHINE),
    kind: MACHINE.kind,
    metadata: stage.keyOf(NAME),
    spec: {
      ...spec,
      resources: { cpu: '2', memory: '1Gi' },
      interfaces: INTERFACES,
      vmDiskImageRef: { name: 'debian' },
    },
  } as KubeObject)
  const { namespace } = stage
  const { mirror } = stage
  await mirror.until(
    'KubeVirt has the machine and its disk',
    () =>
      mirror.kubevirtMachines.get(`${namespace}/${NAME}`) !== undefined &&
      mirror.dataVolumes.get(`${namespace}/${NAME}-root`)?.status?.phase === 'Succeeded',
    () => JSON.stringify([mirror.machines.get(`${namespace}/${NAME}`)?.status, stage.logs.lines.slice(-20)]),
  )
  return inside.pathInVolume(await stage.untilVolume(`${NAME}-root`), 'disk.img')
}

/** What is stored for KubeVirt. */
async function renderedIn(stage: NodeStage): Promise<Rendered> {
  const { client } = stage.cluster
  const machine = await client.get<KubeObject & { readonly spec: KubeVirtVirtualMachineSpec }>(
    KUBEVIRT_VIRTUAL_MACHINE,
    stage.keyOf(NAME),
  )
  return { machine, secret: await client.get(SECRET, stage.keyOf(`${NAME}-cloudinit`)) }
}

function expectAsSpecified(facts: GuestFacts, { machine }: Rendered): void {
  const { devices, firmware } = machine.spec.template.spec.domain
  expect(facts.lasting).toMatchObject({ hostname: 'edge\nedge', instance: firmware.uuid, problems: '' })
  expect(facts.lasting.machineId).toMatch(/^[0-9a-f]{32}$/)
  expect(facts.links).toEqual([
    { name: 'net0', mac: devices.interfaces[0]?.macAddress, addresses: ['10.77.0.5/24'] },
    { name: 'net1', mac: devices.interfaces[1]?.macAddress, addresses: ['10.78.0.5/24'] },
    { name: 'net2', mac: devices.interfaces[2]?.macAddress, addresses: ['fd77::5/64'] },
  ])
  expect(facts.routes).toEqual([
    { to: 'default', via: '10.77.0.1', link: 'net0', metric: 100 },
    { to: 'default', via: '10.78.0.1', link: 'net1', metric: 101 },
    { to: '172.26.0.0/15', via: '10.78.0.1', link: 'net1', metric: 101 },
    { to: 'default', via: 'fd77::1', link: 'net2', metric: 102 },
  ])
  expect(facts.nameservers).toEqual(['10.77.0.1', 'fd77::1'])
  expect(facts.users).toMatchObject({
    'demo-user': { fullName: 'demo user', groups: ['demo-user', 'students', 'sudo'] },
    alice: { groups: ['alice'] },
  })
  // The user of the image stays.
  expect(Object.keys(facts.users).sort()).toEqual(['alice', 'debian', 'demo-user'])
}

/** By packets: the neighbours, what is behind the default routes, and names. */
async function expectReachable(guest: RenderedGuest, login: Parameters<RenderedGuest['run']>[0]): Promise<void> {
  const [inside, , six] = guest.wires.wires
  await inside?.neighbour.script(`ip address add ${FAR}/32 dev lo`)
  await six?.neighbour.script(`ip address add ${FAR_V6}/128 dev lo nodad`)
  await guest.serveNames('10.77.0.1', FAR)
  const hosts = [...NEIGHBOURS.map((address) => address.split('/')[0]), FAR, FAR_V6, 'host.lab.example']
  for (const host of hosts) {
    expect(await guest.run(login, `ping -c 1 -W 5 ${host} >/dev/null && echo ${host} answers`)).toBe(
      `${host} answers\n`,
    )
  }
}

async function untilRunning({ mirror, namespace }: NodeStage): Promise<void> {
  const seen = () => mirror.machines.get(`${namespace}/${NAME}`)?.status
  await mirror.until(
    'the machine is Ready',
    () => seen()?.phase === 'Ready',
    () => JSON.stringify(seen()),
  )
}

/** Changes the spec of the machine, and waits until the new data is stored and the machine says what that means. */
async function change(stage: NodeStage, spec: Partial<VirtualMachineSpecInput>): Promise<void> {
  await stage.cluster.client.mergePatch(MACHINE, stage.keyOf(NAME), { spec })
  const seen = () => stage.mirror.machines.get(`${stage.namespace}/${NAME}`)
  await stage.mirror.until(
    'a change that needs a new disk is told',
    () => conditionOf(seen(), 'RebuildRequired')?.status === 'True',
    () => JSON.stringify(seen()?.status),
  )
}
