import { describe, expect, it } from 'vitest'
import { render } from '../children/render.ts'
import { VMDiskImage, type VMDiskImageProps } from './vm-disk-image.ts'

const synth = (props: VMDiskImageProps) => render((chart) => new VMDiskImage(chart, 'Image', props))
const metadata = { name: 'attacker' }

describe('VMDiskImage', () => {
  it('is the manifest that one would write', () => {
    const [object] = synth({ metadata, sourceType: 'http', url: 'https://a.example/b.qcow2', diskSize: 25769803776 })
    expect(object).toEqual({
      apiVersion: 'pelotech.ot/v1alpha1',
      kind: 'VMDiskImage',
      metadata,
      spec: { sourceType: 'http', url: 'https://a.example/b.qcow2', diskSize: '25769803776' },
    })
  })

  it.each<[string, VMDiskImageProps, RegExp]>([
    [
      'the path and every field',
      { metadata, url: 's3://b/k', diskSize: '1Ki' },
      /render\/Image: .*\n {2}spec\.url: .*https:\/\/s3\.<region>.*\n {2}spec\.diskSize: /,
    ],
    [
      'a bad name',
      { metadata: { name: 'Attacker' }, sourceType: 'blank' },
      /render\/Image: .*\n {2}metadata\.name: must be the name of a Kubernetes object.*; it is "Attacker"/,
    ],
    ['a misspelt field', { metadata, sourceType: 'blank', ...{ disksize: '1Gi' } }, /spec has no field disksize/],
  ])('throws at synth, naming %s', (_name, props, message) => {
    expect(() => synth(props)).toThrow(message)
  })
})
