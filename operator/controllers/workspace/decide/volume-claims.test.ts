import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import {
  POLICY_DEFAULTS,
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
function aWorld(children: readonly KubeObject[], annotation: string | undefined, serverNow: number | undefined = NOW) {
  const annotations = annotation === undefined ? {} : { [ANNOTATIONS.volumeClaims]: annotation }
  return {
    workspace: {
      apiVersion: 'v1',
      kind: 'Workspace',
      metadata: { ...LAB, resourceVersion: '7', annotations },
      status: {},
    },
    spec: { ok: true, spec: { volumes: [{ name: 'loot', size: '1Gi' }] } },
    policy: { ...POLICY_DEFAULTS, resetGraceMs: 60_000 },
    expiry: { serverNow, noticeMs: 0, isTurn: false },
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
  const over = NOW + 60_000
  it.each<[string, WorkspaceWorld, number]>([
    ['is kept until its time is over', aWorld([aClaim('loot'), aClaim(RESTORED)], SWITCHED, over - 1), 0],
    ['is deleted then', aWorld([aClaim('loot'), aClaim(RESTORED)], SWITCHED, over), 1],
    [
      'is kept as long as the time is not known',
      {
        ...aWorld([aClaim('loot'), aClaim(RESTORED)], SWITCHED),
        expiry: { serverNow: undefined, noticeMs: 0, isTurn: false },
      },
      0,
    ],
    [
      'is kept as long as the restored one has no data',
      aWorld([aClaim('loot'), aClaim(RESTORED, 'Pending')], SWITCHED, over),
      0,
    ],
    [
      'is kept as long as a member names it',
      aWorld([aClaim('loot'), aClaim(RESTORED), clusterWith('loot')], SWITCHED, over),
      0,
    ],
    [
      'is deleted where members name the restored one',
      aWorld([aClaim('loot'), aClaim(RESTORED), clusterWith(RESTORED)], SWITCHED, over),
      1,
    ],
    [
      'is kept where it is the present one again',
      aWorld([aClaim('loot'), aClaim(RESTORED)], SWITCHED.replace(RESTORED, 'loot'), over),
      0,
    ],
    ['is kept where nobody says that it is old', aWorld([aClaim('loot'), aClaim(RESTORED)], undefined, over), 0],
  ])('%s', (_what, world, removals) => {
    const present = claimsIn(world)[0]?.[1] ?? 'loot'
    const {
      remove = [],
      remarks = [],
      requeue,
    } = oldVolumeOf(
      world,
      'loot',
      aClaim(present, (world.children.get(`PersistentVolumeClaim ${present}`) as ClaimView).phase),
    )
    expect(remove.map(({ name }) => name)).toEqual(removals === 0 ? [] : ['loot'])
    for (const { onlyIf } of remove)
      expect(onlyIf).toMatchObject([{ unchanged: { name: 'lab', resourceVersion: '7' } }])
    if (remarks.length === 0) expect(requeue).toBeUndefined()
  })

  it('is read from what was written', () => {
    expect(volumeClaimsText(volumeClaimsIn(SWITCHED))).toBe(SWITCHED)
  })
})
