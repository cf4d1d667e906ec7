import { describe, expect, it } from 'vitest'
import { PROPOSED_VIRTUAL_MACHINE } from '../../test/prepared/api/virtual-machine.ts'
import { render } from '../children/render.ts'
import { Release } from './release.ts'
import type { VirtualMachineSpecInput } from './spec-props.ts'
import { VirtualMachine, type VirtualMachineProps } from './virtual-machine.ts'
import { VMDiskImage } from './vm-disk-image.ts'
import { Warnings } from './warnings.ts'

const synth = (props: VirtualMachineProps) =>
  render((chart) => Warnings.of(new VirtualMachine(chart, 'Machine', props)).acknowledgeAll())
const metadata = { name: 'demo' }
const least = { metadata, resources: { cpu: 2, memory: '2Gi' }, vmDiskImageRef: { name: 'image' } }

describe('VirtualMachine', () => {
  it('is the manifest of the proposal', () => {
    // The fixture is deeply read-only, which props need not be.
    const spec = structuredClone(PROPOSED_VIRTUAL_MACHINE.spec) as unknown as VirtualMachineSpecInput
    expect(synth({ metadata: { name: 'demo-workspace-1' }, ...spec })).toEqual([PROPOSED_VIRTUAL_MACHINE])
  })

  it('has an image of the program, of a release or by itself, with its namespace', () => {
    const source = { sourceType: 'http', diskSize: '1Gi' } as const
    const url = 'https://images.example.com/kali.qcow2'
    const objects = render((chart) => {
      const release = new Release(chart, 'r', { workspaceId: 'x', ...source, images: { kali: { url } } })
      const golden = new VMDiskImage(chart, 'golden', { url, ...source })
      new VirtualMachine(chart, 'a', { ...least, metadata: {}, vmDiskImageRef: release.image('kali') })
      new VirtualMachine(chart, 'b', { ...least, metadata: {}, vmDiskImageRef: golden })
    })
    expect(objects.slice(2)).toMatchObject([
      { metadata: { name: 'a' }, spec: { vmDiskImageRef: { name: 'x-kali', namespace: 'vmdi-farm' } } },
      { metadata: { name: 'b' }, spec: { vmDiskImageRef: { name: 'golden' } } },
    ])
  })

  it('writes numbers as texts', () => {
    expect(synth(least)).toMatchObject([{ spec: { resources: { cpu: '2', memory: '2Gi' } } }])
  })

  it.each<[string, VirtualMachineProps, RegExp]>([
    [
      'the path and every field',
      { ...least, resources: { cpu: 0, memory: '2 Gi' }, users: [{ name: 'a:b' }] },
      /render\/Machine: the VirtualMachine is not valid\n {2}user a:b: spec\.users\[0\]\.name: .*\n {2}spec\.resources\.cpu: .*\n {2}spec\.resources\.memory: /,
    ],
    [
      'a bad name',
      { ...least, metadata: { name: 'a.b' } },
      /render\/Machine: .*\n {2}metadata\.name: must be lower-case letters.*; it is "a\.b"/,
    ],
    ['a misspelt field', { ...least, ...{ interface: [] } }, /render\/Machine: .*\n {2}spec has no field interface;/],
    [
      'a misspelt field further down',
      {
        ...least,
        users: [{ name: 'a', ...{ passwd: 'x' } }],
        vmDiskImageTemplate: { url: 'https://a.example/b', ...{ size: 1 } },
      },
      /spec\.users\[0\] has no field passwd;.*\n {2}spec\.vmDiskImageTemplate has no field size;/,
    ],
  ])('throws at synth, naming %s', (_name, props, message) => {
    expect(() => synth(props)).toThrow(message)
  })
})
