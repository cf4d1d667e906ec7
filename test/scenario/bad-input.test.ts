import { parseVirtualMachineSpec, parseVMDiskImageSpec, virtualMachine, vmDiskImage } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import {
  PROPOSED_VIRTUAL_MACHINE,
  VIRTUAL_MACHINE_FIXTURES,
  VIRTUAL_MACHINE_NAMES,
} from '../../constructs/api/virtual-machine.fixtures.ts'
import { SPEC_FIXTURES } from '../../constructs/api/vm-disk-image.fixtures.ts'
import { installCrds, ourCrds } from '../../sandbox/control-plane/install.ts'
import { useCluster } from '../harness/cluster.ts'
import { conditionOf } from '../harness/kinds.ts'
import { World } from '../harness/world.ts'

type Crd = Awaited<ReturnType<typeof ourCrds>>[number]

const KINDS = [
  { ...vmDiskImage, fixtures: SPEC_FIXTURES, parse: parseVMDiskImageSpec },
  { ...virtualMachine, fixtures: VIRTUAL_MACHINE_FIXTURES, parse: parseVirtualMachineSpec },
]

describe('a bad spec', () => {
  const cluster = useCluster()

  it.each(KINDS)('of a $kind is judged by the API server as by the schema, fixture by fixture', async (one) => {
    const { controlPlane } = cluster()
    const { apiVersion, kind, plural } = one
    const url = `/apis/${apiVersion}/namespaces/default/${plural}?dryRun=All`
    const differences: string[] = []
    await Promise.all(
      one.fixtures.map(async ({ name, spec, valid, path }, at) => {
        const manifest = { apiVersion, kind, metadata: { name: `fixture-${at}` }, spec }
        const { status, text } = await controlPlane.request('POST', url, manifest)
        const isAccepted = status === 201
        if (isAccepted !== valid) differences.push(`${name}: the API server answers ${status}: ${text.slice(0, 300)}`)
        if (one.parse(spec).ok !== valid) differences.push(`${name}: the schema disagrees`)
        if (!isAccepted && path !== undefined && !text.includes(path))
          differences.push(`${name}: ${path} is not named: ${text.slice(0, 300)}`)
      }),
    )
    expect(differences).toEqual([])
  })

  it('of a VirtualMachine may have a good name only', async () => {
    const { controlPlane } = cluster()
    const { apiVersion, kind, plural } = virtualMachine
    const answers = await Promise.all(
      [...VIRTUAL_MACHINE_NAMES.accepted, ...VIRTUAL_MACHINE_NAMES.refused].map(async (name) => {
        const manifest = { ...PROPOSED_VIRTUAL_MACHINE, apiVersion, kind, metadata: { name } }
        const url = `/apis/${apiVersion}/namespaces/default/${plural}?dryRun=All`
        const { status, text } = await controlPlane.request('POST', url, manifest)
        return [name, status === 201 ? 'accepted' : /metadata\.name must be [^:]*/.exec(text)?.[0]]
      }),
    )
    const message =
      'metadata.name must be lower-case letters, digits and \\"-\\", at most 63, with a letter or digit at both ends'
    expect(answers).toEqual([
      ...VIRTUAL_MACHINE_NAMES.accepted.map((name) => [name, 'accepted']),
      ...VIRTUAL_MACHINE_NAMES.refused.map((name) => [name, message]),
    ])
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
