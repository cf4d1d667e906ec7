import { parseVMDiskImageSpec } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { SPEC_FIXTURES } from '../../constructs/api/vm-disk-image.fixtures.ts'
import { installCrds, ourCrds } from '../../sandbox/control-plane/install.ts'
import { useCluster } from '../harness/cluster.ts'
import { conditionOf } from '../harness/kinds.ts'
import { World } from '../harness/world.ts'

type Crd = Awaited<ReturnType<typeof ourCrds>>[number]

describe('a bad spec', () => {
  const cluster = useCluster()

  it('is judged by the API server as by the schema, fixture by fixture', async () => {
    const { controlPlane } = cluster()
    const differences: string[] = []
    await Promise.all(
      SPEC_FIXTURES.map(async ({ name, spec, valid, path }, at) => {
        const image = {
          apiVersion: 'pelotech.ot/v1alpha1',
          kind: 'VMDiskImage',
          metadata: { name: `fixture-${at}` },
          spec,
        }
        const url = '/apis/pelotech.ot/v1alpha1/namespaces/default/vmdiskimages?dryRun=All'
        const { status, text } = await controlPlane.request('POST', url, image)
        const isAccepted = status === 201
        if (isAccepted !== valid) differences.push(`${name}: the API server answers ${status}: ${text.slice(0, 300)}`)
        if (parseVMDiskImageSpec(spec).ok !== valid) differences.push(`${name}: the schema disagrees`)
        if (!isAccepted && path !== undefined && !text.includes(path))
          differences.push(`${name}: ${path} is not named: ${text.slice(0, 300)}`)
      }),
    )
    expect(differences).toEqual([])
  })

  it('that got in under an older schema is shown, with its field, and blocks nobody', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '1' } })
    const { kubeconfigYaml } = cluster().controlPlane
    const crds = await ourCrds()
    await installCrds({ kubeconfigYaml }, crds.map(withoutRules))
    await world.createWhenTaken('bad', { url: 'ftp://somewhere/a' })
    const bad = await world.untilReason('bad', 'InvalidSpec')
    expect(bad.status).toMatchObject({ phase: 'Failed', message: expect.stringContaining('spec.url') })
    expect(conditionOf(bad, 'Stalled')?.status).toBe('True')
    await world.createImage('good')
    await world.untilSynced('good')

    await installCrds({ kubeconfigYaml }, crds)
    await world.patchImage('bad', { spec: { url: world.urlOf('bad') } })
    await world.untilSynced('bad')
    await world.finish()
  })
})

/** The same kinds, with everything allowed in a spec. */
function withoutRules(crd: Crd): Crd {
  const copy = structuredClone(crd) as unknown as {
    spec: { versions: { schema: { openAPIV3Schema: { properties: Record<string, unknown> } } }[] }
  }
  for (const { schema } of copy.spec.versions) {
    schema.openAPIV3Schema.properties['spec'] = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  }
  return copy as unknown as Crd
}
