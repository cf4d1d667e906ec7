import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { LABELS } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { find } from '../../operator/kube/find.ts'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { NAMESPACE, PERSISTENT_VOLUME_CLAIM } from '../../operator/kube/resource-types.ts'
import { useCluster } from '../harness/cluster.ts'
import { conditionOf, type Workspace } from '../harness/kinds.ts'
import { HAS_KUBECTL } from '../harness/kubectl.ts'
import { DEPLOYED, Workspaces } from '../harness/workspaces.ts'

const cluster = useCluster()

const [{ name: VOLUME }] = DEPLOYED.volumes as unknown as [{ readonly name: string }]
const [{ name: MACHINE }] = DEPLOYED.vms as unknown as [{ readonly name: string }]
const COMMAND = /kubectl annotate .*?"\$\(date\)"/

/** Runs the command that a status tells, as people do. */
async function follow({ status }: Workspace): Promise<void> {
  const [command] = COMMAND.exec(status?.message ?? '') ?? []
  if (command === undefined) throw new Error(`no command in: ${status?.message}`)
  const env = { ...process.env, KUBECONFIG: cluster().controlPlane.kubeconfigPath }
  await promisify(execFile)('sh', ['-c', command], { env })
}

describe.skipIf(!HAS_KUBECTL)('what a Workspace has lost', () => {
  it('is not made again before somebody follows the message, or puts the volume back', async () => {
    await using workspaces = await Workspaces.start(cluster())
    const { world } = workspaces
    const { metadata } = await workspaces.deploy('lost')
    const { name, uid = '' } = metadata
    const key = { namespace: name, name: VOLUME }
    const claim = async () => await find(world.client, PERSISTENT_VOLUME_CLAIM, key)
    // What a claim holds counts once it is bound, and what a guest has written once it has run.
    const untilHeld = async () =>
      await workspaces.until(name, 'data to lose', ({ status }) =>
        [`Volume ${VOLUME}`, `VirtualMachine ${MACHINE}`].every((one) => status?.irreplaceable?.includes(one)),
      )
    const untilLost = async (kind: string, component: string, reason: string) => {
      await workspaces.untilComponent(name, kind, component, (one) => one.phase === 'Failed' && one.reason === reason)
      return await workspaces.until(name, reason, ({ status }) => status?.phase === 'Failed')
    }

    // Somebody deletes a claim. Another process leads later, and knows it too.
    await untilHeld()
    const first = await claim()
    await world.client.delete(PERSISTENT_VOLUME_CLAIM, key)
    await untilLost('Volume', VOLUME, 'VolumeLost')
    await world.operator?.stop()
    world.startOperator()
    await workspaces.patch(name, { names: 'hosts' })
    const told = await workspaces.until(name, 'VolumeLost', ({ status }) => status?.reason === 'VolumeLost')
    expect([await claim(), told.status?.phase]).toEqual([undefined, 'Failed'])
    await follow(told)
    const ready = await workspaces.untilReady(name)
    expect(conditionOf(ready, 'VolumeLost')?.status).toBe('True')
    const second = await claim()
    expect(second?.metadata.uid).not.toBe(first?.metadata.uid)

    await untilHeld()
    // The value that was set counts no more. Somebody puts the volume back, as docs/workspaces.md says.
    await world.client.delete(PERSISTENT_VOLUME_CLAIM, key)
    await untilLost('Volume', VOLUME, 'VolumeLost')
    const owner = { apiVersion: 'pelotech.ot/v1alpha1', kind: 'Workspace', name, uid, controller: true }
    const { spec } = second as KubeObject & { readonly spec: object }
    await world.client.create(PERSISTENT_VOLUME_CLAIM, {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { ...key, labels: { [LABELS.workspaceUid]: uid }, ownerReferences: [owner] },
      spec: { ...spec, volumeName: undefined },
    } as KubeObject)
    await workspaces.untilReady(name)

    await untilHeld()
    // Somebody deletes the namespace, with the machine and all volumes.
    await world.client.delete(NAMESPACE, { name })
    await untilLost('VirtualMachine', MACHINE, 'DiskLost')
    await workspaces.untilComponent(name, 'Namespace', name, ({ phase }) => phase === 'Ready')
    const all = await untilLost('Volume', VOLUME, 'VolumeLost')
    expect(all.status?.lost?.map(({ component }) => component)).toEqual(
      expect.arrayContaining([`Volume ${VOLUME}`, `VirtualMachine ${MACHINE}`]),
    )
    await follow(all)
    expect((await workspaces.untilReady(name)).status?.lost).toBeUndefined()
    await workspaces.delete(name)
    await world.finish()
  })
})
