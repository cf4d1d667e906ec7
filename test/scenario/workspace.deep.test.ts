import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import { expect, it } from 'vitest'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import {
  DEPLOYMENT,
  NAMESPACE,
  NETWORK_ATTACHMENT_DEFINITION,
  NETWORK_POLICY,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  POD,
} from '../../operator/kube/resource-types.ts'
import type { Pod } from '../../sandbox/simulators/models.ts'
import { mayReach, type NetworkPolicy } from '../../sandbox/simulators/network-policies.ts'
import { useCluster } from '../harness/cluster.ts'
import { HAS_KUBECTL } from '../harness/kubectl.ts'
import { refuseCreation } from '../harness/refusal.ts'
import { waitSettled } from '../harness/wait-settled.ts'
import { Workspaces } from '../harness/workspaces.ts'
import type { World } from '../harness/world.ts'

const cluster = useCluster()

const NETWORK = { name: 'net', cidr: '10.9.0.0/24' }
const WEB = {
  name: 'web',
  interfaces: [{ network: 'net', ipAddress: '10.9.0.10/24' }],
  containers: [
    {
      name: 'main',
      image: 'registry.example.com/web:1',
      portMappings: [{ containerPort: 8080 }],
      volumeMounts: [{ name: 'data', containerPath: '/data' }],
    },
  ],
} satisfies NonNullable<WorkspaceSpecInput['containerClusters']>[number]
const PROBE = {
  name: 'probe',
  interfaces: [{ network: 'net', ipAddress: '10.9.0.11/24' }],
  containers: [{ name: 'main', image: 'registry.example.com/probe:1' }],
}
const DESK = {
  name: 'desk',
  backingVMDiskImage: 'shared',
  resources: { cpu: '1', memory: '1Gi' },
  interfaces: [{ network: 'net', ipAddress: '10.9.0.12/24' }],
}
/** Two workspaces may be identical. */
const LAB: WorkspaceSpecInput = {
  networks: [NETWORK],
  volumes: [{ name: 'data', size: '1Gi', localPath: '/data' }],
  containerClusters: [WEB, PROBE],
  vms: [DESK],
}
const LOCAL = { localVolumeRoot: '/srv/labs' }

async function all<T extends KubeObject>(
  { client }: World,
  type: ResourceType,
  namespace: string,
): Promise<readonly T[]> {
  return (await client.list<T>(type, { namespace })).items
}

function podOf(world: World, namespace: string, app: string): KubeObject | undefined {
  return [...world.mirror.pods.values()].find(
    ({ metadata }) =>
      metadata.namespace === namespace &&
      metadata.labels?.['pelotech.ot/container-cluster'] === app &&
      metadata.deletionTimestamp === undefined,
  )
}

it('two workspaces with the same of everything share the image and reach nothing of each other, and each heals and follows its spec alone', async () => {
  await using workspaces = await Workspaces.start(cluster(), LOCAL)
  const { world } = workspaces
  const names = [workspaces.name('one'), workspaces.name('two')] as const
  const [one, two] = names
  for (const name of names) await workspaces.create(name, LAB)
  if (HAS_KUBECTL) await checkPipeline(world, one)
  for (const name of names) await workspaces.untilReady(name)
  expect(world.downloadsOf(world.urlOf('desk'))).toBe(1)
  await checkNetworkPolicies(world, names)
  await checkNetworks(world, names)
  await checkVolumes(world, names)
  await checkRights(world, names)

  await checkRefusedChild(workspaces, one)
  await checkNewSpec(workspaces, one)
  await checkRepairs(workspaces, one)
  await workspaces.delete(one)
  const isOfTwo = (names: readonly string[] = []) => names.length > 0 && names.every((each) => each.includes(two))
  await world.untilImage('shared', 'references of one', ({ status }) => isOfTwo(status?.references?.names))
  expect(workspaces.get(two)?.status?.phase).toBe('Ready')
  await workspaces.delete(two)
  await world.untilGone('shared')
  await world.finish()
})

type Names = readonly [string, string]

/** A pipeline that waits with examples/wait-settled.sh goes on when a workspace is ready, and its machine with it. */
async function checkPipeline(world: World, name: string): Promise<void> {
  const ready = { code: 0, output: expect.stringMatching(/^Ready: /) }
  expect(await waitSettled(world, `otws/${name}`)).toEqual(ready)
  expect(await waitSettled(world, `otvm/${DESK.name}`, { within: name })).toEqual(ready)
}

/** Checks the network that all pods share. */
async function checkNetworkPolicies(world: World, names: Names): Promise<void> {
  const policies = (await world.client.list<NetworkPolicy>(NETWORK_POLICY)).items
  const namespaces = (await world.client.list(NAMESPACE)).items
  const reaches = (from: Pod, to: Pod, port: number) => mayReach({ policies, namespaces }, from, to, { port })
  const [mine, theirs] = await Promise.all(names.map((name) => all<Pod>(world, POD, name)))
  const own = (app: string) =>
    mine?.find(({ metadata }) => metadata.labels?.['pelotech.ot/container-cluster'] === app) as Pod
  expect(reaches(own('probe'), own('web'), 8080)).toBe(true)
  expect(reaches(own('probe'), own('web'), 22)).toBe(false)
  expect(reaches(own('web'), own('probe'), 8080)).toBe(false)
  // Two container clusters and a machine each.
  expect([mine?.length, theirs?.length]).toEqual([3, 3])
  for (const from of mine ?? []) {
    for (const to of theirs ?? []) {
      for (const port of [22, 53, 80, 443, 8080, 8443]) {
        expect([from, to, reaches(from, to, port), reaches(to, from, port)]).toEqual([from, to, false, false])
      }
    }
  }
}

interface Definition extends KubeObject {
  readonly spec: { readonly config: string }
}

/** NetworkPolicies do not apply to the networks of Multus. What is separate there has another bridge, and another name. */
async function checkNetworks(world: World, names: Names): Promise<void> {
  const configs = await Promise.all(
    names.map(async (name) =>
      (await all<Definition>(world, NETWORK_ATTACHMENT_DEFINITION, name)).map(
        ({ spec }) => JSON.parse(spec.config) as { name: string; bridge: string },
      ),
    ),
  )
  const [mine = [], theirs = []] = configs
  expect([mine.length, theirs.length]).toEqual([2, 2])
  expect(new Set(mine.map(({ bridge }) => bridge)).size).toBe(1)
  for (const their of theirs) {
    expect(mine.map(({ bridge }) => bridge)).not.toContain(their.bridge)
    expect(mine.map(({ name }) => name)).not.toContain(their.name)
  }
  for (const name of names) {
    for (const { metadata } of await all<Pod>(world, POD, name)) {
      const attached = JSON.parse(metadata.annotations?.['k8s.v1.cni.cncf.io/network-status'] ?? '[]') as {
        name: string
      }[]
      expect(attached.slice(1).every((each) => each.name.startsWith(`${name}/`))).toBe(true)
      expect(attached).toHaveLength(2)
    }
  }
}

interface Volume extends KubeObject {
  readonly spec: { readonly claimRef: { readonly namespace: string }; readonly local: { readonly path: string } }
}

async function checkVolumes(world: World, names: Names): Promise<void> {
  const volumes = (await world.client.list<Volume>(PERSISTENT_VOLUME)).items.filter(({ spec }) =>
    names.includes(spec.claimRef.namespace),
  )
  expect(volumes.map(({ spec }) => `${spec.claimRef.namespace} ${spec.local.path}`).toSorted()).toEqual(
    names.map((name) => `${name} /srv/labs/${name}/data`).toSorted(),
  )
}

/** The pods of a workspace have no token, and their account has no permissions. */
async function checkRights(world: World, [mine, theirs]: Names): Promise<void> {
  for (const { spec } of await all<Pod>(world, POD, mine)) {
    expect(spec.automountServiceAccountToken).toBe(false)
    expect(JSON.stringify(spec)).not.toContain('serviceAccountToken"')
  }
  const user = `system:serviceaccount:${mine}:default`
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${mine}`, 'system:authenticated']
  for (const namespace of [mine, theirs, world.namespace]) {
    for (const [verb, resource] of [
      ['get', 'secrets'],
      ['get', 'configmaps'],
      ['create', 'pods'],
      ['get', 'persistentvolumeclaims'],
    ]) {
      const { text } = await world.cluster.controlPlane.request(
        'POST',
        '/apis/authorization.k8s.io/v1/subjectaccessreviews',
        { spec: { user, groups, resourceAttributes: { namespace, verb, resource } } },
      )
      expect([namespace, verb, resource, JSON.parse(text).status.allowed]).toEqual([namespace, verb, resource, false])
    }
  }
}

/** One child is refused: all others are there, it says whose words that are, and it heals. */
async function checkRefusedChild(workspaces: Workspaces, name: string): Promise<void> {
  const { world } = workspaces
  const [probe] = await all(world, NETWORK_ATTACHMENT_DEFINITION, name)
  const allow = await refuseCreation(world, {
    namespace: name,
    group: NETWORK_ATTACHMENT_DEFINITION.group,
    version: NETWORK_ATTACHMENT_DEFINITION.version,
    resource: NETWORK_ATTACHMENT_DEFINITION.plural,
    message: 'no networks today',
    probe: { ...probe, metadata: { name: 'probe' } },
  })
  await world.client.delete(NETWORK_ATTACHMENT_DEFINITION, { namespace: name, name: 'net-pod' })
  const web = await world.until('a pod', () => podOf(world, name, 'web'))
  await world.client.delete(POD, web.metadata)
  const refused = await workspaces.untilComponent(name, 'Network', 'net', ({ reason }) => reason === 'Refused')
  expect(refused.message).toContain('no networks today')
  // The kubelet's message about the pod that should be attached to it.
  const missing = `cannot find a network-attachment-definition (net-pod) in namespace (${name})`
  await world.until('Multus misses the network', () =>
    [...world.mirror.events.values()].some(
      ({ involvedObject, message = '' }) => involvedObject?.kind === 'Pod' && message.includes(missing),
    ),
  )
  await workspaces.until(name, 'not Ready', ({ status }) => status?.phase !== 'Ready')
  expect(workspaces.component(name, 'VirtualMachine', 'desk')?.phase).toBe('Ready')
  expect(workspaces.component(name, 'ContainerCluster', 'probe')?.phase).toBe('Ready')
  await allow()
  await workspaces.untilReady(name)
}

async function checkNewSpec(workspaces: Workspaces, name: string): Promise<void> {
  const { world } = workspaces
  const before = await world.until('a pod', () => podOf(world, name, 'web'))
  const newer = { ...WEB, containers: WEB.containers.map((one) => ({ ...one, image: 'registry.example.com/web:2' })) }
  await workspaces.patch(name, {
    networks: [NETWORK, { name: 'more', cidr: '10.10.0.0/24' }],
    volumes: [
      { name: 'data', size: '1Gi', localPath: '/data' },
      { name: 'new', size: '1Gi', localPath: '/new' },
    ],
    containerClusters: [newer],
  })
  const edited = await workspaces.untilReady(name)
  expect(edited.status?.components?.map(({ kind, name: each }) => `${kind} ${each}`)).toEqual(
    expect.arrayContaining(['Network more', 'Volume new', 'ContainerCluster web']),
  )
  const image = () => (podOf(world, name, 'web') as unknown as Pod | undefined)?.spec.containers[0]?.image
  await world.until('the new pod', () => image() === 'registry.example.com/web:2')
  expect(podOf(world, name, 'web')?.metadata.uid).not.toBe(before.metadata.uid)
  await world.until('what is not asked for is gone', () => world.mirror.deployments.get(`${name}/probe`) === undefined)
  expect((await all(world, PERSISTENT_VOLUME_CLAIM, name)).map(({ metadata }) => metadata.name)).toContain('new')
  await workspaces.patch(name, { volumes: [{ name: 'data', size: '1Gi', localPath: '/data' }] })
  await world.until('the claim is gone', () => world.mirror.claims.get(`${name}/new`) === undefined)
  await workspaces.untilReady(name)
}

/** Somebody deletes and changes what it consists of. */
async function checkRepairs(workspaces: Workspaces, name: string): Promise<void> {
  const { world } = workspaces
  const uids = new Map<string, string | undefined>()
  for (const [type, object] of [
    [DEPLOYMENT, 'web'],
    [NETWORK_ATTACHMENT_DEFINITION, 'net'],
    [NETWORK_POLICY, 'default-deny'],
  ] as const) {
    uids.set(object, (await world.client.get(type, { namespace: name, name: object })).metadata.uid)
    await world.client.delete(type, { namespace: name, name: object })
  }
  const open = { spec: { ingress: [{}], policyTypes: ['Ingress'] } }
  await world.client.mergePatch(NETWORK_POLICY, { namespace: name, name: 'allow-cdi-copies' }, open)
  await world.client.mergePatch(
    NAMESPACE,
    { name },
    { metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'privileged' } } },
  )
  await world.until('the network is back', () => {
    const found = world.mirror.networks.get(`${name}/net`)
    return found !== undefined && found.metadata.uid !== uids.get('net')
  })
  await world.until(
    'the namespace is as it was',
    () => world.mirror.namespaces.get(name)?.metadata.labels?.['pod-security.kubernetes.io/enforce'] === 'baseline',
  )
  await world.until(
    'the Deployment is back',
    () => world.mirror.deployments.get(`${name}/web`)?.metadata.uid !== uids.get('web'),
  )
  await workspaces.untilReady(name)
  await expect
    .poll(
      async () =>
        (await all<NetworkPolicy>(world, NETWORK_POLICY, name)).find(
          ({ metadata }) => metadata.name === 'allow-cdi-copies',
        )?.spec.ingress,
    )
    .not.toEqual([{}])
  expect((await all(world, NETWORK_POLICY, name)).map(({ metadata }) => metadata.name)).toContain('default-deny')
}
