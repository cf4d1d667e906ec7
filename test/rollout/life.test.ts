import { RESOURCES } from '@open-terrain/constructs/operator'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import {
  CONFIG_MAP,
  CUSTOM_RESOURCE_DEFINITION,
  DEPLOYMENT,
  NAMESPACE,
  NETWORK_POLICY,
} from '../../operator/kube/resource-types.ts'
import { IMAGE as IMAGES, type Image, WORKSPACE, type Workspace } from '../harness/kinds.ts'
import { Environment } from './environment.ts'
import { type Rollout, Workshop } from './rollout.ts'

const OURS = 'pelotech.ot'
const SOURCE = 'https://images.example.com'
const OPERATOR = { name: 'open-terrain-operator', namespace: 'sync-operator' }
const POLICY = { name: 'sync-operator-policy', namespace: 'sync-operator' }
const POLICY_VALUES = {
  concurrency: 2,
  // Failures must be final at once.
  retryLimit: 0,
  defaultSourceType: 'http',
  defaultDiskSize: '1Gi',
  defaultStorageClass: 'fast',
  defaultSnapshotClass: 'snap',
}
const IMAGE = { name: 'of-somebody', namespace: 'vmdi-farm' }

interface Deployment extends KubeObject {
  readonly spec: {
    readonly replicas: number
    readonly template: { readonly spec: { readonly containers: Container[] } }
  }
  readonly status: { readonly availableReplicas: number }
}

interface Container {
  readonly image: string
}

interface ConfigMap extends KubeObject {
  readonly data: Readonly<Record<string, string>>
}

/** The program after its component was renamed. */
function renamed(program: string): string {
  return program
    .replace("new OpenTerrain('open-terrain',", "new OpenTerrain('renamed',")
    .replace('adopt, protect }, { provider })', "adopt, protect }, { provider, aliases: [{ name: 'open-terrain' }] })")
}

/** One installation, from its first rollout until after its removal. Each test continues where the one before has ended. */
describe('a stack', () => {
  let environment: Environment
  let workshop: Workshop
  let rollout: Rollout

  beforeAll(async () => {
    environment = await Environment.start()
    workshop = await Workshop.open()
    rollout = await workshop.stack('dev')
    await rollout.stack.setConfig('kubernetes:kubeconfig', { value: environment.kubeconfig, secret: true })
    await rollout.configure({
      image: 'registry.example.com/open-terrain/operator:1.0.0',
      policy: POLICY_VALUES,
    })
  })

  afterAll(async () => {
    await workshop?.close()
    await environment?.stop()
  })

  const deployment = () => environment.client.get<Deployment>(DEPLOYMENT, OPERATOR)
  const imageOf = (name: string) => environment.client.get<Image>(IMAGES, { name, namespace: IMAGE.namespace })
  const policy = () => environment.client.get<ConfigMap>(CONFIG_MAP, POLICY)

  /** CRDs and namespaces of ours, and images, by name with their uid: what a removal has to leave. */
  async function kept(): Promise<Record<string, string | undefined>> {
    const [definitions, namespaces] = await Promise.all([
      environment.client.list<KubeObject>(CUSTOM_RESOURCE_DEFINITION),
      environment.client.list<KubeObject>(NAMESPACE),
    ])
    const ours = [
      ...definitions.items.filter(({ metadata: { name } }) => name.endsWith(`.${OURS}`)),
      ...namespaces.items.filter(({ metadata: { name } }) => [OPERATOR.namespace, IMAGE.namespace].includes(name)),
      ...(await environment.client.list<KubeObject>(IMAGES, { namespace: IMAGE.namespace })).items,
    ]
    expect(ours.filter(({ metadata }) => metadata.deletionTimestamp !== undefined)).toEqual([])
    return Object.fromEntries(ours.map(({ metadata: { name, uid } }) => [name, uid]))
  }

  it('comes up on a cluster that has nothing of ours, and waits until the operator is available', async () => {
    const { steps, outputs } = await rollout.up()
    expect(steps.filter((step) => !step.startsWith('create '))).toEqual([])
    expect(steps).toContain('create CustomResourceDefinition vmdiskimages.pelotech.ot')
    const { spec, status } = await deployment()
    expect(status.availableReplicas).toBe(spec.replicas)
    expect(outputs['namespace']).toBe(OPERATOR.namespace)
    expect(outputs['policyName']).toBe(POLICY.name)
    expect(outputs['versions']).toMatchObject({ operator: '1.0.0' })
  })

  it('has nothing to do while nothing changes, and when its component is renamed', async () => {
    await workshop.rewriteProgram(renamed)
    expect((await rollout.up()).steps).toEqual([])
  })

  it('changes the policy and upgrades the operator in place, and nothing else', async () => {
    const before = await policy()
    expect(before.data['concurrency']).toBe('2')
    const image = 'registry.example.com/open-terrain/operator:1.1.0'
    await rollout.configure({ policy: { ...POLICY_VALUES, concurrency: 3 }, image })
    const changes = [`update ConfigMap ${POLICY.name}`, `update Deployment ${OPERATOR.name}`]
    expect((await rollout.preview()).steps).toEqual(changes)
    expect((await policy()).data['concurrency']).toBe('2')
    expect((await rollout.up()).steps).toEqual(changes)
    const after = await policy()
    expect(after.data['concurrency']).toBe('3')
    expect(after.metadata.uid).toBe(before.metadata.uid)
    const { spec, status } = await deployment()
    expect(spec.template.spec.containers.map((container) => container.image)).toEqual([image])
    expect(status.availableReplicas).toBe(spec.replicas)
  })

  it('tells what somebody changed behind its back, and repairs it', async () => {
    const { spec } = await deployment()
    await environment.client.mergePatch(DEPLOYMENT, OPERATOR, { spec: { replicas: spec.replicas + 1 } })
    await environment.client.delete(NETWORK_POLICY, OPERATOR)
    expect((await rollout.refresh()).steps).toEqual([
      `delete NetworkPolicy ${OPERATOR.name}`,
      `update Deployment ${OPERATOR.name}`,
    ])
    expect((await rollout.up()).steps).toEqual([
      `create NetworkPolicy ${OPERATOR.name}`,
      `update Deployment ${OPERATOR.name}`,
    ])
    expect((await deployment()).spec.replicas).toBe(spec.replicas)
    expect((await environment.client.get(NETWORK_POLICY, OPERATOR)).metadata.name).toBe(OPERATOR.name)
  })

  it('ends at the first failure of an image while another one is downloaded, as often as it is run, until that is mended', async () => {
    const base = { url: `${SOURCE}/base.qcow2` }
    const [slow, bad] = [`${SOURCE}/slow.qcow2`, `${SOURCE}/bad.qcow2`]
    environment.simulators.cdi.script({ image: slow }, { type: 'stall' })
    environment.simulators.cdi.script({ image: bad }, { type: 'checksumMismatch' })
    await rollout.configure({ images: { base, slow: { url: slow }, bad: { url: bad } } })
    // It would hang, if it waited for the slow one.
    const failure = /VMDiskImage vmdi-farm\/bad has failed: \w+: .*checksum/i
    await expect(rollout.up()).rejects.toThrow(failure)
    expect((await rollout.preview()).steps).toEqual([])
    await expect(rollout.up()).rejects.toThrow(failure)
    // When the update begins, the status still shows the earlier failure.
    await rollout.configure({ images: { base, bad: { url: `${SOURCE}/mended.qcow2` } } })
    const { steps, outputs } = await rollout.up()
    expect(steps).toEqual(['delete VMDiskImage slow', 'update VMDiskImage bad'])
    expect(outputs['readyImages']).toEqual([`${IMAGE.namespace}/bad`, `${IMAGE.namespace}/base`])
    expect((await imageOf('bad')).status?.phase).toBe('Succeeded')
    // The stack has forgotten it, and has left it to those who use it.
    expect((await imageOf('slow')).status?.phase).toBe('Syncing')
  })

  it('says for what it waited when the time is over, and does not wait for it when another object is refused', async () => {
    await rollout.configure({ images: { slow: { url: `${SOURCE}/slow.qcow2` } } })
    const retained = 'retain: true,'
    await workshop.rewriteProgram((text) => renamed(text).replace(retained, `${retained} timeout: '8s',`))
    await expect(rollout.up()).rejects.toThrow(
      /images: 1 of 1 objects are not ready after 8s\s+VMDiskImage vmdi-farm\/slow: Syncing: /,
    )
    const refused = `new Rendered('refused', { objects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'No_Name', namespace: 'default' } }], after: stackImages.resources }, { provider })`
    await workshop.rewriteProgram((text) => `${renamed(text)}\n${refused}\n`)
    await expect(rollout.up()).rejects.toThrow(/No_Name/)
  })

  it('takes over an image that the provider awaited, in place, without another download', async () => {
    await rollout.configure({ images: { base: { url: `${SOURCE}/base.qcow2` } } })
    const asBefore = `{ objects: objects.map((one) => ({ ...one, metadata: { ...one.metadata, annotations: { 'pulumi.com/waitFor': 'condition=Settled' } } })), isAwaited: false,`
    await workshop.rewriteProgram((text) => renamed(text).replace(/\{\s+objects,/, asBefore))
    await rollout.up()
    const before = await imageOf('base')
    expect(before.metadata.annotations).toMatchObject({ 'pulumi.com/waitFor': 'condition=Settled' })
    await workshop.rewriteProgram(renamed)
    expect((await rollout.up()).steps).toEqual(['update VMDiskImage base'])
    const after = await imageOf('base')
    expect(after.metadata.annotations?.['pulumi.com/waitFor']).toBeUndefined()
    expect(after.metadata.generation).toBe(before.metadata.generation)
    expect(after.status).toEqual(before.status)
  })

  it("lets a team's own stack wait for its lab", async () => {
    const team = await workshop.example('pulumi-team', 'dev', environment.asContext)
    const password = 'hush-hush-of-the-student'
    await team.stack.setConfig('password', { value: password, secret: true })
    const creates = ['create VMDiskImage lab-router-2-1-0', 'create Workspace team-lab']
    const { steps, outputs } = await team.up()
    expect(steps).toEqual(creates)
    expect(outputs['readyLabs']).toEqual(['team-lab'])
    const { spec, status } = await environment.client.get<Workspace>(WORKSPACE, { name: 'team-lab' })
    expect(status?.phase).toBe('Ready')
    expect(JSON.stringify(spec)).toContain(password)
    const state = await workshop.state()
    expect(state).toContain('plain_text_passwd')
    expect(state).not.toContain(password)
    expect((await team.preview()).steps).toEqual([])
    await team.destroy()
    expect(await environment.find(WORKSPACE, 'team-lab')).toBeUndefined()
  })

  it('leaves definitions, namespaces, and what people have, when it is destroyed', async () => {
    await environment.client.create(IMAGES, {
      apiVersion: `${OURS}/v1alpha1`,
      kind: 'VMDiskImage',
      metadata: { ...IMAGE, finalizers: [`${OURS}/held-by-a-test`] },
      spec: {
        name: 'base',
        url: `${SOURCE}/base.qcow2`,
        sourceType: 'http',
        storageClass: 'gp3',
        snapshotClass: 'ebs-snapshot',
        diskSize: '24Gi',
      },
    } as KubeObject)
    const before = await kept()
    const definitions = RESOURCES.map(({ plural }) => `${plural}.${OURS}`)
    // The stack has none but base any more: it left the others when its configuration lost them.
    const images = ['bad', 'base', 'slow', IMAGE.name]
    const namespaces = [OPERATOR.namespace, IMAGE.namespace]
    expect(Object.keys(before).sort()).toEqual([...definitions, ...images, ...namespaces].sort())
    await rollout.destroy()
    expect(await kept()).toEqual(before)
    for (const [type, { name, namespace }] of [
      [DEPLOYMENT, OPERATOR],
      [CONFIG_MAP, POLICY],
      [NETWORK_POLICY, OPERATOR],
    ] as const)
      expect(await environment.find(type, name, namespace)).toBeUndefined()
  })

  it('finds everything when it comes up again, though a definition is of another release', async () => {
    const before = await kept()
    await environment.client.mergePatch(
      CUSTOM_RESOURCE_DEFINITION,
      { name: `vmdiskimages.${OURS}` },
      { spec: { names: { categories: ['of-another-release'] } } },
    )
    await rollout.up()
    expect(await kept()).toEqual(before)
    const definition = await environment.client.get<KubeObject & { spec: { names: { categories?: string[] } } }>(
      CUSTOM_RESOURCE_DEFINITION,
      { name: `vmdiskimages.${OURS}` },
    )
    expect(definition.spec.names.categories ?? []).not.toContain('of-another-release')
    expect((await rollout.preview()).steps).toEqual([])
  })
})
