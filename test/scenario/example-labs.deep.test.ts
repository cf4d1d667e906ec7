import { expect, it } from 'vitest'
import { find } from '../../operator/kube/find.ts'
import { NAMESPACE } from '../../operator/kube/resource-types.ts'
import { useCluster } from '../harness/cluster.ts'
import {
  createNamed,
  EXAMPLE_LABS_POLICY,
  type ExampleLab,
  exampleLabs,
  makeSurroundings,
} from '../harness/example-labs.ts'
import { WORKSPACE } from '../harness/kinds.ts'
import { Workspaces } from '../harness/workspaces.ts'

const cluster = useCluster()

/** Real kinds of lab, each of which a file of the examples says: without it, nothing proves that people can say it. */
const KINDS = {
  'a course on high availability, with packages and commands': ['ha-course'],
  'machines on a VLAN of the site': ['vlan-machines'],
  'a web server by cloud-init': ['web-server-cloud-init'],
  'a Windows member of a domain': ['windows-domain'],
  'FRR, and hosts with layer-2 links': ['frr-routers', 'layer-2-links'],
  'DVWA, and an attacker with a terminal': ['web-attack'],
  'a small sandbox as KYPO has them': ['training-sandbox'],
  'IPv4 and IPv6': ['dual-stack'],
  'a firewall with clients of its DHCP server': ['firewall-dhcp'],
  'a range that Ansible sets up': ['ansible-range'],
}

it('the labs of the examples become Ready as they are, with the Secrets that they name', async () => {
  const labs = await exampleLabs()
  expect([...labs.keys()]).toEqual(expect.arrayContaining(Object.values(KINDS).flat()))
  await using workspaces = await Workspaces.start(cluster(), EXAMPLE_LABS_POLICY)
  const { world } = workspaces
  await makeSurroundings(world.client)
  const isReady = async ([file, lab]: readonly [string, ExampleLab]): Promise<void> => {
    expect([lab.kind, lab.metadata.name]).toEqual([WORKSPACE.kind, file])
    const { metadata } = await workspaces.create(workspaces.name(file), lab.spec as never)
    const { name } = metadata
    await expect.poll(() => find(world.client, NAMESPACE, { name })).toBeDefined()
    await createNamed(world.client, name, lab.spec)
    const { status } = await workspaces.untilReady(name)
    expect([file, status?.reason]).toEqual([file, 'Ready'])
  }
  await Promise.all([...labs].map(isReady))
})
