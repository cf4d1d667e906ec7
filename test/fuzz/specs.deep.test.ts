import {
  dataSync,
  RESOURCES,
  resourceSchema,
  type StructuralSchema,
  virtualMachine,
  vmDiskImage,
  workspace,
} from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { Connection } from '../../operator/kube/connection.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import { DATA_SYNC_FIXTURES } from '../prepared/api/data-sync.ts'
import type { SpecFixture } from '../prepared/api/spec.ts'
import { VIRTUAL_MACHINE_FIXTURES } from '../prepared/api/virtual-machine.ts'
import { SPEC_FIXTURES } from '../prepared/api/vm-disk-image.ts'
import { WORKSPACE_FIXTURES } from '../prepared/api/workspace.ts'
import { dataSyncManifest } from './data-sync-manifests.ts'
import { findingText } from './report.ts'
import { compareFixtures, compareVerdicts, SPEC_CONNECTIONS } from './spec-campaign.ts'
import type { Manifest, ManifestKind } from './spec-manifests.ts'
import { smallWorkspaceManifest } from './workspace-manifests.ts'

/** The same seed in every run, so that a change is judged by its own effect. `npm run fuzz` uses a new one. */
const SEED = Number(process.env['FUZZ_SEED'] ?? 20778)

/** Number of manifests of all kinds. */
const COUNT = 4_000
/** Number of small specs, of which each rule must refuse one alone. */
const SMALL = 2_000
/** Number of DataSyncs beside those among all kinds, where they are a fifth. */
const SYNCS = 1_000

const FIXTURES: readonly [{ readonly apiVersion: string; readonly kind: string }, readonly SpecFixture[]][] = [
  [vmDiskImage, SPEC_FIXTURES],
  [virtualMachine, VIRTUAL_MACHINE_FIXTURES],
  [dataSync, DATA_SYNC_FIXTURES],
  [workspace, WORKSPACE_FIXTURES],
]

/** Most rules have a fixture that they alone refuse: drawing one for each would take ten times as many. */
function fixtureManifests(): Manifest[] {
  return FIXTURES.flatMap(([{ apiVersion, kind }, fixtures]) =>
    fixtures.map(({ spec }) => ({
      kind: kind as ManifestKind,
      made: 'near-valid' as const,
      isStrict: false,
      body: JSON.stringify({ apiVersion, kind, metadata: { name: 'fixture' }, spec }),
    })),
  )
}

describe('any manifest of a VMDiskImage, a VirtualMachine, a DataSync, a Workspace or a WorkspaceSnapshot', () => {
  const cluster = useOwnCluster()

  it('is judged by the API server as by the schema', async () => {
    const connection = Connection.fromEnvironment(SPEC_CONNECTIONS, cluster().controlPlane.kubeconfigPath)
    try {
      const { findings, judged, soleReasons } = await compareVerdicts({ connection, seed: SEED, count: COUNT })
      expect(findings.map(findingText)).toEqual([])
      expect(judged).toBe(COUNT)
      const small = await compareVerdicts({ connection, seed: SEED, count: SMALL, manifests: smallWorkspaceManifest })
      expect(small.findings.map(findingText)).toEqual([])
      const syncs = await compareVerdicts({ connection, seed: SEED, count: SYNCS, manifests: dataSyncManifest })
      expect(syncs.findings.map(findingText)).toEqual([])
      const fixtures = await compareFixtures(connection, fixtureManifests())
      expect(fixtures.different).toEqual([])
      const all = [soleReasons, fixtures.soleReasons, small.soleReasons, syncs.soleReasons]
      const reasons = all.flatMap((found) => [...found.keys()])
      // A rule that never refused one alone could be missing unnoticed.
      const unused = [...messagesOfRules()].filter((message) => !reasons.some((reason) => reason.includes(message)))
      expect(unused).toEqual([])
    } finally {
      await connection.close()
    }
  })
})

function messagesOfRules(): Set<string> {
  // Only the operator writes a status.
  return new Set(RESOURCES.flatMap((resource) => messagesBelow(resourceSchema(resource), 'status')))
}

function messagesBelow({ items, properties, ...schema }: StructuralSchema, without?: string): string[] {
  const fields = Object.entries(properties ?? {}).flatMap(([name, field]) => (name === without ? [] : [field]))
  const below = [...fields, ...(items === undefined ? [] : [items])]
  // A rule about a change refuses no new object.
  const rules = (schema['x-kubernetes-validations'] ?? []).filter(({ rule }) => !rule.includes('oldSelf'))
  return [...rules.map(said), ...below.flatMap((field) => messagesBelow(field))]
}

/** The constant part of a rule's message: its message, or the longest part of its sentence without values. */
function said({ message, messageExpression = '' }: ValidationRule): string {
  const parts = [...messageExpression.matchAll(/'((?:[^'\\]|\\.)*)'\.format\(/g)].flatMap(([, text = '']) =>
    text.split('%s'),
  )
  return parts.toSorted((a, b) => b.length - a.length)[0] ?? message
}

type ValidationRule = NonNullable<StructuralSchema['x-kubernetes-validations']>[number]
