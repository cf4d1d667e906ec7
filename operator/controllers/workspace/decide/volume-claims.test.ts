import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import {
  renderContainerCluster,
  renderWorkspaceVolume,
  volumeClaimsIn,
  volumeClaimsText,
  type WorkspaceSpec,
} from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { toTime } from '../../../base/time.ts'
import { type ClaimView, viewClaim } from '../../../cluster/views.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import type { WorkspaceWorld } from '../world.ts'
import { idOfObject } from './component.ts'
import { claimsOfVolumes, isOfVolume, oldVolumeOf } from './volume-claims.ts'

const NOW = Date.parse('2026-01-31T12:00:00Z')
const LAB = { name: 'lab', uid: 'uid-lab' }
const RESTORED = 'loot-1a2b3c4d'
const LATER = 'loot-5e6f7a8b'
const SWITCHED = volumeClaimsText(new Map([['loot', { claim: RESTORED, replaced: 'loot', at: toTime(NOW) }]]))

function aClaim(name: string, phase = 'Bound', isMarked = true): ClaimView {
  const labels = name.includes('-') ? { [LABELS.volume]: 'loot' } : {}
  const annotations = isMarked ? { [ANNOTATIONS.rendered]: 'mark' } : {}
  const metadata = { namespace: 'lab', name, uid: `uid-${name}`, resourceVersion: '1', labels, annotations }
  return viewClaim({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, status: { phase } } as KubeObject)
}

function clusterWith(claimName: string): KubeObject {
  const spec = { template: { spec: { volumes: [{ name: 'loot', persistentVolumeClaim: { claimName } }] } } }
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { namespace: 'lab', name: 'web' }, spec } as KubeObject
}

/** @param annotation of the Workspace */
function aWorld(children: readonly KubeObject[], annotation: string | undefined) {
  const annotations = annotation === undefined ? {} : { [ANNOTATIONS.volumeClaims]: annotation }
  return {
    workspace: {
      apiVersion: 'v1',
      kind: 'Workspace',
      metadata: { ...LAB, resourceVersion: '7', annotations },
      status: {},
    },
    spec: { ok: true, spec: { volumes: [{ name: 'loot', size: '1Gi' }] } },
    children: new Map(children.map((one) => [idOfObject(one), one])),
  } as unknown as WorkspaceWorld
}

const claimsIn = ({ workspace, children }: WorkspaceWorld) => [...claimsOfVolumes(workspace, children)]

describe('the claim of a volume', () => {
  it.each<[string, readonly KubeObject[], string | undefined, readonly (readonly [string, string])[]]>([
    ['is its own where nothing was restored', [aClaim('loot')], undefined, []],
    ['is the one that the annotation says', [aClaim('loot')], SWITCHED, [['loot', RESTORED]]],
    [
      'stays the restored one where somebody takes that away',
      [aClaim('loot'), aClaim(RESTORED)],
      undefined,
      [['loot', RESTORED]],
    ],
    ['is the one that the annotation says also where that is gone', [aClaim('loot')], SWITCHED, [['loot', RESTORED]]],
    [
      'is the one that it has had since where an older annotation comes back',
      [aClaim(LATER)],
      SWITCHED,
      [['loot', LATER]],
    ],
    [
      'is not an older one by itself where the present one is gone',
      [aClaim(RESTORED)],
      volumeClaimsText(new Map([['loot', { claim: LATER, replaced: RESTORED, at: toTime(NOW) }]])),
      [['loot', LATER]],
    ],
    ['is not one that was never switched to', [aClaim('loot'), aClaim(RESTORED, 'Bound', false)], undefined, []],
    ['is not one of another volume', [], SWITCHED.replaceAll(RESTORED, 'tools-1a2b3c4d'), []],
    ['is its own where the annotation is no JSON', [], '{', []],
    [
      'is its own where somebody goes back to it',
      [aClaim('loot'), aClaim(RESTORED)],
      SWITCHED.replace(RESTORED, 'loot'),
      [],
    ],
  ])('%s', (_what, children, annotation, claims) => {
    expect(claimsIn(aWorld(children, annotation))).toEqual(claims)
  })

  it('is rendered everywhere, and nothing else changes', () => {
    const cluster = {
      name: 'web',
      containers: [{ name: 'web', image: 'web', volumeMounts: [{ name: 'loot', containerPath: '/loot' }] }],
    }
    const spec = { volumes: [{ name: 'loot', size: '1Gi' }], containerClusters: [cluster] } as unknown as WorkspaceSpec
    const render = (volumeClaims?: ReadonlyMap<string, string>) => {
      const props = { workspace: LAB, spec, driver: 'bridge', volumeClaims } as const
      const [first] = spec.containerClusters ?? []
      return first === undefined ? '' : JSON.stringify(renderContainerCluster({ ...props, cluster: first }))
    }
    const restored = render(new Map([['loot', RESTORED]]))
    expect(restored).toBe(render().replace('"claimName":"loot"', `"claimName":"${RESTORED}"`))
    expect(render(new Map())).toBe(render())
    const volume = { name: 'loot', size: '1Gi', localPath: 'loot' }
    const storage = { workspace: LAB, volume, localVolumeRoot: '/srv', volumeClaims: new Map([['loot', RESTORED]]) }
    expect(renderWorkspaceVolume(storage).map(({ kind, metadata }) => [kind, metadata.name])).toEqual([
      ['PersistentVolumeClaim', RESTORED],
    ])
  })

  it('goes for nothing but its end: none of its volume is one that nobody asks for', () => {
    const world = aWorld([], SWITCHED)
    expect([aClaim('loot'), aClaim(RESTORED), aClaim('tools')].map((one) => isOfVolume(world, one))).toEqual([
      true,
      true,
      false,
    ])
  })
})

describe('the claim from before a restore', () => {
  const both = [aClaim('loot'), aClaim(RESTORED)]
  it.each<[string, WorkspaceWorld, RegExp | undefined]>([
    [
      'is kept until somebody deletes it',
      aWorld(both, SWITCHED),
      /^PersistentVolumeClaim loot, from before a restore, is kept until somebody deletes it: if nobody needs what is on it, run: kubectl -n lab delete pvc loot$/,
    ],
    [
      'is not to be deleted as long as the restored one has no data',
      aWorld([aClaim('loot'), aClaim(RESTORED, 'Pending')], SWITCHED),
      /: loot-1a2b3c4d has no data yet$/,
    ],
    [
      'is not to be deleted as long as a member names it',
      aWorld([...both, clusterWith('loot')], SWITCHED),
      /: something of the workspace still names it$/,
    ],
    [
      'may be deleted where members name the restored one',
      aWorld([...both, clusterWith(RESTORED)], SWITCHED),
      /delete pvc loot$/,
    ],
    ['is told of only if it is there', aWorld([aClaim(RESTORED)], SWITCHED), undefined],
    ['is not old where the volume has it again', aWorld(both, SWITCHED.replace(RESTORED, 'loot')), undefined],
    ['is not old where nobody says so', aWorld(both, undefined), undefined],
  ])('%s', (_what, world, message) => {
    const present = world.children.get(`PersistentVolumeClaim ${claimsIn(world)[0]?.[1] ?? 'loot'}`) as ClaimView
    const remarks = oldVolumeOf(world, 'loot', present)
    expect(remarks.map(({ why }) => why)).toEqual(message === undefined ? [] : ['OldVolumeKept'])
    if (message !== undefined) expect(remarks[0]?.message).toMatch(message)
  })

  it('is read from what was written', () => {
    expect(volumeClaimsText(volumeClaimsIn(SWITCHED))).toBe(SWITCHED)
  })
})
