import { vmDiskImage } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { expectLawful } from '../../../../test/prepared/runtime/plan-laws.ts'
import { START } from '../../../../test/prepared/runtime/times.ts'
import { always } from '../../../../test/prepared/vm-disk-image/random-image-worlds.ts'
import { isFinished } from '../../../cluster/import-facts.ts'
import { isChildOf } from '../../../cluster/ownership.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { planImage } from './plan.ts'

describe('in any world, however odd, a plan', { timeout: 60_000 }, () => {
  it('is a function of the world and the time, and leaves the world alone', () => {
    always((one) => expect(planImage(one, START)).toEqual(planImage(one, START)))
  })

  it('removes nothing but children of the image, and importers of these, that are there and not on their way out', () => {
    always((one) => {
      const children = [...one.dataVolumes, ...one.snapshots, ...(one.dataSource === undefined ? [] : [one.dataSource])]
      const { remove } = planImage(one, START)
      for (const removal of remove) {
        const isIt = ({ kind, metadata }: KubeObject) => kind === removal.kind && metadata.uid === removal.uid
        const child = children.find(isIt)
        const importer = one.observation.importers.find(isIt)
        expect(child ?? importer).toBeDefined()
        expect((child ?? importer)?.metadata.deletionTimestamp).toBeUndefined()
        if (child !== undefined) expect(isChildOf(child, one.image)).toBe(true)
        // CDI would replace an importer whose DataVolume stays.
        else
          expect(remove.slice(0, remove.indexOf(removal)).map(({ uid }) => uid)).toContain(
            one.observation.dataVolumeUid,
          )
      }
    })
  })

  it('writes no alias over one of somebody else', () => {
    always((one) => {
      const isForeign = one.dataSource !== undefined && !isChildOf(one.dataSource, one.image)
      if (isForeign) expect(planImage(one, START).apply.filter(({ kind }) => kind === 'DataSource')).toEqual([])
    })
  })

  it('wants no download while one of ours runs, nor for an image that is suspended, deleted or wrong', () => {
    always((one) => {
      const { start } = planImage(one, START)
      if (start === undefined) return
      expect(one.dataVolumes.filter((dataVolume) => !isFinished(dataVolume))).toEqual([])
      expect(one.image.metadata.deletionTimestamp).toBeUndefined()
      expect(one.spec).toMatchObject({ ok: true })
      expect(one.spec.ok && one.spec.spec.suspend).not.toBe(true)
      expect(one.namespaceTerminating).toBe(false)
      expect(start.revision).toBe(start.target.revision)
    })
  })

  it('does nothing on half a spec, but ends a download that fails or takes too long', () => {
    always((one) => {
      if (one.image.isCut !== true || one.image.metadata.deletionTimestamp !== undefined) return
      const { status, apply, start, remove, finalizer } = planImage(one, START)
      expect([apply, start, finalizer]).toEqual([[], undefined, 'keep'])
      expect(status).toMatchObject({ phase: 'Failed', reason: 'TooLarge' })
      const { artifact, revision, budget } = one.image.status
      expect([status.artifact, status.revision, status.budget]).toEqual([artifact, revision, budget])
      for (const { kind, uid } of remove) {
        expect(kind).toBe('DataVolume')
        const dataVolume = one.dataVolumes.find(({ metadata }) => metadata.uid === uid)
        const begun = Date.parse(dataVolume?.metadata.creationTimestamp ?? '')
        expect(dataVolume?.restartCount || START - begun >= one.policy.attemptTimeoutMs).toBeTruthy()
      }
    })
  })

  it('lets an image go only when nothing of it is left, no slot is held and nobody uses it', () => {
    always((one) => {
      const { finalizer } = planImage(one, START)
      if (finalizer !== 'release') return
      expect(one.image.metadata.deletionTimestamp).toBeDefined()
      expect([one.dataVolumes, one.snapshots, one.slot]).toEqual([[], [], undefined])
      expect(one.namespaceTerminating || one.references.users.length === 0).toBe(true)
    })
  })

  it('keeps the laws of all plans', () => {
    always((one) => expectLawful(one.image, planImage(one, START), vmDiskImage.status))
  })

  it('never removes what serves, unless the image goes', () => {
    always((one) => {
      const { remove, status: next } = planImage(one, START)
      if (one.image.metadata.deletionTimestamp !== undefined || next.artifact === undefined) return
      const { kind, name, snapshotClass } = next.artifact
      const serving = one.snapshots.find(
        (snapshot) =>
          snapshot.metadata.name === name && snapshot.snapshotClass === snapshotClass && snapshot.readyToUse,
      )
      if (kind === 'VolumeSnapshot' && serving !== undefined)
        expect(remove).not.toContainEqual(expect.objectContaining({ kind, name }))
    })
  })

  it('reclaims nothing that is referenced or kept', () => {
    always((one) => {
      if (!planImage(one, START).remove.some(({ kind }) => kind === 'VMDiskImage')) return
      expect(one.references.count).toBe(0)
      expect(one.spec.ok && one.spec.spec.reclaimPolicy).toBe('Delete')
    })
  })

  it('remembers five attempts', () => {
    always((one) => expect(planImage(one, START).status.attempts?.length ?? 0).toBeLessThanOrEqual(5))
  })
})
