import { appendFileSync } from 'node:fs'
import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { deletionWord } from '@open-terrain/constructs/operator'
import { describe, it } from 'vitest'
import { aClaim, aDisk, DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import {
  aMachine,
  anImage,
  anInstance,
  aSecret,
  aVM,
  childMeta,
  PUBLISHED,
  SPEC,
} from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { build } from '../../../../test/prepared/virtual-machine/observe-bench.ts'
import { planMachine } from './plan.ts'

const out = (...s: unknown[]) =>
  appendFileSync('/tmp/adv1/out2.txt', `${s.map((x) => (typeof x === 'string' ? x : JSON.stringify(x))).join(' ')}\n`)
const OWN = { apiVersion: 'pelotech.ot/v1alpha1', kind: 'VirtualMachine', controller: true }
const meta = (vm: string, name: string, more: object = {}) => ({
  ...childMeta(name),
  uid: `uid of ${name}`,
  labels: { [LABELS.vmUid]: vm, [LABELS.vmName]: vm },
  ownerReferences: [{ ...OWN, name: vm, uid: vm }],
  ...more,
})
function lab(max: number, used: number) {
  const { bench, look } = build()
  bench.put(bench.images, anImage())
  bench.put(bench.snapshots, {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshot',
    metadata: { name: PUBLISHED.artifact?.name ?? '', namespace: 'farm', uid: 'snap' },
  })
  const quota = (m: number, u: number) =>
    bench.put(bench.quotas, {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'small', namespace: 'team' },
      hard: { persistentvolumeclaims: String(m) },
      used: { persistentvolumeclaims: String(u) },
      spec: undefined,
    } as never)
  quota(max, used)
  const vm = (name: string, more: object = {}, said = true, spec: object = {}) => {
    const status = {
      observedGeneration: 1,
      phase: 'Ready',
      bootedAt: '2026-01-01T00:00:00Z',
      diskUID: `claim of ${name}`,
      resetRequest: 'r1',
      clone: { name: `${name}-root`, image: 'farm/golden' },
      replacement: {
        asked: 'Reset',
        disk: { name: `${name}-root-g2`, image: 'farm/golden' },
        claim: `${name}-root`,
        claimUID: `claim of ${name}`,
      },
      ...more,
    }
    const bare = aVM({ name, uid: name, generation: 1 }, { spec: { ...SPEC, ...spec }, status: status as never })
    const word = deletionWord(bare)
    const v = said
      ? { ...bare, metadata: { ...bare.metadata, annotations: { [ANNOTATIONS.deleteDiskFirst]: word ?? '' } } }
      : bare
    return bench.put(bench.caches.machines, v as never) as typeof bare
  }
  const disk = (name: string, root = `${name}-root`) => {
    bench.put(bench.dataVolumes, aDisk({}, meta(name, root)) as never)
    const owner = {
      apiVersion: 'cdi.kubevirt.io/v1beta1',
      kind: 'DataVolume',
      name: root,
      uid: `uid of ${root}`,
      controller: true,
    }
    bench.put(bench.claims, aClaim({ ...meta(name, root), uid: `claim of ${name}`, ownerReferences: [owner] }))
  }
  const run = (name: string, root = `${name}-root`) => {
    const m = aMachine(undefined, meta(name, name))
    bench.put(bench.caches.kubevirt, { ...m, rootDataVolume: root } as never)
    bench.put(
      bench.caches.instances,
      anInstance(
        {},
        {
          ...meta(name, name),
          uid: `i ${name}`,
          ownerReferences: [
            { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', name, uid: `uid of ${name}`, controller: true },
          ],
        },
      ) as never,
    )
    bench.put(bench.secrets, aSecret(undefined, meta(name, `${name}-cloudinit`)))
  }
  const plan = (title: string, v: never) => {
    const seen = { ...look(v), hasDataVolumes: true, hasKubeVirt: true }
    const p = planMachine(seen, Date.parse('2026-01-02T00:00:00Z'))
    const c = (p.status.conditions ?? [])
      .filter((x) => ['Replacing', 'DiskLost', 'RestoredDiskLost'].includes(x.type))
      .map((x) => `${x.type}/${x.reason}: ${x.message}`)
    out(
      `--- ${title}`,
      `${p.status.phase}/${p.status.reason} ${p.status.message}\n  room:`,
      seen.room ?? 'none',
      '\n  conditions:',
      c,
      '\n  apply:',
      p.apply.map((x) => `${x.kind} ${x.metadata.name}`),
      'remove:',
      p.remove.map((x) => `${x.kind} ${x.name}`),
      'touch:',
      (p.touch ?? []).map((x) => [x.name, x.spec]),
      'events:',
      p.events.map((e) => `${e.type} ${e.reason}`),
      'requeue:',
      p.requeue ?? 'none',
      'replacement:',
      p.status.replacement ?? 'none',
    )
    return p
  }
  return { bench, quota, vm, disk, run, plan }
}

describe('adv2', () => {
  it('T3 two words, room for one more', () => {
    const l = lab(2, 2)
    for (const n of ['a', 'b']) {
      l.disk(n)
      l.run(n)
    }
    const [a, b] = [l.vm('a'), l.vm('b')]
    l.plan('T3 max 2: a', a as never)
    l.plan('T3 max 2: b', b as never)
    l.quota(3, 2)
    l.plan('T3 max 3: a', a as never)
    l.plan('T3 max 3: b', b as never)
  })
  it('T3b a third one with a Failed DataVolume and no claim holds the room; b has said its word', () => {
    const l = lab(2, 1)
    l.disk('b')
    l.run('b')
    l.bench.put(l.bench.dataVolumes, aDisk({ ...DISK.failed }, meta('c', 'c-root')) as never)
    l.vm('c', { replacement: undefined }, false)
    const b = l.vm('b')
    l.plan('T3b b', b as never)
  })
  it('T3c a has said its word, its image is gone; b without a word', () => {
    const l = lab(3, 2)
    for (const n of ['a', 'b']) {
      l.disk(n)
      l.run(n)
    }
    const a = l.vm('a', {}, true, { vmDiskImageRef: { name: 'nothere', namespace: 'farm' } })
    const b = l.vm('b', {}, false)
    l.plan('T3c a', a as never)
    l.plan('T3c b', b as never)
  })
  it('T4 a has given up its disk: the status write of newDisk is there, the DataVolume is not', () => {
    const l = lab(2, 1)
    l.disk('b')
    l.run('b')
    const gone = l.vm('a')
    const b = l.vm('b', {}, false)
    l.plan('T4 before: b', b as never)
    const p = l.plan('T4 a makes its new disk', gone as never)
    l.vm('a', { ...p.status, replacement: undefined, bootedAt: undefined, diskUID: undefined }, true)
    l.plan('T4 between status and DataVolume of a: b', b as never)
  })
  it('T4b a is between: its disk is gone; b has said its word and its guest is off for that', () => {
    const l = lab(2, 1)
    l.disk('b')
    l.run('b')
    l.vm('a')
    const b = l.vm('b')
    l.plan('T4b b', b as never)
  })
  it('T5 machine runs from a restored claim, reset is recorded and blocked, the restored claim is lost', () => {
    const l = lab(2, 2)
    l.disk('a')
    const m = aMachine(undefined, {
      ...meta('a', 'a'),
      annotations: { 'restore.kubevirt.io/lastRestoreUID': 'exam-1' },
    })
    const owner = { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', name: 'a', uid: 'uid of a', controller: true }
    const restored = aClaim({ ...meta('a', 'restored-1'), uid: 'restored uid', ownerReferences: [owner] })
    l.bench.put(l.bench.claims, restored)
    l.bench.put(l.bench.secrets, aSecret(undefined, meta('a', 'a-cloudinit')))
    const stopped = {
      ...m,
      printableStatus: 'Stopped',
      isReady: false,
      rootDataVolume: '',
      rootClaim: 'restored-1',
      lastRestore: 'exam-1',
    }
    l.bench.put(l.bench.caches.kubevirt, stopped as never)
    const status = {
      restoredClaim: 'restored-1',
      diskUID: 'restored uid',
      replacement: {
        asked: 'Reset',
        disk: { name: 'a-root-g2', image: 'farm/golden' },
        claim: 'restored-1',
        claimUID: 'restored uid',
      },
    }
    const a = l.vm('a', status, false)
    l.plan('T5 with restored claim', a as never)
    l.bench.drop(l.bench.claims, restored)
    const p = l.plan('T5 claim lost', a as never)
    l.bench.drop(l.bench.caches.kubevirt, stopped as never)
    const a2 = l.vm('a', { ...p.status }, false)
    const p2 = l.plan('T5 machine removed', a2 as never)
    const a3 = l.vm('a', { ...p2.status }, false)
    l.plan('T5 next', a3 as never)
    const b = l.vm('a', { ...status, replacement: undefined }, false)
    l.bench.put(l.bench.caches.kubevirt, stopped as never)
    l.plan('T5 control: nothing asked', b as never)
  })
})
