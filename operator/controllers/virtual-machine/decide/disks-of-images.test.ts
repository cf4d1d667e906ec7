import { LABELS } from '@open-terrain/constructs'
import { diskClaimName } from '@open-terrain/constructs/operator'
import { describe, expect, it, vi } from 'vitest'
import { HOUR } from '../../../../test/prepared/runtime/times.ts'
import { DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import { anInstance, KUBEVIRT, PUBLISHED } from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import type { ClaimFacts, CloneFacts } from '../world.ts'
import type { MachinePlan } from './machine-plan.ts'

const TOOLS = diskClaimName('vm', 'tools', 'tools')
const ISO = diskClaimName('vm', 'iso', 'installer')
const tools = { name: 'tools', vmDiskImageRef: { name: 'tools', namespace: 'farm' } }
const iso = { name: 'iso', vmDiskImageRef: { name: 'installer' }, readOnly: true }
const BOTH = { disks: [tools, iso] }

interface Guest {
  readonly domain: { readonly devices: { readonly disks: readonly { readonly name: string }[] } }
  readonly volumes: readonly {
    readonly name: string
    readonly persistentVolumeClaim?: { readonly claimName: string }
  }[]
}
const guestOf = ({ world: { machine } }: MachineWalk) =>
  (machine as unknown as { readonly spec: { readonly template: { readonly spec: Guest } } }).spec.template.spec
const claimIn = (walk: MachineWalk, name: string) =>
  guestOf(walk).volumes.find((one) => one.name === name)?.persistentVolumeClaim?.claimName
const writes = (walk: MachineWalk, from = 0) => walk.log.slice(from).filter((line) => !/^(status|finalizer)/.test(line))
const off = (walk: MachineWalk) => walk.set({ instance: undefined }).kubevirt(KUBEVIRT.stopped)
/** All images are there, and the clones have been made. */
const deployed = (spec: Readonly<Record<string, unknown>> = BOTH) => {
  const walk = new MachineWalk({ spec })
    .further('farm/tools', PUBLISHED)
    .further('team/installer', PUBLISHED)
    .image(PUBLISHED)
  walk.disk(DISK.succeeded)
  for (const name of walk.clones.keys()) walk.clone(name, DISK.succeeded, `claim of ${name}`)
  return walk.start()
}
const without = (walk: MachineWalk, name: string) => {
  walk.claims.delete(name)
  return walk.settle()
}

describe('a machine with disks of images', () => {
  it('waits for all of them, and for their clones, and comes to rest', () => {
    const walk = new MachineWalk({ spec: BOTH }).image(PUBLISHED)
    expect([walk.stand, writes(walk)]).toEqual(['Provisioning/ImageNotFound', []])
    expect(walk.message).toMatch(/disk tools: VMDiskImage farm\/tools does not exist.*disk iso: VMDiskImage team\/inst/)
    walk.further('farm/tools', { phase: 'Queued', queuePosition: 3, message: 'waits for a slot' })
    walk.further('team/installer', { phase: 'Syncing', progress: '40%' })
    expect(walk.stand).toBe('Provisioning/WaitingForImage')
    expect(walk.message).toContain('farm/tools is Queued (place 3 in the queue): waits for a slot')
    expect(walk.message).toContain('team/installer is Syncing (40%)')
    expect(walk.condition('ImageReady')).toMatchObject({ status: 'False' })
    walk.further('team/installer', { phase: 'Failed', message: 'NotFound' })
    expect(walk.stand).toBe('Failed/ImageFailed')
    expect(walk.message).toMatch(/^disk iso: VMDiskImage team\/installer is Failed: NotFound.*; disk tools: /)
    walk
      .after(100 * HOUR)
      .further('team/installer', PUBLISHED)
      .image(undefined)
    expect(walk.message).toMatch(/^VMDiskImage farm\/golden is new; disk tools: /)
    walk.image(PUBLISHED).further('farm/tools', PUBLISHED)
    expect(writes(walk)).toEqual([
      'apply VMDiskImage golden',
      `apply DataVolume ${TOOLS}`,
      `apply DataVolume ${ISO}`,
      'apply Secret vm-cloudinit',
      'apply DataVolume vm-root',
    ])
    walk.disk(DISK.succeeded)
    expect([walk.stand, walk.world.machine]).toEqual(['Provisioning/Cloning', undefined])
    expect(walk.message).toContain('disk tools is being cloned')
    walk.clone(TOOLS, DISK.succeeded, 'claim 1')
    expect([walk.stand, walk.world.machine]).toEqual(['Provisioning/Cloning', undefined])
    walk.clone(ISO, DISK.succeeded, 'claim 2').start()
    expect(walk.stand).toBe('Ready/Running')
    expect([claimIn(walk, 'tools'), claimIn(walk, 'iso')]).toEqual([TOOLS, ISO])
    expect(guestOf(walk).domain.devices.disks).toEqual([
      { name: 'rootdisk', bootOrder: 1, disk: { bus: 'virtio' } },
      { name: 'cloudinit', disk: { bus: 'virtio' } },
      { name: 'tools', serial: 'tools', disk: { bus: 'virtio' } },
      { name: 'iso', serial: 'iso', bootOrder: 2, cdrom: { bus: 'sata' } },
    ])
    expect(walk.status.disks).toEqual([
      { name: 'tools', claim: TOOLS, image: 'farm/tools', claimUID: 'claim 1' },
      { name: 'iso', claim: ISO, image: 'team/installer' },
    ])
    expect(walk.after(100 * HOUR).step()).toBe(false)
  })

  it('waits for an image that is gone when it has its root disk, which is not what it waits for', () => {
    const walk = new MachineWalk({ spec: BOTH }).further('farm/tools', PUBLISHED).further('team/installer', PUBLISHED)
    walk.image(PUBLISHED).disk(DISK.succeeded)
    walk.clones.delete(TOOLS)
    walk.further('farm/tools', { phase: 'Queued', queuePosition: 3 })
    expect([walk.stand, walk.message]).toEqual([
      'Provisioning/DiskMissing',
      'disk tools: VMDiskImage farm/tools is Queued',
    ])
    walk.further('farm/tools', { phase: 'Failed' })
    expect(walk.stand).toBe('Failed/DiskMissing')
  })

  it('rests when the claim of a disk has outlived its DataVolume', () => {
    const walk = deployed({ disks: [tools] })
    const { metadata, ...claim } = walk.claims.get(TOOLS) as ClaimFacts
    const { ownerReferences: _owners, ...rest } = metadata
    walk.volume(TOOLS, {
      ...claim,
      metadata: { ...rest, labels: { [LABELS.vmUid]: walk.world.vm.metadata.uid ?? '' } },
    })
    walk.clones.delete(TOOLS)
    walk.settle()
    expect([walk.stand, walk.plan().requeue]).toEqual(['Ready/Running', undefined])
  })

  it('has clones of its own, as large as their images or as asked for', () => {
    const walk = deployed({ disks: [{ ...tools, size: '30Gi' }, iso] })
    expect(walk.clones.get(TOOLS)).toMatchObject({
      metadata: { ownerReferences: [{ kind: 'VirtualMachine', name: 'vm', controller: true }] },
      spec: {
        source: { snapshot: { namespace: 'farm', name: PUBLISHED.artifact?.name } },
        storage: { volumeMode: 'Block', resources: { requests: { storage: '30Gi' } } },
      },
    })
    expect(walk.clones.get(ISO)).toHaveProperty('spec.storage.volumeMode', 'Block')
    expect(walk.clones.get(ISO)).not.toHaveProperty('spec.storage.resources.requests')
    walk.edit({ disks: [tools, iso] }).settle()
    expect(walk.condition('SpecWarning')).toMatchObject({ reason: 'DiskSizeKept' })
    expect(deployed({ disks: [{ ...tools, size: '1Gi' }] }).condition('SpecWarning')).toMatchObject({
      reason: 'DiskSmallerThanImage',
    })
  })

  it('with ignoreOnDeploy only waits for the images', () => {
    const walk = new MachineWalk({ spec: { ...BOTH, ignoreOnDeploy: true } }).image(PUBLISHED)
    expect(walk.stand).toBe('Provisioning/ImageNotFound')
    walk.further('farm/tools', PUBLISHED).further('team/installer', PUBLISHED)
    expect([walk.stand, writes(walk)]).toEqual(['Ready/IgnoredOnDeploy', []])
  })

  it('clones again what is cloned from a source that is gone, and nothing that may have data', () => {
    const walk = new MachineWalk({ spec: BOTH }).further('farm/tools', PUBLISHED).further('team/installer', PUBLISHED)
    walk.image(PUBLISHED).disk(DISK.succeeded)
    walk.clone(ISO, DISK.cloning, 'claim 2').clone(TOOLS, DISK.cloning, 'claim 1', 'Pending')
    walk.gone.add(PUBLISHED.artifact?.name ?? '')
    walk.settle()
    expect(walk.log.filter((line) => line.startsWith('delete'))).toEqual([`delete DataVolume ${TOOLS}`])
    expect(walk.stand).toBe('Provisioning/DiskMissing')
    expect(walk.message).toContain('VMDiskImage farm/tools can be: its artifact does not exist')
    walk.gone.clear()
    walk.settle()
    expect(walk.clones.has(TOOLS)).toBe(true)
  })

  it('tells a clone that has failed, and has it again when somebody deletes it', () => {
    const walk = new MachineWalk({ spec: BOTH }).further('farm/tools', PUBLISHED).further('team/installer', PUBLISHED)
    walk.image(PUBLISHED).disk(DISK.succeeded).clone(ISO, { phase: 'Failed' })
    expect([walk.stand, walk.message]).toEqual(['Failed/CloneFailed', expect.stringContaining(`DataVolume ${ISO} is`)])
    walk.clones.delete(ISO)
    expect(walk.settle().clones.get(ISO)).toMatchObject({ phase: '' })
  })

  it('gets a disk that is added when its claim is there', () => {
    const walk = deployed({ disks: [tools] })
    walk.further('team/installer', { phase: 'Queued' }).edit(BOTH).settle()
    expect([walk.stand, claimIn(walk, 'iso')]).toEqual(['Ready/Running', undefined])
    expect(walk.condition('SpecWarning')?.message).toContain('when VMDiskImage team/installer can be: it is Queued')
    walk.further('team/installer', PUBLISHED).clone(ISO, DISK.succeeded, 'claim 2')
    expect([claimIn(walk, 'iso'), walk.condition('SpecWarning')]).toEqual([ISO, undefined])
  })

  it.each<[string, Partial<CloneFacts>, string | undefined, string]>([
    ['has failed', { phase: 'Failed' }, 'claim 2', `DataVolume ${ISO} is Failed`],
    ['has failed, and has no claim', { phase: 'Failed' }, undefined, `DataVolume ${ISO} is Failed`],
    [
      'is over the quota',
      { phase: 'Pending', bound: { reason: 'ErrExceededQuota', message: 'too much' } },
      undefined,
      'a ResourceQuota of the namespace leaves no room for disk iso',
    ],
  ])('says of a clone that was added while the guest runs that it %s', (_what, clone, claim, text) => {
    const walk = deployed({ disks: [tools] })
      .edit(BOTH)
      .settle()
    walk.clone(ISO, clone, claim, 'Pending')
    expect(walk.condition('SpecWarning')).toMatchObject({ reason: 'DiskMissing' })
    expect(walk.condition('SpecWarning')?.message).toContain(text)
    expect(walk.condition('SpecWarning')?.message).not.toContain('create what is missing')
    expect(walk.clone(ISO, DISK.succeeded, 'claim 2').condition('SpecWarning')).toBeUndefined()
  })

  it('clones a disk that was added again when its source is gone, and never takes it for a lost one before', () => {
    const added = { name: 'iso', vmDiskImageRef: { name: 'installer' } }
    const walk = deployed({ disks: [tools] }).edit({ disks: [tools, added] })
    walk.settle()
    walk.clone(ISO, DISK.cloning, 'claim 2', 'Pending')
    expect(claimIn(walk, 'iso')).toBe(ISO)
    walk.further('team/installer', { phase: 'Syncing' })
    walk.gone.add(PUBLISHED.artifact?.name ?? '')
    walk.settle()
    expect([walk.clones.has(ISO), walk.stand, walk.condition('DiskLost')]).toEqual([false, 'Ready/Running', undefined])
    walk.gone.clear()
    walk.further('team/installer', PUBLISHED)
    expect(walk.clones.has(ISO)).toBe(true)
    walk.clone(ISO, DISK.cloning, 'claim 3')
    walk.gone.add(PUBLISHED.artifact?.name ?? '')
    walk.settle()
    expect(walk.condition('SpecWarning')?.message).toContain(`kubectl -n team delete dv ${ISO}`)
    walk.clones.delete(ISO)
    without(walk, ISO)
    expect([walk.stand, walk.condition('DiskLost')]).toEqual(['Ready/Running', undefined])
  })

  it('keeps the disk of another image with its data, and has it again', () => {
    const walk = deployed({ disks: [tools] }).further('farm/other', PUBLISHED)
    const other = { ...tools, vmDiskImageRef: { name: 'other', namespace: 'farm' } }
    const name = diskClaimName('vm', 'tools', 'other')
    walk.edit({ disks: [other] }).settle()
    expect(walk.condition('SpecWarning')?.message).toContain(`kubectl -n team delete dv ${TOOLS}`)
    walk.clone(name, DISK.succeeded, 'claim 3')
    expect([claimIn(walk, 'tools'), walk.clones.has(TOOLS)]).toEqual([name, true])
    walk.edit({ disks: [tools] }).settle()
    expect([claimIn(walk, 'tools'), walk.stand]).toEqual([TOOLS, 'Ready/Running'])
  })

  it.each<[string, string | undefined]>([
    ['has the image, too', 'other/tools'],
    ['does not have the image', undefined],
  ])('keeps its disks when the spec looks for its images in another namespace, which %s', (_what, image) => {
    const walk = deployed({ disks: [tools] })
    if (image !== undefined) walk.further(image, PUBLISHED)
    const before = walk.log.length
    const moved = { ...tools, vmDiskImageRef: { name: 'tools', namespace: 'other' } }
    walk.edit({ disks: [moved] }).settle()
    expect([writes(walk, before), claimIn(walk, 'tools'), walk.stand]).toEqual([[], TOOLS, 'Ready/Running'])
    expect(walk.condition('SpecWarning')).toMatchObject({ reason: 'DiskImageKept' })
    expect(walk.condition('SpecWarning')?.message).not.toContain('delete')
    expect(walk.status.disks).toMatchObject([{ name: 'tools', claim: TOOLS, image: 'farm/tools' }])
    walk.clones.delete(TOOLS)
    without(off(walk), TOOLS)
    expect(walk.stand).toBe('Failed/DiskLost')
    walk.further('other/tools', PUBLISHED).rebuild().machineGone().settle()
    walk.clone(TOOLS, DISK.succeeded, 'claim 9').start()
    expect(walk.status.disks).toMatchObject([{ claim: TOOLS, image: 'other/tools', claimUID: 'claim 9' }])
    expect(walk.condition('SpecWarning')).toBeUndefined()
  })

  it('has a clone that is not complete made again from the image of another namespace', () => {
    const walk = new MachineWalk({ spec: { disks: [tools] } })
      .further('farm/tools', PUBLISHED)
      .further('other/tools', PUBLISHED)
    walk.image(PUBLISHED).clone(TOOLS, DISK.cloning, 'claim 1', 'Pending')
    walk.edit({ disks: [{ ...tools, vmDiskImageRef: { name: 'tools', namespace: 'other' } }] }).settle()
    expect(walk.clones.get(TOOLS)).toHaveProperty('spec.source.snapshot.namespace', 'other')
    walk
      .clone(TOOLS, DISK.cloning, 'claim 2')
      .edit({ disks: [tools] })
      .settle()
    expect(walk.clones.get(TOOLS)).toHaveProperty('spec.source.snapshot.namespace', 'other')
    expect(walk.condition('SpecWarning')).toMatchObject({ reason: 'DiskImageKept' })
  })

  it.each<[string, string | undefined, string | undefined, boolean]>([
    ['deletes a clone that no disk needs any more: it has no claim', undefined, undefined, false],
    ['deletes a clone that no disk needs any more: nothing is on it', 'claim 2', 'Pending', false],
    ['keeps a clone that may have data, and says so', 'claim 2', 'Bound', true],
  ])('%s', (_what, claim, phase, isKept) => {
    const walk = deployed({ disks: [tools] })
      .edit(BOTH)
      .settle()
    walk.clone(ISO, DISK.cloning, claim, phase)
    walk.set({ instance: anInstance({ phase: 'Scheduling' }) }).edit({ disks: [tools] })
    walk.settle()
    expect(walk.clones.has(ISO)).toBe(true)
    walk.set({ instance: anInstance({ phase: 'Running' }) }).settle()
    expect(walk.clones.has(ISO)).toBe(isKept)
    expect(walk.condition('SpecWarning')?.reason).toBe(isKept ? 'DiskKept' : undefined)
    if (!isKept) walk.edit({ disks: [] }).settle()
    expect([walk.clones.has(TOOLS), walk.clones.has(ISO)]).toEqual([true, isKept])
  })

  it('deletes the clones after the machine', () => {
    const walk = deployed()
    const before = walk.log.length
    walk.markDeleted().settle().reap().settle().reap().settle()
    expect(writes(walk, before).filter((line) => line.startsWith('delete'))).toEqual([
      'delete VirtualMachine vm',
      'delete DataVolume vm-root',
      `delete DataVolume ${TOOLS}`,
      `delete DataVolume ${ISO}`,
      'delete Secret vm-cloudinit',
    ])
  })
})

describe('a clone that the guest has had', () => {
  it.each<[string, (walk: MachineWalk) => void]>([
    ['is gone', (walk) => walk.clones.delete(TOOLS)],
    ['is gone, and CDI is about to make it again', () => undefined],
    ['is gone, and CDI has made it again', (walk) => walk.clone(TOOLS, DISK.succeeded, 'claim 9', 'Pending')],
  ])('is never made again silently: it %s', (_what, changes) => {
    const walk = off(deployed())
    walk.claims.delete(TOOLS)
    changes(walk)
    walk.after(HOUR).after(1000 * HOUR)
    expect(walk.stand).toBe('Failed/DiskLost')
    expect(walk.message).toContain(`disk tools, PersistentVolumeClaim ${TOOLS}, `)
    expect([walk.clones.has(TOOLS), walk.claims.has(TOOLS)]).toEqual([false, false])
    expect(walk.condition('DiskLost')).toMatchObject({ status: 'True' })
    walk.rebuild().machineGone().settle()
    walk.clone(TOOLS, DISK.succeeded, 'claim 10').start()
    expect([walk.stand, walk.condition('DiskLost')]).toEqual(['Ready/Running', undefined])
    expect(walk.log.filter((line) => line === `apply DataVolume ${TOOLS}`)).toHaveLength(2)
    expect(walk.log.filter((line) => line === 'apply DataVolume vm-root')).toHaveLength(1)
    without(off(walk), TOOLS)
    expect(walk.stand).toBe('Failed/DiskLost')
  })

  it('keeps its DataVolume while a restore in place makes the claim again', () => {
    const walk = off(deployed())
    const clone = walk.clones.get(TOOLS)
    const annotations = { 'cdi.kubevirt.io/storage.prePopulated': TOOLS }
    walk.clone(TOOLS, { metadata: { ...clone?.metadata, name: TOOLS, annotations } })
    without(walk, TOOLS).after(HOUR)
    expect([walk.stand, walk.clones.has(TOOLS)]).toEqual(['Failed/DiskLost', true])
  })

  it('is not deleted when CDI has made it again and a guest may have run from it, and is used on request', () => {
    const walk = deployed()
    walk.clone(TOOLS, DISK.succeeded, 'claim 9')
    expect(walk.message).toMatch(
      /and CDI has made another one from the image: the guest runs from the new one; to go on /,
    )
    off(walk).after(1000 * HOUR)
    expect([walk.stand, walk.clones.has(TOOLS), walk.claims.has(TOOLS)]).toEqual(['Failed/DiskLost', true, true])
    const before = walk.log.length
    walk.start().rebuild()
    expect([walk.stand, walk.condition('DiskLost')]).toEqual(['Ready/Running', undefined])
    expect([writes(walk, before), walk.status.disks?.[0]?.claimUID]).toEqual([[], 'claim 9'])
    walk.clone(TOOLS, DISK.succeeded, 'claim 10')
    expect(walk.stand).toBe('Failed/DiskLost')
  })

  it('stays lost, with the machine, until its image can be cloned', () => {
    const walk = off(deployed())
    walk.clones.delete(TOOLS)
    without(walk, TOOLS)
    walk.further('farm/tools', undefined).rebuild()
    expect([walk.stand, walk.world.machine === undefined]).toEqual(['Failed/DiskLost', false])
    expect(walk.message).toContain('; disk tools: VMDiskImage farm/tools does not exist')
    expect(walk.condition('DiskLost')).toMatchObject({ status: 'True' })
    walk.further('farm/tools', PUBLISHED).machineGone().settle()
    expect(walk.clones.has(TOOLS)).toBe(true)
  })

  it('is deleted for a new one only if its claim is gone, and not only for the cache', () => {
    const walk = off(deployed()).machineGone()
    walk.claims.delete(TOOLS)
    const plan = vi.spyOn(walk, 'plan')
    walk.rebuild()
    const plans = plan.mock.results.map(({ value }) => value as MachinePlan)
    const removing = plans.filter(({ remove }) => remove.some(({ name }) => name === TOOLS))
    const absent = [expect.objectContaining({ name: TOOLS })]
    expect(removing.map(({ onlyIf }) => onlyIf)).toEqual([[expect.objectContaining({ absent })]])
  })

  it('stays when the root disk is lost and made again', () => {
    const walk = off(deployed())
    walk.diskGone().settle().machineGone().rebuild()
    walk.disk(DISK.succeeded).start()
    expect([walk.stand, writes(walk).filter((line) => line.includes(TOOLS))]).toEqual([
      'Ready/Running',
      [`apply DataVolume ${TOOLS}`],
    ])
  })

  it('is made again by itself if it is a CD-ROM whose volume is lost', () => {
    const walk = off(deployed())
    walk.volume(ISO, { ...walk.claims.get(ISO), phase: 'Lost' }).settle()
    expect(
      writes(walk)
        .filter((line) => line.includes(ISO))
        .slice(-2),
    ).toEqual([`delete DataVolume ${ISO}`, `apply DataVolume ${ISO}`])
    walk.clone(ISO, DISK.succeeded, 'claim 9').start()
    expect([walk.stand, walk.clones.has(TOOLS)]).toEqual(['Ready/Running', true])
    walk.volume(TOOLS, { ...walk.claims.get(TOOLS), phase: 'Lost' }).settle()
    expect([walk.stand, walk.clones.has(TOOLS)]).toEqual(['Failed/DiskLost', true])
  })

  it('is made again by itself if it is a CD-ROM', () => {
    const walk = off(deployed())
    walk.clones.delete(ISO)
    without(walk, ISO)
    expect(walk.stand).toBe('Provisioning/DiskMissing')
    walk.clone(ISO, DISK.succeeded, 'claim 9').start()
    expect(walk.stand).toBe('Ready/Running')
  })
})
