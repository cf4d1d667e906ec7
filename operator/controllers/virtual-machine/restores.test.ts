import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { diskClaimName } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import type { CachesBench } from '../../../test/prepared/virtual-machine/machine-caches.ts'
import { aClaim, aDisk } from '../../../test/prepared/virtual-machine/machine-disks.ts'
import { aMachine, aVM, childMeta, SPEC, VM_UID } from '../../../test/prepared/virtual-machine/machine-objects.ts'
import { build } from '../../../test/prepared/virtual-machine/observe-bench.ts'
import type { KubeObject, ObjectMeta, OwnerReference } from '../../kube/kube-object.ts'
import { viewKubeVirt } from './kubevirt-views.ts'

const CLAIM = 'restore-1-rootdisk'
const BY_RESTORE = { 'restore.kubevirt.io/lastRestoreUID': 'before-1' }
const PRE_POPULATED = { annotations: { 'cdi.kubevirt.io/storage.prePopulated': 'true' } }
const LEFT_TO_US = {
  ownerReferences: [],
  labels: {},
  annotations: { 'cdi.kubevirt.io/storage.populatedFor': 'vm-root' },
}
const OF_KUBEVIRT: readonly OwnerReference[] = [
  { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', name: 'vm', uid: 'uid of vm', controller: true },
]

/** KubeVirt's machine with this root disk. */
function aMachineFrom(volume: object, metadata: Partial<ObjectMeta> = {}, status: object = {}) {
  const spec = { runStrategy: 'Halted', template: { spec: { domain: {}, volumes: [{ name: 'rootdisk', ...volume }] } } }
  return viewKubeVirt({ ...aMachine(), metadata: childMeta('vm', metadata), spec, status } as KubeObject)
}
const FROM_CLAIM = { persistentVolumeClaim: { claimName: CLAIM } }

/** Looks at a machine with its disk, after `put` has changed that. */
function look(put: (bench: CachesBench) => void, restoredClaim?: string, more: { diskUID?: string } = {}) {
  const { bench, look: lookAt } = build()
  bench.put(bench.dataVolumes, aDisk())
  bench.put(bench.claims, aClaim())
  bench.put(bench.caches.kubevirt, aMachine())
  put(bench)
  return lookAt({ ...aVM(), status: { ...more, ...(restoredClaim !== undefined && { restoredClaim }) } })
}

describe('a restore of KubeVirt', () => {
  it.each<[string, (bench: CachesBench) => void, object | undefined]>([
    ['is not under way in an ordinary machine', () => undefined, undefined],
    [
      'is, where KubeVirt names one',
      (bench) => bench.put(bench.caches.kubevirt, aMachineFrom({}, {}, { restoreInProgress: 'before' })),
      { restore: 'before' },
    ],
    [
      'is, where the claim of a DataVolume that others fill is gone',
      (bench) => {
        bench.put(bench.dataVolumes, aDisk({}, PRE_POPULATED))
        bench.drop(bench.claims, aClaim())
      },
      { dataVolume: 'vm-root' },
    ],
    [
      'is over, where that claim is there again',
      (bench) => {
        bench.put(bench.dataVolumes, aDisk({}, PRE_POPULATED))
        bench.put(bench.claims, aClaim(LEFT_TO_US))
      },
      undefined,
    ],
  ])('%s', (_what, put, restoring) => {
    expect(look(put).restoring).toEqual(restoring)
  })

  it.each<[string, Partial<ObjectMeta>, boolean]>([
    ['that CDI is to give to our DataVolume', LEFT_TO_US, true],
    ['that KubeVirt’s machine owns', { labels: {}, ownerReferences: [...OF_KUBEVIRT] }, true],
    ['that has only our label', { ownerReferences: [], labels: { [LABELS.vmUid]: VM_UID } }, true],
    ['of nobody', { ownerReferences: [], labels: {} }, false],
    [
      'for another DataVolume',
      { ...LEFT_TO_US, annotations: { 'cdi.kubevirt.io/storage.populatedFor': 'other' } },
      false,
    ],
    [
      'of somebody else',
      { ...LEFT_TO_US, ownerReferences: OF_KUBEVIRT.map((one) => ({ ...one, uid: 'other' })) },
      false,
    ],
  ])('is recognized by a claim in the place of ours: one %s', (_what, metadata, isOurs) => {
    const { claim, foreignClaim, conflict } = look((bench) => bench.put(bench.claims, aClaim(metadata)))
    const title = isOurs ? undefined : 'PersistentVolumeClaim vm-root'
    expect([claim !== undefined, foreignClaim, conflict]).toEqual([isOurs, title, title])
  })
})

describe('the root disk', () => {
  const restoredBy = (bench: CachesBench, annotations: object) => {
    bench.put(bench.caches.kubevirt, aMachineFrom(FROM_CLAIM, { annotations: { ...annotations } }))
    bench.put(bench.claims, aClaim({ name: CLAIM, uid: 'restored', ownerReferences: [...OF_KUBEVIRT] }))
  }

  it('is the claim that a restore has written', () => {
    const seen = look((bench) => restoredBy(bench, BY_RESTORE))
    expect(seen).toMatchObject({ restoredClaim: CLAIM, isDiskElsewhere: true, isRestoredClaimLost: false })
    expect([seen.clone, seen.claim?.metadata.uid, seen.conflict]).toEqual([undefined, 'restored', undefined])
  })

  it('is that claim whether or not the caches have it, and whoever takes the name of the old one', () => {
    const seen = look((bench) => {
      restoredBy(bench, BY_RESTORE)
      bench.drop(bench.claims, aClaim({ name: CLAIM }))
      bench.drop(bench.dataVolumes, aDisk())
      bench.put(bench.claims, aClaim({ ownerReferences: [], labels: {} }))
    })
    expect(seen).toMatchObject({ restoredClaim: CLAIM, isDiskElsewhere: true })
    expect([seen.claim, seen.foreignClaim, seen.conflict]).toEqual([undefined, undefined, undefined])
  })

  it('is not a claim that somebody else has written', () => {
    const seen = look((bench) => restoredBy(bench, {}))
    expect(seen).toMatchObject({ restoredClaim: undefined, isDiskElsewhere: false })
    expect(seen.clone).toBeDefined()
  })

  it('is the restored claim in a machine that was made again, as the status says', () => {
    expect(look((bench) => restoredBy(bench, {}), CLAIM).restoredClaim).toBe(CLAIM)
    const orphan = (bench: CachesBench) => {
      bench.drop(bench.caches.kubevirt, aMachine())
      bench.put(bench.claims, aClaim({ name: CLAIM, ownerReferences: [] }))
    }
    expect(look(orphan, CLAIM)).toMatchObject({ restoredClaim: CLAIM, isRestoredClaimLost: false })
  })

  it.each([
    ['which the guest had', 'restored', CLAIM],
    ['of that name, which the guest did not have', 'another', undefined],
  ])('is not a restored claim that KubeVirt’s machine does not name: one %s', (_what, uid, restoredAside) => {
    const put = (bench: CachesBench) =>
      bench.put(bench.claims, aClaim({ name: CLAIM, uid, ownerReferences: [...OF_KUBEVIRT] }))
    const seen = look(put, CLAIM, { diskUID: 'restored' })
    expect(seen).toMatchObject({ restoredClaim: undefined, isRestoredClaimLost: false, restoredAside })
    expect(look((bench) => restoredBy(bench, BY_RESTORE), CLAIM, { diskUID: 'restored' }).restoredAside).toBeUndefined()
  })

  it.each<[string, (bench: CachesBench) => void]>([
    ['whose claim is gone', () => undefined],
    [
      'whose claim goes with KubeVirt’s machine',
      (bench) => {
        bench.drop(bench.caches.kubevirt, aMachine())
        bench.put(bench.claims, aClaim({ name: CLAIM, ownerReferences: [...OF_KUBEVIRT] }))
      },
    ],
  ])('is lost in a restored machine %s, and is the one from before', (_what, put) => {
    const seen = look(put, CLAIM)
    expect(seen).toMatchObject({ restoredClaim: undefined, isDiskElsewhere: false, isRestoredClaimLost: true })
    expect(seen.clone).toBeDefined()
  })
})

it('a restore of a time before a disk does not bring back the claim that the disk had before another restore', () => {
  const { bench, look: lookAt } = build()
  const own = diskClaimName('vm', 'data')
  const annotations = { ...BY_RESTORE, [ANNOTATIONS.disks]: `data=${own}` }
  bench.put(bench.caches.kubevirt, aMachineFrom(FROM_CLAIM, { annotations }))
  bench.put(bench.claims, aClaim({ name: own, uid: 'old' }))
  bench.put(bench.claims, aClaim({ name: 'restore-1-data', uid: 'new' }))
  const vm = aVM({}, { spec: { ...SPEC, disks: [{ name: 'data', size: '5Gi' }] } })
  const disks = [{ name: 'data', claim: 'restore-1-data', size: '5Gi', claimUID: 'new' }]
  expect(lookAt({ ...vm, status: { disks } }).disks).toMatchObject([{ claimName: 'restore-1-data' }])
  expect(lookAt(vm).disks).toMatchObject([{ claimName: own }])
})
