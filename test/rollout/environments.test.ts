import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readStackFile } from '../../infra/stack-files.ts'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT } from '../../operator/kube/resource-types.ts'
import { Environment } from './environment.ts'
import { program } from './program.ts'
import { type Rollout, Workshop } from './rollout.ts'

const ROOT = `${import.meta.dirname}/../..`
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
      const rollout = await workshop.stack(name, environment.kubeconfig, program)
      sites.set(name, { environment, rollout })
      await rollout.configure({
        ...readStackFile(ROOT, name),
        // The kinds of the Prometheus operator are not in these clusters.
        monitoring: { enabled: false },
        image: 'registry.example.com/open-terrain/operator:1.0.0',
      })
    }
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

  it('has what the file of its stack says', async () => {
    for (const [name, { environment, rollout }] of sites) {
      await rollout.up()
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
    expect((await site('production').rollout.preview()).steps).toEqual([])
  })

  it('is not destroyed while its configuration protects it', async () => {
    const { environment, rollout } = site('production')
    await expect(rollout.destroy()).rejects.toThrow('protect')
    const definition = await environment.client.get(CUSTOM_RESOURCE_DEFINITION, { name: 'vmdiskimages.pelotech.ot' })
    expect(definition.metadata.deletionTimestamp).toBeUndefined()
  })
})
