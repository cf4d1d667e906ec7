import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import { expect, it } from 'vitest'
import { isTerminating } from '../../../operator/kube/kube-object.ts'
import { POD } from '../../../operator/kube/resource-types.ts'
import { WORKSPACE, type Workspace } from '../../harness/kinds.ts'
import { FARM, SimulatedOperator } from '../simulated-operator.ts'
import { HostsOracle } from './hosts-oracle.ts'

type Cluster = NonNullable<WorkspaceSpecInput['containerClusters']>[number]

const cluster = (name: string, at: number): Cluster => ({
  name,
  interfaces: [{ network: 'net', ipAddress: `10.9.0.${at}/24` }],
  containers: [{ name: 'main', image: 'registry.example.com/main:1' }],
})
const lab = (...containerClusters: Cluster[]): WorkspaceSpecInput => ({
  names: 'hosts',
  networks: [{ name: 'net', cidr: '10.9.0.0/24' }],
  containerClusters,
})

it('a member that comes is told of to those that run, whose pods stay until somebody replaces them', async () => {
  const world = await SimulatedOperator.start({ imageNamespace: FARM })
  const { admin } = world.simulated.cluster
  const hosts = new HostsOracle()
  world.simulated.cluster.onCommit((commit) => hosts.onCommit(commit))
  world.simulated.create<Workspace>(WORKSPACE, { name: 'lab' }, { spec: lab(cluster('dns', 53)) })
  const status = () => admin.list<Workspace>(WORKSPACE).items[0]?.status
  const reasonOf = (name: string) => status()?.components?.find((one) => one.name === name)?.reason
  const podOf = (name: string) =>
    [...world.simulated.pods('lab')].find((pod) => pod.metadata.name.startsWith(`${name}-`) && !isTerminating(pod))
  await world.until('the lab is Ready', () => status()?.phase === 'Ready')
  expect([reasonOf('dns'), hosts.isStale('lab', 'dns')]).toEqual(['Ready', false])
  const before = podOf('dns')?.metadata.uid

  world.patch(WORKSPACE, { name: 'lab' }, { spec: lab(cluster('dns', 53), cluster('web', 80)) })
  await world.until('web runs, and dns is told', () => {
    return reasonOf('web') === 'Ready' && reasonOf('dns') === 'NamesNotCurrent'
  })
  expect([status()?.phase, podOf('dns')?.metadata.uid]).toEqual(['Ready', before])
  expect(['dns', 'web'].map((name) => hosts.isStale('lab', name))).toEqual([true, false])

  admin.delete(POD, { namespace: 'lab', name: podOf('dns')?.metadata.name ?? '' })
  await world.until('dns is started with the names of now', () => {
    return reasonOf('dns') === 'Ready' && podOf('dns')?.metadata.uid !== before
  })
  expect(hosts.isStale('lab', 'dns')).toBe(false)
})
