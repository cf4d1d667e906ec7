import { describe, expect, it } from 'vitest'
import { START } from '../../../../test/prepared/runtime/times.ts'
import { aClaim, aDisk, aStorageClass, DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import {
  ARTIFACT,
  anImage,
  PUBLISHED,
  QUEUED,
  TEMPLATE,
} from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import { aMachineWorld, type MachineWorldOverrides } from '../../../../test/prepared/virtual-machine/machine-world.ts'
import { planMachine } from './plan.ts'

const FIXED = aStorageClass(false)
const asking = (diskSize?: string) => ({ resources: { cpu: '2', memory: '2Gi', diskSize } })
const typed = (type: string, state: object = DISK.cloning) =>
  aDisk(state, { annotations: { 'cdi.kubevirt.io/cloneType': type } })

function warned(overrides: MachineWorldOverrides): boolean {
  const { status } = planMachine(aMachineWorld({ storageClass: FIXED, spec: asking('24Gi'), ...overrides }), START)
  return status.conditions?.find(({ type }) => type === 'SpecWarning')?.reason === 'NoVolumeExpansion'
}

describe('a disk larger than its image, in a StorageClass whose volumes cannot grow', () => {
  it('is made all the same, and it is said before minutes are lost what that costs, and what to do', () => {
    const walk = new MachineWalk({ storageClass: FIXED, spec: asking('24Gi'), image: anImage(QUEUED) }).settle()
    const message =
      'resources.diskSize asks for more (24Gi) than its image has (10Gi), and StorageClass fast does not allow volumes to grow: CDI copies the whole disk instead of cloning it, which takes longer; ask for no more than 10Gi, give the image that diskSize, or set allowVolumeExpansion on the StorageClass'
    expect(walk.stand).toBe('Provisioning/WaitingForImage')
    expect(walk.condition('SpecWarning')).toMatchObject({ status: 'True', reason: 'NoVolumeExpansion', message })
    expect(walk.events).toContain('Warning NoVolumeExpansion')
    expect(walk.deploy().stand).toBe('Ready/Running')
    expect(walk.condition('SpecWarning')).toBeUndefined()
    expect(walk.events.filter((line) => line.endsWith('NoVolumeExpansion'))).toHaveLength(1)
  })

  it('is no matter any more once the StorageClass allows it', () => {
    const walk = new MachineWalk({ storageClass: FIXED, spec: asking('24Gi'), image: anImage(QUEUED) }).settle()
    expect(walk.set({ storageClass: aStorageClass() }).settle().condition('SpecWarning')).toBeUndefined()
  })

  it.each<[string, MachineWorldOverrides, boolean]>([
    ['before there is a clone', {}, true],
    ['before there is an artifact', { image: anImage({ phase: 'Syncing' }) }, true],
    ['while CDI has not decided yet', { clone: aDisk(DISK.scheduled) }, true],
    ['while CDI copies', { clone: typed('copy'), claim: aClaim() }, true],
    ['where CDI clones after all', { clone: typed('csi-clone'), claim: aClaim() }, false],
    ['when the disk is complete', { clone: typed('copy', DISK.succeeded), claim: aClaim() }, false],
    ['when only the claim of the disk is left', { claim: aClaim() }, false],
    ['where nothing is to be deployed', { spec: { ...asking('24Gi'), ignoreOnDeploy: true } }, false],
    ['where volumes can grow', { storageClass: aStorageClass() }, false],
    ['where there is no such StorageClass', { storageClass: undefined }, false],
    ['of the size of its image, in other words', { spec: asking('10240Mi') }, false],
    ['smaller than its image', { spec: asking('8Gi') }, false],
    ['of no size', { spec: asking() }, false],
    [
      'larger than the image was asked to be, and not larger than it is',
      { image: anImage({ ...PUBLISHED, artifact: { ...ARTIFACT, restoreSize: '24Gi' } }) },
      false,
    ],
    [
      'larger than the image was asked to be, on a file system, for which CDI adds its overhead',
      { image: anImage({ ...PUBLISHED, artifact: { ...ARTIFACT, restoreSize: '24Gi', volumeMode: 'Filesystem' } }) },
      true,
    ],
    [
      'between what the image has and what it is to have',
      { image: anImage({ ...QUEUED, revision: 'next', artifact: { ...ARTIFACT, restoreSize: '30Gi' } }) },
      false,
    ],
    [
      'of an image on a file system, of which another revision is made: what was asked for the present one is not known',
      {
        image: anImage({
          ...QUEUED,
          revision: 'next',
          artifact: { ...ARTIFACT, restoreSize: '25Gi', volumeMode: 'Filesystem' },
        }),
      },
      false,
    ],
    ['of an image without a size', { image: anImage(QUEUED, {}, { ...TEMPLATE, diskSize: undefined }) }, false],
    ['without an image', { image: undefined }, false],
  ])('is warned about only as long as it is to be cloned: %s: %#', (_what, overrides, expected) => {
    expect(warned(overrides)).toBe(expected)
  })
})

it('a disk of the size that its image has is not called smaller, while another revision of it is made on a file system', () => {
  const artifact = { ...ARTIFACT, restoreSize: '11381663335', volumeMode: 'Filesystem' }
  for (const image of [anImage({ ...PUBLISHED, artifact }), anImage({ ...QUEUED, revision: 'next', artifact })]) {
    const { status } = planMachine(aMachineWorld({ image, spec: asking('10Gi') }), START)
    expect(status.conditions?.filter(({ type }) => type === 'SpecWarning')).toEqual([])
  }
})
