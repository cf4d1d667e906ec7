import { LAB_ISOLATION, virtualMachine } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { apiError } from '../../../test/prepared/kube/api-error.ts'
import { MINUTE, SECOND } from '../../../test/prepared/runtime/times.ts'
import {
  DEPLOYED,
  MACHINE_RUNS,
  NAME,
  startReady,
  VM,
  WRITES,
} from '../../../test/prepared/workspace/workspace-bench.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import { DEPLOYMENT, NAMESPACE, POD } from '../../kube/resource-types.ts'

describe('a workspace', () => {
  it('goes from nothing to Ready, in order, with few writes, and none when it is idle', async () => {
    const bench = await startReady()
    const created = bench.client.callsOf('create').filter((call) => !call.includes(' Event '))
    const kinds = [...new Set(created.map((call) => call.split(' ')[1]))]
    expect(kinds).toEqual([
      'Namespace',
      'NetworkPolicy',
      'VMDiskImage',
      'NetworkAttachmentDefinition',
      'PersistentVolumeClaim',
      'ConfigMap',
      'Deployment',
      'VirtualMachine',
    ])
    expect(bench.status()).toMatchObject({ phase: 'Ready', reason: 'Ready', ready: '14/14', namespace: NAME })
    expect(bench.client.callsOf(...WRITES).length).toBeLessThanOrEqual(6 * 14)
    bench.client.calls.length = 0
    // Requeues all workspaces.
    bench.setPolicy({})
    await bench.clock.advance(10 * MINUTE)
    // Every ten minutes it looks which ranges networks must not overlap.
    expect(bench.client.callsOf(...WRITES, 'get', 'list')).toEqual(['list ServiceCIDR ', 'list Node '])
  })

  it('goes through all kinds again in the reverse order when it is deleted, each when the one before is gone', async () => {
    const bench = await startReady()
    bench.client.calls.length = 0
    bench.deleteWorkspace()
    await bench.clock.advance(20 * SECOND)
    // A claim is not gone before the last pod that uses it.
    expect(bench.status().message).toMatch(
      'being deleted: waiting for PersistentVolumeClaim dnsconfig, PersistentVolumeClaim monitorconfigs',
    )
    expect(bench.owned()).toContain('NetworkAttachmentDefinition bridge-inet')
    bench.letClaimsGo()
    await bench.clock.advance(MINUTE)
    const kinds = bench.client.callsOf('delete').map((call) => call.split(' ')[1])
    expect([...new Set(kinds)]).toEqual([
      'VirtualMachine',
      'Deployment',
      'ConfigMap',
      'PersistentVolumeClaim',
      'NetworkAttachmentDefinition',
      'Namespace',
    ])
    expect([bench.owned(), bench.workspace(), bench.client.all('VMDiskImage').length]).toEqual([[], undefined, 1])
  })

  it('goes with its namespace when something that is no member keeps a claim', async () => {
    const bench = await startReady()
    bench.deleteWorkspace()
    await bench.clock.advance(50 * SECOND)
    expect(bench.owned()).toContain(`Namespace ${NAME}`)
    expect(bench.client.callsOf('delete').filter((call) => call.startsWith('delete Namespace'))).toEqual([])
    await bench.clock.advance(2 * MINUTE)
    expect(bench.client.callsOf('delete')).toContainEqual(expect.stringMatching(/^delete Namespace/))
    expect(bench.status().message).toMatch(/no member uses that: it is deleted with its namespace now$/)
    bench.letClaimsGo()
    await bench.clock.advance(MINUTE)
    expect([bench.owned(), bench.workspace()]).toEqual([[], undefined])
  })

  it('is told by Events at its beginning, at its end, and of trouble by the component that has it', async () => {
    const bench = await startReady()
    bench.tell(virtualMachine, `${NAME}/demo-vm`, { phase: 'Failed', reason: 'StartFailed', message: 'no such device' })
    await bench.clock.advance(20 * SECOND)
    bench.tell(virtualMachine, `${NAME}/demo-vm`, { phase: 'Ready', reason: 'Running', message: 'it runs' })
    await bench.clock.advance(20 * SECOND)
    const events = bench.events().filter((event) => !event.startsWith('Warning DefaultRouteLeftOut: '))
    expect(events.length).toBe(bench.events().length - 1)
    expect(events.map((event) => event.replace(/: .*?(\d+\/\d+ components are ready).*/, ': $1'))).toEqual([
      'Normal Provisioning: 0/14 components are ready',
      'Normal Ready: 14/14 components are ready',
      'Warning VirtualMachineFailed: VirtualMachine demo-vm: no such device',
      'Normal Ready: 14/14 components are ready',
    ])
  })

  it('costs the next leader no write, be it Ready or in trouble', async () => {
    const bench = await startReady()
    bench.client.calls.length = 0
    await bench.restart()
    await bench.clock.advance(MINUTE)
    expect(bench.client.callsOf(...WRITES)).toEqual([])
    bench.client.before = ({ verb, key }) => {
      if (verb === 'create' && key === 'lab/demo-app') throw apiError('Rejected', { message: 'exceeded quota' })
    }
    bench.client.cluster.admin.delete(DEPLOYMENT, { namespace: NAME, name: 'demo-app' })
    await bench.clock.advance(MINUTE)
    expect(bench.open()).toEqual(['ContainerCluster demo-app: Provisioning Refused'])
    bench.client.calls.length = 0
    await bench.restart()
    await bench.clock.advance(MINUTE)
    expect(new Set(bench.client.callsOf(...WRITES))).toEqual(new Set(['create Deployment lab/demo-app']))
  })

  it('says of each node where a member runs whether members can reach it, also of that of its only machine', async () => {
    const { networks } = DEPLOYED
    const bench = await startReady({ networks, vms: [VM] })
    const isolation = () => {
      const { status, message } = bench.status().conditions?.find(({ type }) => type === 'NetworksIsolated') ?? {}
      return [status, message]
    }
    expect(isolation()).toEqual(['Unknown', 'no member of the workspace runs on a node yet'])
    const key = `${NAME}/${VM.name}`
    bench.tell(virtualMachine, key, { ...MACHINE_RUNS, kubevirt: { name: VM.name, nodeName: 'node-7' } })
    await bench.work()
    expect(isolation()).toEqual(['Unknown', expect.stringMatching('may reach node-7 over the networks')])
    const { namespace, label } = LAB_ISOLATION
    const metadata = { namespace, name: 'rules', labels: { [label]: 'true' } }
    const status = { conditions: [{ type: 'Ready', status: 'True' }] }
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { nodeName: 'node-7' } } as KubeObject
    const { admin } = bench.client.cluster
    admin.create(NAMESPACE, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
    admin.create(POD, pod)
    bench.tell(POD, `${namespace}/rules`, status)
    await bench.clock.advance(10 * SECOND)
    expect(isolation()).toEqual(['True', 'node-7 has the rules of labIsolation'])
  })
})
