import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DATA_SYNC_FIXTURES, PROPOSED_DATA_SYNC } from '../../test/prepared/api/data-sync.ts'
import { explainsReasons, judgesSpecs } from '../../test/prepared/api/kind-suite.ts'
import { imageSpecOf, renderDataSyncImage } from '../children/data-sync-image.ts'
import {
  DATA_SYNC_CONDITIONS,
  DATA_SYNC_PHASES,
  DATA_SYNC_REASON_HELP,
  DATA_SYNC_REASONS,
  dataSync,
  parseDataSyncSpec,
} from './data-sync.ts'
import { parseVMDiskImageSpec } from './vm-disk-image.ts'

describe('parseDataSyncSpec', () => {
  // Includes the leading zeros of its identifier.
  judgesSpecs(DATA_SYNC_FIXTURES, parseDataSyncSpec, PROPOSED_DATA_SYNC.spec)

  it.each<[string, unknown, object]>([
    [
      'a list in words',
      { workspaceId: '035', vms: 'yaml list of vms' },
      { path: 'spec.vms', message: 'must be a list; it is "yaml list of vms"' },
    ],
    ['an empty list', { workspaceId: '035', vms: [] }, { path: 'spec.vms', message: 'must have at least 1 item' }],
    [
      'an identifier that lost its zeros',
      { ...PROPOSED_DATA_SYNC.spec, workspaceId: 35 },
      { path: 'spec.workspaceId', message: 'must be a text: put quotes around a number; it is 35' },
    ],
    [
      'a name twice',
      { workspaceId: '035', vms: ['a', 'b', 'a'].map((name) => ({ name, sourceType: 'blank' })) },
      { path: 'spec.vms[2]', message: 'must have a name of its own: another item of the list has it too' },
    ],
    [
      'a source that does not fit the type of all',
      { workspaceId: '035', sourceType: 'registry', vms: [{ name: 'a', url: 'https://a.example/b' }] },
      {
        path: 'spec.vms',
        message:
          'url must start with docker:// or oci-archive:// for sourceType registry: spec.sourceType applies to vms without their own sourceType',
      },
    ],
  ])('says of %s what is wrong', (_what, spec, problem) => {
    expect(parseDataSyncSpec(spec)).toEqual({ ok: false, problems: [problem] })
  })
})

describe('the image of a vm', () => {
  const fine = DATA_SYNC_FIXTURES.filter(({ valid }) => valid)

  it.each(fine)('is one that the API takes: $name', ({ spec }) => {
    const parsed = parseDataSyncSpec(spec)
    if (!parsed.ok) throw new Error('the fixture is valid')
    for (const vm of parsed.spec.vms) {
      const image = imageSpecOf(parsed.spec, vm)
      expect(parseVMDiskImageSpec(image)).toEqual({ ok: true, spec: image })
    }
  })

  it('has what its vm says, and for the rest what the spec says for all', () => {
    const shared = { sourceType: 's3', diskSize: '10Gi', secretRef: 'all', storageClass: 'gp3' } as const
    const vm = { name: 'a', url: 'https://a.example/b', secretRef: 'own' }
    expect(imageSpecOf({ workspaceId: '035', vms: [vm], ...shared }, vm)).toEqual({ ...shared, ...vm })
  })

  it('names what it is for, and has no owner', () => {
    const triple = { workspaceId: '035', version: '1.0.0', vm: 'attacker' }
    const spec = { url: 'https://a.example/b', sourceType: 'http' } as const
    expect(renderDataSyncImage({ namespace: 'farm', triple, spec, annotations: { a: 'b' } })).toEqual({
      apiVersion: 'pelotech.ot/v1alpha1',
      kind: 'VMDiskImage',
      metadata: {
        name: '035-1.0.0-attacker',
        namespace: 'farm',
        labels: { 'pelotech.ot/created-by': 'DataSync' },
        annotations: {
          'pelotech.ot/workspace-id': '035',
          'pelotech.ot/workspace-version': '1.0.0',
          'pelotech.ot/workspace-vm': 'attacker',
          a: 'b',
        },
      },
      spec,
    })
  })

  it('can be rendered whatever its parts are called', () => {
    const part = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
    fc.assert(
      fc.property(part, fc.option(part, { nil: undefined }), part, (workspaceId, version, vm) => {
        const triple = { workspaceId, version, vm }
        const spec = { name: vm, sourceType: 'blank' } as const
        expect(renderDataSyncImage({ namespace: 'farm', triple, spec }).kind).toBe('VMDiskImage')
      }),
    )
  })
})

describe('DataSync', () => {
  explainsReasons(DATA_SYNC_REASONS, DATA_SYNC_REASON_HELP)

  it('reads a status in full and an empty one', () => {
    const conditions = Object.values(DATA_SYNC_CONDITIONS).map((type) => {
      return { type, status: 'True', reason: 'Synced', message: '', observedGeneration: 1 }
    })
    const status = {
      phase: DATA_SYNC_PHASES.Succeeded,
      conditions,
      progress: '100.0%',
      counts: { total: 1, succeeded: 1, syncing: 0, queued: 0, failed: 0 },
      ready: '1/1',
      images: [{ vm: 'a', name: '035-a', phase: 'Succeeded', reason: 'Synced' }],
    }
    expect(dataSync.status.parse(status)).toEqual(status)
    expect(dataSync.status.parse({})).toEqual({})
  })
})
