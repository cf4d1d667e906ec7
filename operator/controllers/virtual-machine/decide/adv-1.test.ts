import { appendFileSync } from 'node:fs'
import { ANNOTATIONS } from '@open-terrain/constructs'
import { deletionWord } from '@open-terrain/constructs/operator'
import { describe, it } from 'vitest'
import { aClaim, aDisk, DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import { KUBEVIRT, PUBLISHED } from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'

function running(claimsMax: number | undefined): MachineWalk {
  const walk = new MachineWalk().deploy()
  walk.claimsMax = claimsMax
  return walk
}
const show = (title: string, walk: MachineWalk, from = 0, fromE = 0) => {
  appendFileSync(
    '/tmp/adv1/out.txt',
    '\n' +
      String(
        `=== ${title}\nstand: ${walk.stand} | ${walk.message}\nconditions: ${(walk.status.conditions ?? [])
          .filter((c) => ['Replacing', 'DiskLost'].includes(c.type))
          .map((c) => `\n   ${c.type}/${c.reason}: ${c.message}`)
          .join(
            '',
          )}\nlog: ${walk.log.slice(from).join(' | ')}\nevents: ${walk.events.slice(fromE).join(' | ')}\nreplacement: ${JSON.stringify(walk.status.replacement)}`,
      ),
  )
}

describe('adv', () => {
  it('U1 claim alone lost, CDI makes it again, KubeVirt starts the guest from it', () => {
    const walk = running(1).reset().settle()
    let [f, e] = [walk.log.length, walk.events.length]
    walk.set({ instance: undefined, claim: undefined }).kubevirtSays(KUBEVIRT.starting).settle()
    show('U1 claim gone', walk, f, e)
    ;[f, e] = [walk.log.length, walk.events.length]
    const { clone } = walk.world
    const owner = {
      apiVersion: 'cdi.kubevirt.io/v1beta1',
      kind: 'DataVolume',
      name: 'vm-root',
      controller: true,
      uid: clone?.metadata.uid ?? '',
    }
    walk.set({ claim: aClaim({ uid: 'remade', ownerReferences: [owner] }) }).settle()
    show('U1 remade', walk, f, e)
    ;[f, e] = [walk.log.length, walk.events.length]
    walk.set({ claim: aClaim({ uid: 'remade', ownerReferences: [owner] }) })
    if (walk.world.machine?.runStrategy === 'Always') walk.start()
    show('U1 remade and started', walk, f, e)
    walk.after(40 * 60 * 1000)
    show('U1 40 min later', walk, f, e)
  })
  it('U1c the same without a reset', () => {
    const walk = running(1)
    const [f, e] = [walk.log.length, walk.events.length]
    walk.set({ instance: undefined, claim: undefined }).kubevirtSays(KUBEVIRT.starting).settle()
    show('U1c control', walk, f, e)
  })
  it('U1d claim gone, CDI does not make it again', () => {
    const walk = running(1).reset().settle()
    const [f, e] = [walk.log.length, walk.events.length]
    walk.set({ instance: undefined, claim: undefined }).kubevirtSays(KUBEVIRT.starting).settle()
    walk.after(60 * 60 * 1000).after(24 * 60 * 60 * 1000)
    show('U1d a day later', walk, f, e)
  })
  it('U2 word said while there is room for one, then a leftover word and a stale used', () => {
    const walk = running(1).reset().settle()
    walk.image({ phase: 'Failed', message: '404' })
    walk.giveUp().settle()
    walk.claimsMax = 2
    walk.image(PUBLISHED).settle()
    walk.root('vm-root-g2', DISK.cloning, 'claim-2').settle()
    show('U2 word left over, second disk is cloned', walk)
    const [f, e] = [walk.log.length, walk.events.length]
    walk.edit({ resources: { cpu: '2', memory: '2Gi', diskSize: '20Gi' } }).step()
    show('U2 spec changed: made again', walk, f, e)
    walk.step()
    walk.claimsMax = 1 // as a quota whose "used" still has the claim that has just gone
    walk.settle()
    show('U2 used is stale', walk, f, e)
  })
  it('U3 isCut', () => {
    const walk = running(1).reset().settle()
    walk.set({ machine: { ...(walk.world.machine as object), cut: ['spec'], isCut: true } as never })
    walk.giveUp()
    const p = walk.plan()
    appendFileSync(
      '/tmp/adv1/out.txt',
      `\nU3 ${JSON.stringify([p.remove, p.touch, p.status.conditions?.find((c) => c.type === 'Replacing')?.message])}`,
    )
  })
  it('U4 the machine is off by its spec: from the word to the deletion', () => {
    const walk = running(1)
    walk.edit({ powerState: 'Halted' }).settle()
    walk.powerOff().settle()
    walk.reset().settle()
    const [f, e] = [walk.log.length, walk.events.length]
    walk.giveUp().settle()
    show('U4', walk, f, e)
  })
  it('T10 word said, waits for others; message', () => {
    const walk = running(2).reset()
    walk.settle()
    show('T10', walk)
  })
  it('T1 quota lowered to 0 claims: disk is deleted though no new one fits', () => {
    const walk = running(0).reset().settle()
    show('T1 before', walk)
    const from = walk.log.length
    walk.giveUp().settle().powerOff().settle()
    show('T1 after', walk, from)
  })
  it('T2 word said, image Failed, somebody deletes the disk', () => {
    const walk = running(1).reset().settle()
    walk.image({ phase: 'Failed', message: '404' })
    walk.giveUp().settle()
    show('T2 word said + image failed', walk)
    const [f, e] = [walk.log.length, walk.events.length]
    walk.set({ instance: undefined, clone: undefined, claim: undefined }).settle().machineGone().settle()
    show('T2 disk lost, image failed', walk, f, e)
    walk.image(PUBLISHED).settle()
    show('T2 image ready again', walk, f, e)
  })
  it('T7 no quota; reset recorded, image failed; disk lost', () => {
    const walk = running(undefined)
    walk.image({ phase: 'Failed', message: '404' })
    walk.reset().settle()
    show('T7 recorded', walk)
    const [f, e] = [walk.log.length, walk.events.length]
    walk.set({ instance: undefined, clone: undefined, claim: undefined }).settle().machineGone().settle()
    show('T7 lost', walk, f, e)
    walk.image(PUBLISHED).settle()
    show('T7 image ready', walk, f, e)
  })
  it('T7b claim alone lost, guest off, DataVolume stays', () => {
    const walk = running(1).reset().settle()
    const [f, e] = [walk.log.length, walk.events.length]
    walk.set({ instance: undefined, claim: undefined }).kubevirtSays(KUBEVIRT.stopped).settle()
    show('T7b', walk, f, e)
  })
  it('T6 asked by an earlier version; claim is not valid (StorageProfile), quota has no room either', () => {
    const walk = running(undefined).reset().settle()
    walk.claimsMax = 1
    walk
      .root('vm-root-g2', { bound: { reason: 'ErrClaimNotValid', message: 'no claimPropertySets' } } as never)
      .settle()
    show('T6', walk)
    const f = walk.log.length
    walk.giveUp().settle().powerOff().settle()
    show('T6 after word', walk, f)
  })
  it('T8 orphaning delete of the DataVolume, image Failed, word said', () => {
    const walk = running(1).reset().settle()
    walk.image({ phase: 'Failed', message: '404' })
    walk.giveUp().settle()
    const f = walk.log.length
    const { clone } = walk.world
    walk
      .set({
        clone: {
          ...clone,
          metadata: { ...clone?.metadata, deletionTimestamp: '2026-01-02T12:00:00Z', finalizers: ['orphan'] },
        } as never,
      })
      .settle()
    show('T8', walk, f)
  })
  it('T9 KubeVirt machine too large, word said', () => {
    const walk = running(1).reset().settle()
    walk.giveUp().set({ machine: { ...(walk.world.machine as object), cut: true, isCut: true } as never })
    appendFileSync(
      '/tmp/adv1/out.txt',
      '\n' +
        String(
          [deletionWord(walk.world.vm), ANNOTATIONS.deleteDiskFirst, aDisk !== undefined, DISK !== undefined].join(' '),
        ),
    )
  })
})
