import { describe, expect, it } from 'vitest'
import { PROPOSED_DATA_SYNC } from '../../test/prepared/api/data-sync.ts'
import { render } from '../children/render.ts'
import { DataSync, type DataSyncProps } from './data-sync.ts'
import type { DataSyncSpecInput } from './spec-props.ts'

const synth = (props: DataSyncProps) => render((chart) => new DataSync(chart, 'Data', props))
const metadata = { name: 'lab' }
const vms = [{ name: 'a', url: 'https://a.example/b', sourceType: 'http' as const }]

describe('DataSync', () => {
  it('is the manifest of the proposal', () => {
    const { spec, metadata: named } = PROPOSED_DATA_SYNC
    // The fixture is deeply read-only, which props need not be.
    const props = structuredClone(spec) as unknown as DataSyncSpecInput
    expect(synth({ metadata: named, ...props })).toEqual([PROPOSED_DATA_SYNC])
  })

  it.each<[string, DataSyncProps, RegExp]>([
    [
      'the path and every field',
      { metadata, workspaceId: '', vms: [{ name: 'a', url: 's3://b/k', diskSize: '1Ki' }] },
      /render\/Data: the DataSync is not valid\n {2}spec\.workspaceId: .*\n {2}machine a: spec\.vms\[0\]\.url: .*\n {2}machine a: spec\.vms\[0\]\.diskSize: /,
    ],
    [
      'a bad name',
      { metadata: { name: 'Lab' }, workspaceId: '1', vms },
      /metadata\.name: must be the name of a Kubernetes object.*; it is "Lab"/,
    ],
    [
      'a misspelt field further down',
      { metadata, workspaceId: '1', vms: [{ name: 'a', url: 'https://a.example/b', ...{ disksize: '1Gi' } }] },
      /spec\.vms\[0\] has no field disksize;/,
    ],
  ])('throws at synth, naming %s', (_name, props, message) => {
    expect(() => synth(props)).toThrow(message)
  })
})
