import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { ABOUT_LOSSES, shortHash } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { HOUR } from '../../../../test/prepared/runtime/times.ts'
import { DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import { PUBLISHED } from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import { planMachine } from './plan.ts'

const { rebuildRequestedAt: REBUILD, resetRequestedAt: RESET, givenRebuild: GIVEN } = ANNOTATIONS

/** Events about requests that do not count, of all plans so far. */
const told = (walk: MachineWalk) => walk.events.filter((one) => one.endsWith('NotCounted'))

/** What the next plan says of them. */
function texts(walk: MachineWalk): string[] {
  const { events } = planMachine(walk.world, walk.now)
  return events.filter(({ reason }) => reason.endsWith('NotCounted')).map(({ message }) => message)
}

describe('a request that does not count is told once', () => {
  it.each([
    [RESET, 'Warning ResetNotCounted'],
    [REBUILD, 'Warning RebuildNotCounted'],
  ])('%s that the machine was created with', (annotation, event) => {
    const walk = new MachineWalk({ metadata: { annotations: { [annotation]: 'then' } } })
    expect(texts(walk).join()).toContain('was there when the VirtualMachine was created: it does not count')
    walk.deploy().after(HOUR)
    expect(told(walk)).toEqual([event])
  })

  it('a rebuild of a disk that is neither lost nor outdated', () => {
    const walk = new MachineWalk().deploy().annotate(REBUILD, 'now')
    expect(texts(walk)).toEqual([
      `annotation ${REBUILD} asks for another root disk, and the present one is neither lost nor outdated: it does not count, and the root disk stays; to replace it all the same, with all that the guest has written to it, set annotation ${RESET}`,
    ])
    walk.settle().after(HOUR)
    expect(told(walk)).toEqual(['Warning RebuildNotCounted'])
  })

  it('a rebuild while there is no complete disk', () => {
    const walk = new MachineWalk().image(PUBLISHED).disk(DISK.cloning).annotate(REBUILD, 'now')
    expect(texts(walk).join()).toContain('there is no complete one that could be lost or outdated')
    walk.settle().after(HOUR)
    expect(told(walk)).toEqual(['Warning RebuildNotCounted'])
  })

  it('a rebuild of a machine that is left as it is', () => {
    const walk = new MachineWalk().deploy().edit({ ignoreOnDeploy: true }).settle().annotate(REBUILD, 'now')
    expect(texts(walk).join()).toContain('is set while spec.ignoreOnDeploy is true')
    walk.settle().after(HOUR)
    expect(told(walk)).toEqual(['Warning RebuildNotCounted'])
  })

  it('a value of a rebuild that comes back', () => {
    const walk = new MachineWalk().deploy().rebuild('one').rebuild('two')
    const before = told(walk).length
    walk.annotate(REBUILD, 'one')
    expect(texts(walk).join()).toContain('has a value again that it had before')
    walk.settle().after(HOUR)
    expect(told(walk).slice(before)).toEqual(['Warning RebuildNotCounted'])
  })

  it('a rebuild that an older operator has not answered', () => {
    const walk = new MachineWalk().deploy()
    const { resetRequest: _unknown, ...status } = walk.status
    walk.change({ status }).annotate(REBUILD, 'now')
    expect(texts(walk).join()).toContain('was there before the operator first looked for it')
    walk.settle().after(HOUR)
    expect(told(walk)).toEqual(['Warning RebuildNotCounted'])
  })
})

describe('nothing is told', () => {
  it('of a request that counts', () => {
    const walk = new MachineWalk().deploy().reset().settle()
    expect(told(walk)).toEqual([])
    const lost = new MachineWalk().deploy().diskGone().settle().machineGone().settle().rebuild('now')
    expect([told(lost), lost.log.filter((line) => line === 'apply DataVolume vm-root').length]).toEqual([[], 2])
  })

  it('of a request that the first disk answers', () => {
    const walk = new MachineWalk().settle().rebuild('now').reset().deploy().after(HOUR)
    expect(told(walk)).toEqual(['Warning RebuildNotCounted'])
  })

  it('by a machine of a workspace whose disk is as it is to be, or that is new: the workspace tells', () => {
    const given = (value: string, hash = shortHash([value])) =>
      new MachineWalk().deploy().annotate(GIVEN, hash).annotate(REBUILD, value).settle()
    expect(told(given('now'))).toEqual([])
    expect(told(given(`now${ABOUT_LOSSES}`, `${shortHash(['now'])}-losses`))).toEqual([])
    const annotations = { [REBUILD]: 'then', [RESET]: 'then' }
    const fresh = new MachineWalk({ metadata: { annotations, labels: { [LABELS.workspace]: 'lab' } } })
    expect(told(fresh.deploy().after(HOUR))).toEqual([])
  })
})
