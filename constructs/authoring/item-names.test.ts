import { App, Chart } from 'cdk8s'
import { Construct } from 'constructs'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { dataSync } from '../api/data-sync.ts'
import { virtualMachine } from '../api/virtual-machine.ts'
import { workspace } from '../api/workspace.ts'
import { workspaceSnapshot } from '../api/workspace-snapshot.ts'
import { unwrapped } from '../schema/unwrapped.ts'
import { ITEMS } from './item-names.ts'
import { LabVm } from './lab-vm.ts'
import { Workspace } from './workspace.ts'

/** Every list of objects in a schema: the field that has it, and the fields of its items. */
function listsIn(schema: z.core.$ZodType, field = ''): (readonly [field: string, fields: readonly string[]])[] {
  const bare = unwrapped(schema)
  if (bare instanceof z.ZodArray) {
    const item = unwrapped(bare.element)
    return [...(item instanceof z.ZodObject ? [[field, Object.keys(item.shape)] as const] : []), ...listsIn(item)]
  }
  if (!(bare instanceof z.ZodObject)) return []
  return Object.entries(bare.shape).flatMap(([name, of]) => listsIn(of as z.core.$ZodType, name))
}

/** No item is told from another by one field: KubeVirt's words for where a guest may run, aliases of a host, and sources of variables. */
const NAMELESS = ['tolerations', 'hostAliases', 'envFrom']

describe('the names of items', () => {
  it('are known of every list whose items have a name', () => {
    const lists = [workspace, virtualMachine, dataSync, workspaceSnapshot].flatMap(({ spec }) => listsIn(spec))
    expect(lists.length).toBeGreaterThan(20)
    const unnamed = lists.filter(([field, fields]) => !ITEMS[field]?.some((key) => fields.includes(key)))
    expect([...new Set(unnamed.map(([field]) => field))].filter((field) => !NAMELESS.includes(field))).toEqual([])
  })

  it('are in what is told of a further disk, under the construct that made the machine', () => {
    const lab = new Workspace(new Chart(new App(), 'labs'), 'lab')
    const disks = [
      { name: 'data', size: '1Gi' },
      { name: 'spare', size: 'big' },
      { name: 'tools', image: 'Bad Image' },
      { name: 'none' },
    ]
    new LabVm(new Construct(lab, 'team'), 'a', { image: 'debian', cpu: 1, memory: '1Gi', disks })
    const [text = ''] = lab.node.validate()
    for (const told of [
      'disk spare: spec.vms[0].disks[1].size: must be a quantity such as 24Gi or 500M; it is "big"',
      'disk tools: image (spec.vms[0].disks[2].backingVMDiskImage): must be the name of a Kubernetes object',
      'disk none: spec.vms[0].disks[3]: a disk must have exactly one of size, volume and image',
    ])
      expect(text).toContain(`\n  labs/lab/team/vms.a: ${told}`)
  })

  it('say which object was given for a text', () => {
    class Period {}
    const lab = new Workspace(new Chart(new App(), 'labs'), 'lab', { lifetime: new Period() as never })
    expect(lab.node.validate()[0]).toContain(
      'spec.lifetime: must be a text; it is an object (Period): of objects, only Size and Duration of cdk8s and Date',
    )
  })
})
