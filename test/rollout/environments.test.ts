import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Manifest } from '@open-terrain/constructs/platform'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { environmentManifests } from '../../infra/manifests.ts'
import { readStackFile } from '../../infra/stack-files.ts'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT } from '../../operator/kube/resource-types.ts'
import { ApiUser } from '../harness/api-user.ts'
import { pathOf } from '../harness/installed-operator.ts'
import { Environment } from './environment.ts'
import { type Rollout, Workshop } from './rollout.ts'

const ROOT = join(import.meta.dirname, '../..')
const IMAGE = 'registry.example.com/open-terrain/operator:1.0.0'
/** Turns off the policies that `dev` need not meet. */
const FOR_DEV = join(ROOT, 'infra/policy-pack/dev.json')
const OPERATOR = { name: 'open-terrain-operator', namespace: 'sync-operator' }
const POLICY = { name: 'sync-operator-policy', namespace: 'sync-operator' }

interface Site {
  readonly environment: Environment
  readonly rollout: Rollout
}

describe('two environments, each in a cluster of its own', () => {
  let workshop: Workshop
  const sites = new Map<string, Site>()

  beforeAll(async () => {
    workshop = await Workshop.open()
    for (const name of ['dev', 'production']) {
      const environment = await Environment.start()
      const rollout = await workshop.stack(name, environment.asContext)
      sites.set(name, { environment, rollout })
    }
    await site('dev').rollout.configure({ image: IMAGE })
  })

  afterAll(async () => {
    await workshop?.close()
    for (const { environment } of sites.values()) await environment.stop()
  })

  const site = (name: string) => sites.get(name) as Site

  function versions({ environment: { client } }: Site): Promise<(string | undefined)[]> {
    const objects = [client.get<KubeObject>(DEPLOYMENT, OPERATOR), client.get<KubeObject>(CONFIG_MAP, POLICY)]
    return Promise.all(objects.map(async (object) => (await object).metadata.resourceVersion))
  }

  it('comes up by what the documentation has people type, with the policy pack', async () => {
    const { environment } = site('production')
    const { 'current-context': context } = parse(environment.kubeconfig) as { 'current-context': string }
    const given: Readonly<Record<string, string>> = {
      'kubernetes:context CONTEXT': `kubernetes:context ${context}`,
      'REGISTRY/open-terrain-operator@sha256:DIGEST': IMAGE,
      'infra/policy-pack': inject('policyPack').folder,
    }
    let output = ''
    for (const line of documentedCommands('## Up')) {
      if (line === 'npm ci') continue
      const typed = Object.entries(given).reduce((text, [word, value]) => text.replace(word, value), line)
      output = await workshop.type(typed, environment.asContext)
    }
    expect(output).toContain('open-terrain@')
  })

  it('is refused by the policy pack for what may not be', async () => {
    const { rollout } = site('dev')
    const policyPacks = [inject('policyPack').folder]
    const unprotected =
      'CustomResourceDefinition workspaces.pelotech.ot is not protected: set open-terrain:protect to true'
    await expect(rollout.preview({ policyPacks })).rejects.toThrow(unprotected)
    await rollout.configure({ policy: { concurrency: 0 } })
    const paused = 'concurrency: 0 starts no download any more'
    const violations = await rollout.preview({ policyPacks, policyPackConfigs: [FOR_DEV] }).catch(String)
    expect(violations).toContain(paused)
    expect(violations).not.toContain('is not protected')
    await rollout.configure({ policy: readStackFile(ROOT, 'dev')['policy'] })
  })

  it('has what the file of its stack says', async () => {
    // The documented commands have brought up the other one.
    const { cluster } = (await site('dev').rollout.up()).outputs
    expect(cluster).toEqual({ id: expect.stringMatching(/^[0-9a-f-]{36}$/), server: expect.stringMatching(/^https:/) })
    for (const [name, { environment }] of sites) {
      const { replicas, policy } = readStackFile(ROOT, name) as { replicas: number; policy: { concurrency: number } }
      const deployment = await environment.client.get<KubeObject & { spec: object }>(DEPLOYMENT, OPERATOR)
      expect(deployment.spec).toMatchObject({ replicas })
      const stored = await environment.client.get<KubeObject & { data: object }>(CONFIG_MAP, POLICY)
      expect(stored.data).toMatchObject({ concurrency: String(policy.concurrency) })
    }
    expect(readStackFile(ROOT, 'dev')['policy']).not.toEqual(readStackFile(ROOT, 'production')['policy'])
  })

  it('is changed without a trace in the other one', async () => {
    const before = await versions(site('production'))
    await site('dev').rollout.configure({ policy: { concurrency: 7 } })
    expect((await site('dev').rollout.up()).steps).toEqual([`update ConfigMap ${POLICY.name}`])
    expect(await versions(site('production'))).toEqual(before)
  })

  it('refuses another stack, which changes nothing, until that one is told to adopt it', async () => {
    const { environment } = site('production')
    const { 'current-context': context } = parse(environment.kubeconfig) as { 'current-context': string }
    const before = await versions(site('production'))
    const other = await workshop.stack('staging', environment.asContext)
    await other.configure({ image: IMAGE, protect: false })
    await expect(other.preview()).rejects.toThrow('kubernetes:context is not set: run pulumi config set kubernetes:')
    await other.stack.setConfig('kubernetes:context', { value: context })
    const refusal = 'Open Terrain in this cluster belongs to open-terrain/production, and two owners would undo'
    await expect(other.up()).rejects.toThrow(refusal)
    await other.destroy()
    expect(await versions(site('production'))).toEqual(before)
    await other.configure({ adopt: true })
    expect((await other.preview()).steps).toContain('create Deployment open-terrain-operator')
  })

  it('loses nothing to a destroy while its configuration protects it, not even one without a preview', async () => {
    const { environment, rollout } = site('production')
    const before = await versions(site('production'))
    // Without a preview, which would find the first protected resource.
    await expect(rollout.destroy()).rejects.toThrow('protect')
    expect(await versions(site('production'))).toEqual(before)
    expect((await rollout.preview({ refresh: true })).steps).toEqual([])
    const definition = await environment.client.get(CUSTOM_RESOURCE_DEFINITION, { name: 'vmdiskimages.pelotech.ot' })
    expect(definition.metadata.deletionTimestamp).toBeUndefined()
  })

  it('is destroyed by what the documentation has people type, and leaves the definitions', async () => {
    const { environment } = site('production')
    await workshop.type('pulumi stack select production', environment.asContext)
    for (const line of documentedCommands('## Down')) await workshop.type(line, environment.asContext)
    expect(await environment.find(DEPLOYMENT, OPERATOR.name, OPERATOR.namespace)).toBeUndefined()
    const definition = await environment.client.get(CUSTOM_RESOURCE_DEFINITION, { name: 'vmdiskimages.pelotech.ot' })
    expect(definition.metadata.deletionTimestamp).toBeUndefined()
  })

  it('is not taken from the manifests that have taken it over, until it is told to adopt', async () => {
    const { environment, rollout } = site('production')
    await using admin = new ApiUser(environment.controlPlane.kubeconfigPath)
    const options = { folder: ROOT, environment: 'production', image: IMAGE }
    const apply = async (adopt: boolean, wanted: RegExp | 'granted') => {
      for (const content of environmentManifests({ ...options, adopt }).values())
        for (const object of parseAllDocuments(content).map((document) => document.toJS() as Manifest))
          if (wanted === 'granted' || object.kind === 'CustomResourceDefinition')
            await admin.askUntil(wanted, 'APPLY', `${pathOf(object)}?fieldManager=kubectl&force=true`, object)
    }
    await apply(false, /belongs to open-terrain\/production, .* then npm run synth -- production --adopt$/)
    await apply(true, 'granted')
    const ownersOf = async () => {
      const { client } = environment
      const objects = [client.get<KubeObject>(DEPLOYMENT, OPERATOR), client.get<KubeObject>(CONFIG_MAP, POLICY)]
      return Promise.all(objects.map(async (one) => (await one).metadata.annotations?.['pelotech.ot/installed-by']))
    }
    const refusal = 'belongs to manifests/production, and two owners would undo what the other one does'
    await expect(rollout.preview()).rejects.toThrow(refusal)
    expect(await ownersOf()).toEqual(['manifests/production', 'manifests/production'])
    await rollout.configure({ adopt: true })
    await rollout.up()
    expect(await ownersOf()).toEqual(['open-terrain/production', 'open-terrain/production'])
    await rollout.configure({ adopt: false })
    await rollout.up()
    expect((await rollout.preview()).steps).toEqual([])
  })
})

/** The commands of the first shell block under a heading of docs/pulumi.md. */
function documentedCommands(heading: string): string[] {
  const text = readFileSync(join(ROOT, 'docs/pulumi.md'), 'utf8')
  const block = /```sh\n(.*?)```/s.exec(text.slice(text.indexOf(`\n${heading}\n`)))?.[1]
  return (block ?? '').split('\n').filter((line) => line !== '')
}
