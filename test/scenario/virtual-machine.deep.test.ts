import { ANNOTATIONS } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import type { KubeObject, Raw } from '../../operator/kube/kube-object.ts'
import {
  CUSTOM_RESOURCE_DEFINITION,
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  NAMESPACE,
  PERSISTENT_VOLUME_CLAIM,
  SECRET,
  VIRTUAL_MACHINE_INSTANCE,
} from '../../operator/kube/resource-types.ts'
import type { Machine as KubeVirtMachine } from '../../sandbox/simulators/kubevirt-models.ts'
import { useCluster } from '../harness/cluster.ts'
import { conditionOf, MACHINE } from '../harness/kinds.ts'
import { Machines } from '../harness/machines.ts'
import { refuseCreation } from '../harness/refusal.ts'
import { ONE_AT_A_TIME, World } from '../harness/world.ts'

const CHILDREN = [KUBEVIRT_VIRTUAL_MACHINE, VIRTUAL_MACHINE_INSTANCE, DATA_VOLUME, SECRET]
const ON_A_NETWORK = { interfaces: [{ network: 'control-net', ipAddress: '10.10.0.161/24' }] }
/** What KubeVirt may be refused, with what the operator touches to have it tried again. */
const REFUSALS = {
  instanceless: { type: 'instanceRefused', touched: KUBEVIRT_VIRTUAL_MACHINE },
  podless: { type: 'podRefused', touched: VIRTUAL_MACHINE_INSTANCE },
} as const

const cluster = useCluster()

describe('a virtual machine on a real API server', () => {
  it('says why it does not start, runs, writes nothing then, is reset, holds its image as long as it lives, and leaves nothing', async () => {
    // KubeVirt itself would try again what it was refused when the test is long over: the operator has it do so, a minute after the refusal.
    const pace = { retryMs: 1_000_000 }
    await using world = await World.start(cluster(), { policy: { concurrency: '1', resetGrace: '0s' }, pace })
    const { namespace, client, simulators } = world
    const machines = new Machines(world)
    const message = 'failed to setup network for sandbox "<id>": no such bridge'
    const letStart = simulators.kubevirt.script(
      { namespace, name: 'vm' },
      { type: 'notCreated', message, everyMs: 5_000 },
    )
    const allow = Object.entries(REFUSALS).map(([name, { type }]) =>
      simulators.kubevirt.script({ namespace, name }, { type, message: 'exceeded quota: small' }),
    )
    await machines.create('vm', ON_A_NETWORK)
    for (const name of Object.keys(REFUSALS)) await machines.create(name)
    await Promise.all(
      Object.keys(REFUSALS).map((name) =>
        machines.until(name, 'refused', (one) => one.status?.message?.includes('exceeded quota: small') === true),
      ),
    )
    for (const end of allow) end()
    const { status: waiting } = await machines.untilReason('vm', 'NetworkMissing')
    expect(waiting?.message).toContain('NetworkAttachmentDefinition control-net')
    await world.createNetwork('control-net')
    const { status: stuck } = await machines.untilReason('vm', 'PodNotStarting')
    expect(stuck?.message).toContain('FailedCreatePodSandBox: failed to setup network for sandbox "…": no such bridge')
    letStart()
    const { status } = await machines.untilReady('vm')
    for (const [name, { touched }] of Object.entries(REFUSALS)) {
      await machines.untilReady(name)
      const { metadata } = await client.get(touched, { namespace, name })
      expect(metadata.annotations?.['pelotech.ot/retried-at'], name).toMatch(/^20.*Z$/)
    }
    const { artifact } = (await world.untilSynced('golden')).status ?? {}
    expect(status).toMatchObject({
      addresses: ['10.10.0.161'],
      image: { namespace, name: 'golden', revision: artifact?.revision },
    })
    // The state of the image does not matter to a machine that has a disk.
    expect(status?.image).not.toHaveProperty('phase')
    expect(world.getImage('golden')?.metadata.labels).toMatchObject({ 'pelotech.ot/created-by': 'VirtualMachine' })
    expect(world.downloads('golden')).toBe(1)

    await world.untilQuiet()
    const before = await versionsOf(world)
    // This takes longer than any echo of a write would.
    await machines.untilAnotherRuns()
    expect(await versionsOf(world)).toEqual(before)

    const machineOf = async () => await client.get<KubeVirtMachine>(KUBEVIRT_VIRTUAL_MACHINE, { namespace, name: 'vm' })
    const first = await machineOf()
    const annotations = { [ANNOTATIONS.resetRequestedAt]: '2026-01-02T12:00:00Z' }
    await client.mergePatch(MACHINE, { namespace, name: 'vm' }, { metadata: { annotations } })
    await machines.until('vm', 'reset', ({ status: now }) => {
      return now?.clone?.name === 'vm-root-g2' && now.oldDisk === undefined && now.diskUID !== undefined
    })
    await machines.untilReady('vm', 'Running')
    const second = await machineOf()
    const { volumes = [], domain } = second.spec.template.spec
    expect(volumes[0]).toEqual({ name: 'rootdisk', dataVolume: { name: 'vm-root-g2' } })
    expect(domain?.devices?.interfaces).toEqual(first.spec.template.spec.domain?.devices?.interfaces)
    expect(second.metadata.uid).toBe(first.metadata.uid)
    const { items: claims } = await client.list(PERSISTENT_VOLUME_CLAIM, { namespace })
    const names = claims.map(({ metadata }) => metadata.name)
    expect(names.filter((name) => name.startsWith('vm-root'))).toEqual(['vm-root-g2'])

    await world.deleteImage('golden')
    await world.untilImage('golden', 'held', (image) => conditionOf(image, 'DeletionBlocked')?.status === 'True')
    await machines.delete('vm', 'other', ...Object.keys(REFUSALS))
    await world.deleteImage('other')
    for (const image of ['golden', 'other']) await world.untilGone(image)
    for (const type of CHILDREN) expect((await client.list(type, { namespace })).items).toEqual([])
    await world.finish()
  })

  it('says what the API server refuses, and that a KubeVirt is too old for a field, and goes on when it is taken', async () => {
    await using world = await World.start(cluster(), ONE_AT_A_TIME)
    const { namespace, client } = world
    const machines = new Machines(world)
    const { plural, group, version } = KUBEVIRT_VIRTUAL_MACHINE
    const key = { name: `${plural}.${group}` }
    const { spec }: Raw = await client.get(CUSTOM_RESOURCE_DEFINITION, key)
    const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
    const properties = { spec: { type: 'object', properties: { runStrategy: { type: 'string' } } }, status: open }
    const older = spec.versions.map((one: Raw) =>
      one.name === version ? { ...one, schema: { openAPIV3Schema: { type: 'object', properties } } } : one,
    )
    await client.mergePatch(CUSTOM_RESOURCE_DEFINITION, key, { spec: { versions: older } })
    const allow = await refuseCreation(world, {
      namespace,
      group: SECRET.group,
      version: SECRET.version,
      resource: SECRET.plural,
      message: 'no Secrets here',
      probe: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'probe' } },
    })
    await machines.create('vm')
    const says = (words: string) =>
      machines.until('vm', words, ({ status }) => status?.message?.includes(words) === true)
    const refused = await says('the API server rejected the change: ')
    expect(refused.status?.message).toContain('no Secrets here')
    await allow()
    const tooOld = await says('upgrade what installed this kind')
    expect(tooOld.status?.message).toContain('unknown field "spec.template"')
    expect((await client.list(KUBEVIRT_VIRTUAL_MACHINE, { namespace })).items).toEqual([])
    await client.mergePatch(CUSTOM_RESOURCE_DEFINITION, key, { spec: { versions: spec.versions } })
    // Who watched the older version may still see its fields only: the upgrade has started KubeVirt again.
    await world.restartSimulators()
    // A refused write is retried after up to a minute.
    await machines.untilReady('vm')
    await machines.delete('vm')
    await world.finish()
  })

  it('goes with its namespace and the images in it, whatever it is waiting for', async () => {
    await using world = await World.start(cluster(), ONE_AT_A_TIME)
    const doomed = `${world.namespace}-doomed`
    await world.createNamespace(doomed)
    const machines = new Machines(world, doomed)
    const imageOf = (name: string) => ({
      vmDiskImageRef: { name },
      vmDiskImageTemplate: world.image(name).spec as never,
    })
    await machines.create('ready', imageOf('done'))
    await machines.untilReady('ready')
    world.simulators.cdi.script({ namespace: doomed, name: 'cloning-root' }, { type: 'cloneStalls' })
    await machines.create('cloning', imageOf('done'))
    await machines.untilReason('cloning', 'Cloning')
    world.gate.hold(world.urlOf('held'))
    await machines.create('waiting', imageOf('held'))
    await machines.untilReason('waiting', 'ImageSyncing')
    await machines.create('failed', { ...imageOf('none'), vmDiskImageMode: 'FailIfNotExist' })
    await machines.untilReason('failed', 'ImageNotFound')

    await world.client.delete(NAMESPACE, { name: doomed })
    await world.until('the namespace is gone', () => world.mirror.namespaces.get(doomed) === undefined)
    await world.until('the slot is free', () => world.ledger?.holders.length === 0)
    await world.syncImage('next')
    await world.finish()
  })
})

/** Versions of the machine `vm` and of its children. */
async function versionsOf({ client, namespace }: World): Promise<readonly unknown[]> {
  const objects = await Promise.all([
    client.get(MACHINE, { namespace, name: 'vm' }),
    client.get(SECRET, { namespace, name: 'vm-cloudinit' }),
    client.get(KUBEVIRT_VIRTUAL_MACHINE, { namespace, name: 'vm' }),
    client.get(DATA_VOLUME, { namespace, name: 'vm-root' }),
  ])
  return objects.map(({ metadata }: KubeObject) => metadata.resourceVersion)
}
