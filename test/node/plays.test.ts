import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import {
  ansibleName,
  parseWorkspaceSpec,
  playsName,
  renderPlayJob,
  renderWorkspaceAnsible,
  renderWorkspacePlays,
  type WorkspaceSpec,
} from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { playReportOf } from '../../operator/controllers/workspace/decide/play-report.ts'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP, JOB, POD } from '../../operator/kube/resource-types.ts'
import { ANSIBLE_IMAGE, loadAnsible } from './ansible-image.ts'
import { Lab, webOf } from './lab.ts'
import { NodeStage } from './node-stage.ts'
import { INSIDE } from './real-cluster.ts'
import { useRealCluster } from './shared-cluster.ts'

type Job = KubeObject & {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] }
}
type EndedPod = KubeObject & {
  readonly status?: {
    readonly containerStatuses?: readonly {
      readonly state: { readonly terminated?: { readonly exitCode: number; readonly message?: string } }
    }[]
  }
}

const MACHINE = join(import.meta.dirname, '../ansible/machine.sh')
const PASSWORD = { name: 'logins', key: 'ansible' }
const on = (network: string, ipAddress: string) => ({ network, ipAddress })
const NETWORKS = [
  {
    name: 'inside',
    cidr: '10.73.0.0/24',
    routes: [{ destinationNetworkCidr: '10.74.0.0/24', nextHopIpAddress: '10.73.0.1' }],
  },
  {
    name: 'outside',
    cidr: '10.74.0.0/24',
    routes: [{ destinationNetworkCidr: '10.73.0.0/24', nextHopIpAddress: '10.74.0.1' }],
  },
]
const ROUTER = [on('inside', '10.73.0.1/24'), on('outside', '10.74.0.1/24')]

/** The same router as a machine, of which the Job is rendered. */
function played(): WorkspaceSpec {
  const checks = [{ name: 'a file that nobody has', command: 'test -e /missing' }]
  const input: WorkspaceSpecInput = {
    networks: NETWORKS,
    vms: [
      {
        name: 'router',
        backingVMDiskImage: 'debian',
        resources: { cpu: 1, memory: '1Gi' },
        interfaces: ROUTER,
        users: [{ name: 'ansible', lock_passwd: false, passwordSecretRef: PASSWORD }],
        ansible: { roles: { build: [{ role: 'router' }], deploy: [{ role: 'checks', variables: { checks } }] } },
      },
    ],
    ansible: { image: ANSIBLE_IMAGE },
  }
  const parsed = parseWorkspaceSpec(input)
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems))
  return parsed.spec
}

describe('a Job that plays the roles of a machine', () => {
  const cluster = useRealCluster()

  it('makes it a router over the network of the lab, and leaves the task that failed', async ({ skip }) => {
    const { inside, client } = cluster()
    if (inside === undefined) return skip(INSIDE)
    if (process.env['ANSIBLE'] === 'skip') return skip('ANSIBLE=skip')
    await using stage = await NodeStage.start(cluster(), { clusterCidrs: 'none', allowPrivileged: 'true' })
    await loadAnsible(inside)
    const machine = {
      name: 'machine',
      image: ANSIBLE_IMAGE,
      privileged: true,
      command: ['sh', '-c', 'sysctl -qw net.ipv4.ip_forward=0; exec sh /run/machine.sh "$PASSWORD" none'],
      env: [{ name: 'PASSWORD', valueFrom: { secretKeyRef: PASSWORD } }],
      files: [{ path: '/run/machine.sh', content: await readFile(MACHINE, 'utf8') }],
    }
    const lab = await Lab.create(stage, {
      secrets: [{ name: PASSWORD.name, generate: [{ key: PASSWORD.key }] }],
      networks: NETWORKS,
      containerClusters: [
        { name: 'router', interfaces: ROUTER, containers: [machine] },
        { name: 'first', interfaces: [on('inside', '10.73.0.10/24')], containers: webOf(cluster()) },
        { name: 'second', interfaces: [on('outside', '10.74.0.10/24')], containers: webOf(cluster()) },
      ],
    })
    await lab.untilReady()
    const first = await inside.placeOf(await lab.podOf('first'))
    expect(await first.ask('10.74.0.10', 80)).toBe('nothing')

    const workspace = { name: lab.name, uid: lab.workspace?.metadata.uid ?? '' }
    const spec = played()
    const [vm] = spec.vms ?? []
    if (vm === undefined) throw new Error('there is no machine')
    // Under names of its own, because the operator owns the others.
    const own = <T extends KubeObject>({ metadata, ...object }: T, more: object = {}): KubeObject => {
      const text = JSON.stringify({ ...object, ...more })
        .replaceAll(`"${ansibleName(lab.name)}"`, '"of-test-ansible"')
        .replaceAll(`"${playsName(lab.name)}"`, '"of-test-plays"')
      const name = metadata.name.replace(lab.name, 'of-test')
      return { ...(JSON.parse(text) as KubeObject), metadata: { namespace: lab.name, name } }
    }
    await client.create(CONFIG_MAP, own(renderWorkspaceAnsible({ workspace, spec })))
    await client.create(CONFIG_MAP, own(renderWorkspacePlays({ workspace, spec })))
    const ends = async (
      play: 'build' | 'deploy',
      address: string,
    ): Promise<{ readonly how: string; readonly pod: EndedPod }> => {
      const of = { vm: 'router', play, of: 'disk' }
      const job = renderPlayJob({ workspace, spec, vm, play: of, image: ANSIBLE_IMAGE, driver: 'bridge', address })
      const { metadata } = await client.create(JOB, own(job, { spec: { ...job.spec, suspend: false } }))
      const how = async () => {
        const { status } = await client.get<Job>(JOB, metadata)
        return (status?.conditions ?? []).find((one) => ['Complete', 'Failed'].includes(one.type))?.type
      }
      await expect.poll(how, { timeout: 240_000, interval: 1_000 }).toBeDefined()
      const { items } = await client.list<EndedPod>(POD, {
        namespace: lab.name,
        labelSelector: `batch.kubernetes.io/job-name=${metadata.name}`,
      })
      return { how: (await how()) ?? '', pod: items[0] as EndedPod }
    }
    expect((await ends('build', '10.73.0.254/24')).how).toBe('Complete')
    expect(await first.ask('10.74.0.10', 80)).toBe('second')

    const { how, pod } = await ends('deploy', '10.73.0.253/24')
    const ended = pod.status?.containerStatuses?.[0]?.state.terminated
    expect([how, playReportOf(ended?.message ?? '', ended?.exitCode ?? 0)]).toEqual([
      'Failed',
      expect.stringMatching(/^task "checks : Check" failed on router: a file that nobody has is not so/),
    ])
    await lab.remove()
  })
})
