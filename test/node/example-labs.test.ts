import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import { describe, expect, it, vi } from 'vitest'
import { find } from '../../operator/kube/find.ts'
import { NAMESPACE } from '../../operator/kube/resource-types.ts'
import { IMAGES } from '../../sandbox/node/images.ts'
import {
  createNamed,
  EXAMPLE_LABS_POLICY,
  exampleLabs,
  makeSurroundings,
  WHOLE_KEY,
  WHOLE_VALUE,
} from '../harness/example-labs.ts'
import type { InsideNodes } from './inside-nodes.ts'
import { Lab, startForLabs } from './lab.ts'
import { INSIDE } from './real-cluster.ts'
import { useRealCluster } from './shared-cluster.ts'

type Cluster = NonNullable<WorkspaceSpecInput['containerClusters']>[number]
type Container = Cluster['containers'][number]

describe('the container clusters of the labs of the examples', () => {
  const cluster = useRealCluster()

  it('run on nodes with the addresses and files that they say', async ({ skip }) => {
    const { inside, client } = cluster()
    if (inside === undefined) return skip(INSIDE)
    await using stage = await startForLabs(cluster(), EXAMPLE_LABS_POLICY)
    await makeSurroundings(client)
    const specs = [...(await exampleLabs()).values()].map(({ spec }) => withoutMachines(spec))
    const withContainers = specs.filter(({ containerClusters: clusters = [] }) => clusters.length > 0)
    expect(withContainers.length).toBeGreaterThan(10)
    const runs = async (spec: WorkspaceSpecInput): Promise<void> => {
      const lab = await Lab.create(stage, spec)
      await expect.poll(() => find(client, NAMESPACE, { name: lab.name })).toBeDefined()
      await createNamed(client, lab.name, spec)
      await lab.untilReady()
      for (const one of spec.containerClusters ?? []) await isAsDeclared(inside, lab, one)
      await lab.remove()
    }
    await Promise.all(withContainers.map(runs))
  })
})

/** A lab as it is, but for its machines, which need KubeVirt, and for the programs in its containers, whose images cannot be pulled here. */
function withoutMachines({ vms = [], ansible: _, services = [], ...spec }: WorkspaceSpecInput): WorkspaceSpecInput {
  const machines = new Set(vms.map(({ name }) => name))
  const containerClusters = (spec.containerClusters ?? []).map(({ dependsOn = [], initContainers, ...cluster }) => ({
    ...cluster,
    dependsOn: dependsOn.filter((name) => !machines.has(name)),
    containers: cluster.containers.map(withStandIn),
    ...(initContainers && { initContainers: initContainers.map(withNothingToDo) }),
  }))
  return { ...spec, containerClusters, services: services.filter(({ member }) => !machines.has(member)) }
}

/** Probes ask the program. */
function withStandIn(container: Container): Container {
  const { command: _, args: _args, readinessProbe: _r, startupProbe: _s, livenessProbe: _l, ...others } = container
  return { ...others, image: IMAGES.web }
}

function withNothingToDo<const C extends object>({ ...container }: C) {
  return { ...container, image: IMAGES.busybox, command: ['true'], args: [] }
}

async function isAsDeclared(inside: InsideNodes, lab: Lab, { name, interfaces = [], containers }: Cluster) {
  // A sandbox that ends is made again, and so is a pod.
  const [pod, place] = await vi.waitFor(
    async () => {
      const present = await lab.podOf(name)
      return [present, await inside.placeOf(present)] as const
    },
    { timeout: 300_000 },
  )
  const links = JSON.parse(await place.exec(['ip', '-json', 'address'])) as Link[]
  const found = links.map(({ ifname, addr_info: all }) => [
    ifname,
    all.filter(({ scope }) => scope === 'global').map(({ local, prefixlen }) => `${local}/${prefixlen}`),
  ])
  const declared = interfaces.map(({ ipAddress, ipAddresses = [] }, at) => [
    `net${at + 1}`,
    [...(ipAddress === undefined ? [] : [ipAddress]), ...ipAddresses],
  ])
  expect([name, Object.fromEntries(found)]).toEqual([name, expect.objectContaining(Object.fromEntries(declared))])
  // A pod shows the files of one of its containers.
  const [container, ...others] = containers
  if (others.length > 0) return
  for (const { path, content } of container?.files ?? [])
    if (content !== undefined) expect([name, await inside.fileOf(pod, path)]).toEqual([name, content])
  for (const { path, secretRef, configMapRef } of container?.files ?? [])
    if ((secretRef ?? configMapRef) !== undefined)
      expect(await inside.fileOf(pod, `${path}/${WHOLE_KEY}`)).toBe(WHOLE_VALUE)
  const variables = (await inside.fileOf(pod, '/proc/1/environ')).split('\0').map((one) => one.replace(/=.*/s, ''))
  for (const { secretRef } of container?.envFrom ?? []) {
    const { data } = await lab.secret(secretRef?.name ?? '')
    expect(variables).toEqual(expect.arrayContaining(Object.keys(data)))
  }
}

interface Link {
  readonly ifname: string
  readonly addr_info: readonly { readonly local: string; readonly prefixlen: number; readonly scope: string }[]
}
