import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, inject, it } from 'vitest'
import {
  NETWORK_POLICY,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  VIRTUAL_MACHINE_INSTANCE,
} from '../../operator/kube/resource-types.ts'
import { useCluster } from '../harness/cluster.ts'
import { conditionOf, type Workspace } from '../harness/kinds.ts'
import { Workspaces } from '../harness/workspaces.ts'

const cluster = useCluster()

describe('the workspace of the proposal', () => {
  it('goes from nothing to Ready with the rights of an installation, is switched off and on, and goes with all that it made but the image that the policy retains', async () => {
    await using workspaces = await Workspaces.start(cluster(), {
      reclaimPolicy: 'Retain',
      localVolumeRoot: '/srv/labs',
    })
    const { world } = workspaces
    const ready = await workspaces.deploy('lab')
    const { name } = ready.metadata
    expect(ready.status).toMatchObject({ ready: '14/14', namespace: name, counts: { total: 14, ready: 14, failed: 0 } })
    expect(['Ready', 'Settled', 'Reconciling', 'Stalled'].map((type) => conditionOf(ready, type)?.status)).toEqual([
      'True',
      'True',
      'False',
      'False',
    ])
    expect(world.downloadsOf(world.urlOf('demo-vm'))).toBe(1)
    const pods = (await world.client.list(POD, { namespace: name })).items
    const attached = pods.flatMap(({ metadata }) =>
      JSON.parse(metadata.annotations?.['k8s.v1.cni.cncf.io/network-status'] ?? '[]').map(
        ({ name: network, ips }: { name: string; ips?: readonly string[] }) => `${network} ${ips ?? ''}`,
      ),
    )
    expect(attached).toEqual(
      expect.arrayContaining([
        expect.stringMatching(new RegExp(`^${name}/bridge-inet-pod-[0-9a-f]{8} 4[.]29[.]163[.]7$`)),
        `${name}/control-net-pod 10.10.0.141`,
      ]),
    )
    const volumes = async () =>
      (await world.client.list(PERSISTENT_VOLUME)).items.filter(({ metadata }) => metadata.name.startsWith(name))
    expect(await volumes()).toHaveLength(2)
    await checkPower(workspaces, ready)

    await workspaces.delete(name)
    const order = [
      'pelotech.ot/VirtualMachine',
      'apps/Deployment',
      'k8s.cni.cncf.io/NetworkAttachmentDefinition',
      'v1/Namespace',
      'pelotech.ot/Workspace',
    ]
    // Each kind has a watch of its own.
    await world.until('all ends', () =>
      order.every((kind) => workspaces.endsOf(name).some((end) => end.startsWith(`${kind} `))),
    )
    const ends = workspaces.endsOf(name)
    const places = order.map((kind) => ends.flatMap((end, at) => (end.startsWith(`${kind} `) ? at : [])))
    for (const [at, kind] of order.entries()) {
      expect(places[at], kind).not.toEqual([])
      if (at > 0 && kind !== 'pelotech.ot/Workspace')
        expect(Math.min(...(places[at] ?? []))).toBeGreaterThan(Math.max(...(places[at - 1] ?? [])))
    }
    expect(await volumes()).toEqual([])
    expect((await world.client.list(NETWORK_POLICY, { namespace: name })).items).toEqual([])
    expect(world.getImage('demo-vmdi')?.status?.phase).toBe('Succeeded')
    await world.finish()
  })
})

/** It is switched off, with all that is on its disks and its addresses, and on again. */
async function checkPower(workspaces: Workspaces, { metadata: { name }, status }: Workspace): Promise<void> {
  const { world } = workspaces
  const pods = async () => (await world.client.list(POD, { namespace: name })).items
  const instances = async () => (await world.client.list(VIRTUAL_MACHINE_INSTANCE, { namespace: name })).items
  const claims = async () =>
    (await world.client.list(PERSISTENT_VOLUME_CLAIM, { namespace: name })).items.map((claim) => claim.metadata.uid)
  const addresses = async () =>
    (await pods()).map((pod) => pod.metadata.annotations?.['k8s.v1.cni.cncf.io/networks']).toSorted()
  const [kept, had] = [await claims(), await addresses()]
  expect([kept.length, (await pods()).length, (await instances()).length]).toEqual([3, 3, 1])
  const ot = async (...argv: string[]) => {
    const { kubeconfigPath } = cluster().controlPlane
    return (await promisify(execFile)(process.execPath, [inject('ot'), '--kubeconfig', kubeconfigPath, ...argv])).stdout
  }
  expect(await ot('stop', name, '--wait')).toBe(`workspace.pelotech.ot/${name} is off\n`)
  // Not only Ready, as it was before too.
  const off = await workspaces.untilReason(name, 'Halted')
  expect(off.status).toMatchObject({ phase: 'Ready', ready: status?.ready, counts: { halted: 3 } })
  expect([await pods(), await instances(), await claims()]).toEqual([[], [], kept])
  await ot('start', name)
  expect(await ot('labs', name)).toMatch(new RegExp(`^NAME +PHASE .*\n${name} +`))
  const on = await workspaces.untilReason(name, status?.reason ?? '')
  expect(on.status).toMatchObject({ phase: 'Ready', ready: status?.ready })
  expect([await addresses(), (await instances()).length, await claims()]).toEqual([had, 1, kept])
}
