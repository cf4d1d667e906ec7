import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ANNOTATIONS } from '@open-terrain/constructs'
import { ansibleName } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { JOB } from '../../operator/kube/resource-types.ts'
import { WORKSPACE } from '../harness/kinds.ts'
import { ANSIBLE_IMAGE, loadAnsible } from './ansible-image.ts'
import { Lab, webOf } from './lab.ts'
import { NodeStage } from './node-stage.ts'
import { INSIDE } from './real-cluster.ts'
import { useRealCluster } from './shared-cluster.ts'
import { reportRunning } from './stand-in-kubevirt.ts'

const MACHINE = join(import.meta.dirname, '../ansible/machine.sh')
const PASSWORD = { name: 'logins', key: 'ansible' }
const UPLINK = { name: 'uplink', command: 'test -e /sys/class/net/uplink' }
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
const ROUTER = {
  name: 'router',
  backingVMDiskImage: 'debian',
  resources: { cpu: 1, memory: '1Gi' },
  interfaces: [on('inside', '10.73.0.1/24'), on('outside', '10.74.0.1/24')],
  users: [{ name: 'ansible', lock_passwd: false, passwordSecretRef: PASSWORD }],
  ansible: { roles: { build: [{ role: 'router' }], deploy: [{ role: 'checks', variables: { checks: [UPLINK] } }] } },
}

describe('the roles of a machine, which the operator has played', () => {
  const cluster = useRealCluster()

  it('make it a router as soon as its guest runs, a failed task is named, and what failed is played again on request', async ({
    skip,
  }) => {
    const { inside, client } = cluster()
    if (inside === undefined) return skip(INSIDE)
    if (process.env['ANSIBLE'] === 'skip') return skip('ANSIBLE=skip')
    await using stage = await NodeStage.start(cluster(), { clusterCidrs: 'none', allowPrivileged: 'true' })
    await stage.setPolicy({ imageNamespace: stage.namespace })
    await stage.createImage('debian', 'disk.qcow2')
    await loadAnsible(inside)
    // KubeVirt starts no guest here. This container is the guest, on the networks of the machine.
    const guest = {
      name: 'guest',
      interfaces: NETWORKS.map(({ name: network }) => ({ network })),
      containers: [
        {
          name: 'machine',
          image: ANSIBLE_IMAGE,
          privileged: true,
          command: ['sh', '-c', 'sysctl -qw net.ipv4.ip_forward=0; exec sh /run/machine.sh "$PASSWORD" none'],
          env: [{ name: 'PASSWORD', valueFrom: { secretKeyRef: PASSWORD } }],
          files: [{ path: '/run/machine.sh', content: await readFile(MACHINE, 'utf8') }],
        },
      ],
    }
    const lab = await Lab.create(stage, {
      ansible: { image: ANSIBLE_IMAGE },
      secrets: [{ name: PASSWORD.name, generate: [{ key: PASSWORD.key }] }],
      networks: NETWORKS,
      vms: [ROUTER],
      containerClusters: [
        guest,
        { name: 'first', interfaces: [on('inside', '10.73.0.10/24')], containers: webOf(cluster()) },
        { name: 'second', interfaces: [on('outside', '10.74.0.10/24')], containers: webOf(cluster()) },
      ],
    })
    const key = { namespace: lab.name, name: ROUTER.name }
    await stage.until('KubeVirt has the machine, and its disk is there', () => {
      const { kubevirtMachines, dataVolumes } = stage.mirror
      const disk = dataVolumes.get(`${lab.name}/${ROUTER.name}-root`)
      return kubevirtMachines.get(`${lab.name}/${ROUTER.name}`) !== undefined && disk?.status?.phase === 'Succeeded'
    })
    for (const one of ['guest', 'first', 'second']) await lab.untilReason(one, 'Ready')
    const pod = await lab.podOf('guest')
    const [router, first] = await Promise.all([inside.placeOf(pod), inside.placeOf(await lab.podOf('first'))])
    for (const [at, { ipAddress }] of ROUTER.interfaces.entries())
      await router.run(`ip address add ${ipAddress} dev net${at + 1}`)
    expect(await first.ask('10.74.0.10', 80)).toBe('nothing')
    expect((await client.list(JOB, { namespace: lab.name })).items).toEqual([])

    const interfaces = ROUTER.interfaces.map(({ network, ipAddress }) => ({ name: network, ipAddress }))
    await reportRunning(client, key, { nodeName: pod.spec.nodeName ?? '', interfaces })
    const plays = () => lab.workspace?.status?.plays?.map(({ play, phase }) => `${play} ${phase}`)
    expect(await lab.untilReason(ansibleName(lab.name), 'PlayFailed', 'Ansible')).toMatch(
      /^deploy of router failed: task "checks : Check" failed on router: uplink is not so: /,
    )
    expect(plays()).toEqual(['build Succeeded', 'deploy Failed'])
    await expect.poll(() => first.ask('10.74.0.10', 80)).toBe('second')

    await router.run('ip link add uplink type bridge')
    const annotations = { [ANNOTATIONS.playRequestedAt]: 'now' }
    await client.mergePatch(WORKSPACE, { name: lab.name }, { metadata: { annotations } })
    await lab.untilReady()
    expect(plays()).toEqual(['build Succeeded', 'deploy Succeeded'])
    expect(await lab.untilReason(ansibleName(lab.name), 'Ready', 'Ansible')).toMatch(/, and the roles were played$/)
    await lab.remove()
    await stage.finish()
  })
})
