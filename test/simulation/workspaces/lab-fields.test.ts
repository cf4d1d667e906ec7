import {
  parseWorkspaceSpec,
  renderWorkspaceMachine,
  resourceSchema,
  virtualMachine,
  workspace,
} from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { scheduleOf, storyOf } from '../story.ts'
import { labOf, specOf } from './labs.ts'

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
}

/** Enough labs that what is never among them is not a matter of chance. */
const SEEDS = Array.from({ length: 150 }, (_, at) => at + 1)
const KINDS = ['workspaces', 'workspacesPlayed', 'workspacesSharing'] as const

const specs = KINDS.flatMap((kind) =>
  SEEDS.flatMap((seed) => {
    const schedule = scheduleOf(storyOf(`${kind}:${seed}`))
    return (schedule.workspaces ?? []).map((plan, number) => specOf(labOf(plan, number), schedule))
  }),
)

const LATER = 'a lab is created on and without an end: people of schedules switch it off, and give it an end'
const OF_IMAGES = 'schedules of images alone have it'
/** Fields that no lab of a schedule has, with all below them, and why. */
const EXCEPTIONS: Readonly<Record<'Workspace' | 'VirtualMachine', Readonly<Record<string, string>>>> = {
  Workspace: {
    'networks[].attach': 'the network is that of somebody else, whom the world of a schedule does not have',
    ...Object.fromEntries(['expiresAt', 'lifetime', 'onExpiry'].map((field) => [field, LATER])),
    powerState: LATER,
    'vms[].disks[].volume':
      'the claim of a volume is in a machine or in containers, and people free it from containers',
    'vms[].vmDiskImageTemplate.certConfigMap': OF_IMAGES,
    'vms[].vmDiskImageTemplate.checksum': OF_IMAGES,
    'vms[].vmDiskImageTemplate.name': OF_IMAGES,
    'vms[].vmDiskImageTemplate.reclaimPolicy': OF_IMAGES,
    'vms[].vmDiskImageTemplate.secretRef': OF_IMAGES,
    'vms[].vmDiskImageTemplate.suspend': OF_IMAGES,
    'vms[].vmDiskImageTemplate.unreferencedTTL': OF_IMAGES,
  },
  VirtualMachine: {
    'disks[].volume': 'no lab has it',
    'interfaces[].attach': 'no lab has it',
    powerState: LATER,
    vmDiskImageMode: 'a workspace ensures its images itself',
    vmDiskImageTemplate: 'a workspace ensures its images itself',
  },
}

describe('what labs of schedules say', () => {
  it('is valid', () => {
    const wrong = specs.flatMap((spec) => {
      const parsed = parseWorkspaceSpec(spec)
      return parsed.ok ? [] : parsed.problems
    })
    expect(wrong).toEqual([])
  })

  it('has every field of a Workspace, and no field that is said to be left out', () => {
    expect(unsaidIn(resourceSchema(workspace), specs)).toEqual(Object.keys(EXCEPTIONS.Workspace).toSorted())
  })

  it('has every field of a VirtualMachine that a workspace has too', () => {
    const machines = specs.flatMap((spec) => {
      const parsed = parseWorkspaceSpec(spec)
      if (!parsed.ok) return []
      const props = { workspace: { name: 'lab', uid: 'lab' }, spec: parsed.spec, imageNamespace: 'farm' }
      return (parsed.spec.vms ?? []).map((vm) => renderWorkspaceMachine({ ...props, vm, driver: 'bridge' }).spec)
    })
    expect(unsaidIn(resourceSchema(virtualMachine), machines)).toEqual(
      Object.keys(EXCEPTIONS.VirtualMachine).toSorted(),
    )
  })
})

/** Returns the paths of the schema of a spec that no value has. What is below one of them is left out. */
function unsaidIn(schema: Schema, values: readonly unknown[]): string[] {
  const spec = schema.properties?.['spec'] ?? {}
  return unsaidBelow(spec, '', values).toSorted()
}

function unsaidBelow({ properties, items }: Schema, path: string, values: readonly unknown[]): string[] {
  if (items !== undefined) {
    const all = values.flatMap((value) => (Array.isArray(value) ? value : []))
    return all.length === 0 ? [`${path}[]`] : unsaidBelow(items, `${path}[]`, all)
  }
  return Object.entries(properties ?? {}).flatMap(([name, field]) => {
    const at = path === '' ? name : `${path}.${name}`
    const all = values.flatMap((value) => {
      const own = (value as Readonly<Record<string, unknown>> | null)?.[name]
      return own === undefined ? [] : [own]
    })
    return all.length === 0 ? [at] : unsaidBelow(field, at, all)
  })
}
