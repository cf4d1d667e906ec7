import type { VMDiskImageStatus } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { START } from '../../../../test/prepared/runtime/times.ts'
import { anImage, PUBLISHED, TEMPLATE } from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { aMachineWorld, type MachineWorldOverrides } from '../../../../test/prepared/virtual-machine/machine-world.ts'
import { reasonOf } from '../../../runtime/summary.ts'
import { planMachine } from './plan.ts'

const FAILED: VMDiskImageStatus = { phase: 'Failed', message: 'the server answered 404 (no retry can mend this)' }
const WRONG = { ...TEMPLATE, url: 'https://images.example/wrong.qcow2' }
const plan = (overrides: MachineWorldOverrides) => planMachine(aMachineWorld(overrides), START)
const isImage = ({ kind }: { kind: string }) => kind === 'VMDiskImage'

describe('a machine whose image has failed, since the template had a wrong URL', () => {
  /** The image as it was made, and the template as it is after the correction. */
  const corrected: MachineWorldOverrides = {
    image: anImage(FAILED, {}, WRONG),
    spec: { vmDiskImageTemplate: TEMPLATE },
  }

  it('says whose spec is to be corrected, with the command', () => {
    const { status } = plan({ image: anImage(FAILED, {}, WRONG), spec: { vmDiskImageTemplate: WRONG } })
    expect([status.phase, reasonOf(status)]).toEqual(['Failed', 'ImageFailed'])
    expect(status.message).toContain('correct that image, not the virtual machine: kubectl -n farm edit vmdi golden')
    expect(status.message).not.toContain('delete')
  })

  it('says after a correction of the template what has the image made from it, and that helps', () => {
    expect(plan(corrected).status.message).toMatch(
      /vmDiskImageTemplate, which differs in url: kubectl -n farm delete vmdi golden$/,
    )
    // People follow the message.
    const { apply } = plan({ ...corrected, image: undefined })
    expect(apply.find(isImage)).toMatchObject({ spec: { url: TEMPLATE['url'] } })
    expect(reasonOf(plan({ ...corrected, image: anImage(PUBLISHED) }).status)).not.toBe('ImageFailed')
  })

  it('does not ask to delete an image that would not be made again', () => {
    const spec = { vmDiskImageTemplate: TEMPLATE, vmDiskImageMode: 'FailIfNotExist' }
    expect(plan({ ...corrected, spec }).status.message).not.toContain('delete')
  })

  it('does not change an image by itself that it did not make', () => {
    expect(plan(corrected).apply.filter(isImage)).toEqual([])
  })

  const annotations = { 'pelotech.ot/creator': 'VirtualMachine/team/vm/vm-uid generation 1' }
  const made = anImage({ ...FAILED, observedGeneration: 1 }, { generation: 1, annotations }, WRONG)

  it('says that its template is to be corrected where it made the image, and that helps', () => {
    const { status } = plan({ image: made, spec: { vmDiskImageTemplate: WRONG } })
    expect(status.message).toContain('correct spec.vmDiskImageTemplate, and the image is corrected with it')
    const { apply } = plan({ image: made, spec: { vmDiskImageTemplate: TEMPLATE } })
    expect(apply.find(isImage)).toMatchObject({ spec: { url: TEMPLATE['url'] } })
  })

  it('names the image and the command where something else refers to it', () => {
    const shared = { ...corrected, image: made, isImageShared: true }
    expect(plan(shared).apply.filter(isImage)).toEqual([])
    expect(plan(shared).status.message).toMatch(/kubectl -n farm delete vmdi golden$/)
  })
})
