import { POLICY_DEFAULTS, type Policy } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { parsed } from '../../../../test/prepared/workspace/workspace-world.ts'
import { imageTemplate } from './image-template.ts'

const RESOURCES = { cpu: 1, memory: '1Gi' }
const TEMPLATE = { url: 'https://images.example/own.qcow2', sourceType: 'http', diskSize: '5Gi' } as const
const vm = (name: string, more: object = {}) => ({ name, backingVMDiskImage: 'golden', resources: RESOURCES, ...more })
const made = (policy: Partial<Policy>, ...vms: object[]) =>
  imageTemplate(parsed({ vms }), { ...POLICY_DEFAULTS, ...policy }, 'golden')
const URL = 'https://images.example/{name}/{version}.qcow2'

describe('what an image is made from', () => {
  it('is the template of the first machine that has one, whatever the policy says', () => {
    const machines = [
      vm('a'),
      vm('b', { vmDiskImageTemplate: TEMPLATE }),
      vm('c', { vmDiskImageTemplate: { ...TEMPLATE, diskSize: '6Gi' } }),
    ]
    expect(made({ imageUrlTemplate: URL }, ...machines)).toEqual({ spec: TEMPLATE, from: 'vmDiskImageTemplate' })
  })

  it.each<[url: string, more: Partial<Policy>, spec: object]>([
    [URL, {}, { name: 'a', url: 'https://images.example/a/1.0.qcow2', sourceType: 'http', diskSize: '9Gi' }],
    [
      'docker://registry.example/{name}:{version}',
      {},
      { name: 'a', url: 'docker://registry.example/a:1.0', sourceType: 'registry', diskSize: '9Gi' },
    ],
    [
      'https://images.example/{image}.qcow2',
      {},
      { name: 'a', url: 'https://images.example/golden.qcow2', sourceType: 'http', diskSize: '9Gi' },
    ],
    [
      'https://s3.eu.amazonaws.com/b/{name}',
      { defaultSourceType: 's3', defaultDiskSize: '20Gi' },
      { name: 'a', url: 'https://s3.eu.amazonaws.com/b/a', sourceType: 's3' },
    ],
  ])('is %s of the policy, else', (imageUrlTemplate, more, spec) => {
    const [first, second] = [vm('a', { version: '1.0', diskSize: '9Gi' }), vm('b', { version: '2.0' })]
    expect(made({ imageUrlTemplate, ...more }, first, second)).toEqual({ spec, from: 'imageUrlTemplate' })
  })

  it('is nothing where neither says it, or a placeholder stands for nothing', () => {
    expect(made({}, vm('a'))).toMatchObject({ spec: undefined, lacks: expect.stringContaining('no imageUrlTemplate') })
    expect(made({ imageUrlTemplate: URL }, vm('a'))).toMatchObject({
      spec: undefined,
      lacks: expect.stringContaining('version'),
    })
  })

  it('is nothing for an image that only other disks name than root disks, unless it needs nothing of a machine', () => {
    const disks = [{ name: 'tools', backingVMDiskImage: 'golden' }]
    const machine = vm('a', { backingVMDiskImage: 'other', disks })
    expect(made({ imageUrlTemplate: 'https://images.example/{image}.qcow2', defaultDiskSize: '1Gi' }, machine)).toEqual(
      {
        spec: { name: 'golden', url: 'https://images.example/golden.qcow2', sourceType: 'http' },
        from: 'imageUrlTemplate',
      },
    )
    expect(made({ imageUrlTemplate: URL }, machine)).toMatchObject({
      spec: undefined,
      lacks: expect.stringContaining('only disks of machines name it'),
    })
  })
})
