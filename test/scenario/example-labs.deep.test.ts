import { randomBytes } from 'node:crypto'
import { SECRET_COPY_POLICY, SECRET_COPY_RULE } from '@open-terrain/constructs/operator'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Connection } from '../../operator/kube/connection.ts'
import { HttpKubeClient } from '../../operator/kube/http-client.ts'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import {
  ADMISSION_POLICY,
  ADMISSION_POLICY_BINDING,
  NAMESPACE,
  STORAGE_CLASS,
} from '../../operator/kube/resource-types.ts'
import { useCluster } from '../harness/cluster.ts'
import { createNamed, EXAMPLE_LABS_POLICY, exampleLabs, makeSurroundings } from '../harness/example-labs.ts'
import { WORKSPACE, type Workspace } from '../harness/kinds.ts'
import { DRIVER } from '../prepared/sandbox/simulated-cluster.ts'
import { FARM, SimulatedOperator } from '../simulation/simulated-operator.ts'

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

/** Kinds of what the operator creates, and no lab consists of. */
const OF_THE_PROCESS: ReadonlySet<string> = new Set(['Event', 'Lease'])

let connection: Connection
let server: HttpKubeClient
/** Nothing is created in it: the API server judges what would be. */
const namespace = `examples-${randomBytes(3).toString('hex')}`

beforeAll(async () => {
  connection = Connection.fromEnvironment(4, cluster().controlPlane.kubeconfigPath)
  server = new HttpKubeClient({ connection, userAgent: 'open-terrain-scenario' })
  await server.create(NAMESPACE, { apiVersion: 'v1', kind: NAMESPACE.kind, metadata: { name: namespace } })
})

afterAll(() => connection.close())

/** Creates an object by dry run. A field that is not known is an error. */
async function judge(type: ResourceType, object: KubeObject): Promise<void> {
  const metadata = { ...object.metadata, ...(type.namespaced && { namespace }) }
  await server.create(type, { ...object, metadata }, { isDryRun: true, isStrict: true })
}

/** What an installation and its cluster have, and a simulated one has not. */
function furnish({ simulated }: SimulatedOperator): void {
  const [name, policyName] = [SECRET_COPY_RULE, SECRET_COPY_RULE]
  simulated.create(ADMISSION_POLICY, { name }, { spec: SECRET_COPY_POLICY })
  simulated.create(ADMISSION_POLICY_BINDING, { name }, { spec: { policyName, validationActions: ['Deny'] } })
  const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' }
  simulated.create(STORAGE_CLASS, { name: 'usual', annotations }, { provisioner: DRIVER })
}

/** As an API server stores a Secret. */
function asStored<T extends KubeObject>(object: T & { readonly stringData?: Readonly<Record<string, string>> }): T {
  const { stringData = {}, ...stored } = object
  const data = Object.entries(stringData).map(([key, text]) => [key, Buffer.from(text).toString('base64')])
  return data.length === 0 ? object : ({ ...stored, data: Object.fromEntries(data) } as unknown as T)
}

it('the labs of the examples become Ready as they are, with the Secrets that they name, and an API server takes all that they are made of', async () => {
  const labs = await exampleLabs()
  expect([...labs.keys()]).toEqual(expect.arrayContaining(Object.values(KINDS).flat()))
  const world = await SimulatedOperator.start({
    ...EXAMPLE_LABS_POLICY,
    imageNamespace: FARM,
    imageUrlTemplate: 'https://images.example.com/{name}.qcow2',
    defaultSourceType: 'http',
    defaultDiskSize: '16Mi',
  })
  const { admin } = world.simulated.cluster
  const sent: { readonly resource: ResourceType; readonly object: KubeObject }[] = []
  world.fateOf = ({ verb, resource, body }) => {
    if (verb === 'create' && !OF_THE_PROCESS.has(resource.kind)) sent.push({ resource, object: body as KubeObject })
    return undefined
  }
  furnish(world)
  const client = { create: async (type, object) => admin.create(type, asStored(object)) } as Pick<KubeClient, 'create'>
  await makeSurroundings(client)
  const stateOf = (name: string) => {
    const { phase, reason, message } = admin.get<Workspace>(WORKSPACE, { name }).status ?? {}
    return { name, phase, reason, message: phase === 'Ready' ? '' : message }
  }
  for (const [file, lab] of labs) {
    expect([lab.kind, lab.metadata.name]).toEqual([WORKSPACE.kind, file])
    await judge(WORKSPACE, lab)
    world.simulated.create(WORKSPACE, { name: file }, { spec: lab.spec })
    await world.until(`namespace ${file}`, () => admin.list(NAMESPACE).items.some((one) => one.metadata.name === file))
    await createNamed(client, file, lab.spec)
  }
  const names = [...labs.keys()]
  await world.until('all labs are Ready', () => names.every((name) => stateOf(name).phase === 'Ready')).catch(() => 0)
  expect(names.map(stateOf)).toEqual(names.map((name) => ({ name, phase: 'Ready', reason: 'Ready', message: '' })))

  expect(sent.length).toBeGreaterThan(10 * labs.size)
  for (const { resource, object } of sent) await judge(resource, object)
})
