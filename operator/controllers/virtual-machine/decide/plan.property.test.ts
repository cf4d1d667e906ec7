import { virtualMachine } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { expectLawful } from '../../../../test/prepared/runtime/plan-laws.ts'
import { START } from '../../../../test/prepared/runtime/times.ts'
import { NO_DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import { PASSWORD } from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { always, hanging } from '../../../../test/prepared/virtual-machine/random-machine-worlds.ts'
import { isChildOf } from '../../../cluster/ownership.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { ownsEqual } from '../../../runtime/owned-fields.ts'
import type { MachineWorld } from '../world.ts'
import { hasDisk } from './machine-plan.ts'
import { planMachine } from './plan.ts'
import { storageClassOf } from './plan-children.ts'
import { machineThrottleOf } from './status.ts'

const isDeleted = ({ vm }: MachineWorld) => vm.metadata.deletionTimestamp !== undefined

const kindsOf = (objects: readonly { readonly kind: string }[]): string[] => objects.map(({ kind }) => kind)

const isClaimLost = ({ claim }: Pick<MachineWorld, 'claim'>) =>
  claim === undefined || claim.metadata.deletionTimestamp !== undefined

const hasRun = ({ vm, instance: run }: MachineWorld) => vm.status.bootedAt !== undefined || run?.phase === 'Running'

describe('in any world, however odd, a plan', { timeout: 60_000 }, () => {
  it('is a function of the world and the time, and leaves the world alone', () => {
    always((one) => expect(planMachine(one, START)).toEqual(planMachine(one, START)))
  })

  it('removes nothing but children of the machine that are there and not on their way out, and never the image', () => {
    always((one) => {
      const children = [one.machine, one.instance, one.clone, one.secret].filter((child) => child !== undefined)
      for (const { kind, name, uid } of planMachine(one, START).remove) {
        const child = children.find((each) => each.kind === kind && each.metadata.uid === uid)
        expect(child?.metadata).toMatchObject({ name, namespace: 'team' })
        expect(child?.metadata.deletionTimestamp).toBeUndefined()
        const owner = kind === 'VirtualMachineInstance' ? one.machine : one.vm
        expect(child && owner && isChildOf(child, owner)).toBe(true)
      }
    })
  })

  it('never removes a disk that has booted or is complete, nor its machine, unless the machine is deleted', () => {
    always((one) => {
      if (isDeleted(one)) return
      const kinds = kindsOf(planMachine(one, START).remove)
      // What CDI would make again in the place of a lost disk is no disk that has booted.
      const isKept = hasRun(one) ? !isClaimLost(one) : one.clone?.phase === 'Succeeded'
      if (isKept) expect(kinds).not.toContain('DataVolume')
      if ((hasRun(one) || isKept) && hasDisk(one)) expect(kinds).not.toContain('VirtualMachine')
      expect(kinds).not.toContain('Secret')
    })
  })

  it('removes an instance only when it has run, is not ready, and the budget is not spent', () => {
    always((one) => {
      if (isDeleted(one)) return
      const { remove, status: next } = planMachine(one, START)
      if (!kindsOf(remove).includes('VirtualMachineInstance')) return
      expect(next.kicks?.instanceUID).toBe(one.instance?.metadata.uid)
      const isUnfinished = one.vm.status.kicks?.instanceUID === one.instance?.metadata.uid
      if (isUnfinished) return
      const { printableStatus, isReady } = one.machine ?? {}
      expect([one.instance?.phase, printableStatus, isReady]).toEqual(['Running', 'Running', false])
      expect(one.spec.ok && (one.spec.spec.runStrategy ?? 'Always')).toBe('Always')
      expect(next.kicks?.count).toBeLessThanOrEqual(one.policy.kickLimit)
    })
  })

  it('removes a disk that hangs only while CDI should get further, and another one can be made within the budget', () => {
    let isSeen = false
    always((any) => {
      const one = hanging(any)
      const { remove, status: next } = planMachine(one, START)
      const [was, is] = [one.vm.status.kicks?.count ?? 0, next.kicks?.count ?? 0]
      if (isDeleted(one) || is <= was || !kindsOf(remove).includes('DataVolume')) return
      isSeen = true
      expect(next.kicks).toMatchObject({ count: was + 1, dataVolumeUID: one.clone?.metadata.uid })
      expect(is).toBeLessThanOrEqual(one.policy.kickLimit)
      expect(['CloneScheduled', 'CloneInProgress']).toContain(one.clone?.phase)
      expect(one.clone?.bound.reason).toBe('')
      expect([hasRun(one), one.hasCloneSource]).toEqual([false, true])
      expect(one.image?.status.artifact).toBeDefined()
      expect(one.storageClass ?? storageClassOf(one.image)).toBe(one.storageClass)
      const alone = planMachine({ ...one, neighbours: { CDI: { presence: 'away' } } }, START)
      expect([kindsOf(alone.remove).includes('DataVolume'), alone.status.kicks?.count ?? 0]).toEqual([false, was])
    }, 2_000)
    expect(isSeen).toBe(true)
  })

  it('makes a disk only where there is none, nor a guest, of an image and an artifact that are there to stay', () => {
    let isSeen = false
    const check = (one: MachineWorld) => {
      if (!kindsOf(planMachine(one, START).apply).includes('DataVolume')) return
      isSeen = true
      expect([one.clone, one.claim, one.machine, one.instance]).toEqual([undefined, undefined, undefined, undefined])
      expect(one.image?.status.artifact).toBeDefined()
      expect(one.image?.metadata.deletionTimestamp).toBeUndefined()
      expect(one.hasCloneSource).toBe(true)
    }
    always((one) => {
      check(one)
      check({ ...one, clone: undefined, claim: undefined, machine: undefined, instance: undefined })
    })
    expect(isSeen).toBe(true)
  })

  it('leaves a guest alone that has the last copy of its disk', () => {
    let isSeen = false
    always((one) => {
      const isLost = [one.clone, one.claim].every((part) => part === undefined || part.metadata.deletionTimestamp)
      if (isDeleted(one) || !isLost || one.foreignClaim !== undefined) return
      if (one.instance?.phase !== 'Running' || one.vm.status.bootedAt === undefined) return
      isSeen = true
      expect(planMachine(one, START).remove).toEqual([])
    }, 4_000)
    expect(isSeen).toBe(true)
  })

  it('makes a machine only of a disk that has a claim, and a Secret that the guest can read', () => {
    always((one) => {
      if (!kindsOf(planMachine(one, START).apply).includes('VirtualMachine')) return
      expect(one.claim).toBeDefined()
      expect(one.secret).toBeDefined()
      expect(one.machine?.metadata.deletionTimestamp).toBeUndefined()
    })
  })

  it('makes an empty disk only where none is, and none that a guest has had', () => {
    let isSeen = false
    always((one) => {
      const made = planMachine(one, START).apply.filter(({ kind }) => kind === 'PersistentVolumeClaim')
      if (made.length === 0) return
      isSeen = true
      const [disk] = one.disks
      expect(made.map(({ metadata }) => metadata.name)).toEqual([disk?.ownClaim])
      expect([disk?.claim, disk?.spec.volume, one.vm.status.disks?.[0]?.claimUID]).toEqual([
        undefined,
        undefined,
        undefined,
      ])
      expect(disk?.given !== undefined && hasRun(one)).toBe(false)
    })
    expect(isSeen).toBe(true)
  })

  it('writes nothing over what is as it should be', () => {
    always((one) => {
      for (const child of planMachine(one, START).apply) {
        const there = [one.image, one.secret, one.machine].find((object) => object?.kind === child.kind)
        // A Secret is compared by the hash of its content.
        const wanted = child.kind === 'Secret' ? { ...there, metadata: child.metadata } : child
        expect(there !== undefined && ownsEqual(wanted as KubeObject, there)).toBe(false)
      }
    })
  })

  it('has nothing more to say when its status is written, and tells nobody twice', () => {
    always((one) => {
      const { status: next, remove } = planMachine(one, START)
      // The plan after a kick differs, since it handles the result of the kick.
      const isKick = (next.kicks?.count ?? 0) > (one.vm.status.kicks?.count ?? 0)
      if (kindsOf(remove).includes('VirtualMachineInstance') || isKick || isDeleted(one)) return
      // That a guest has run which ends with its machine is recorded first.
      const isEnding = [one.machine, one.instance].some((part) => part?.metadata.deletionTimestamp !== undefined)
      if (hasRun(one) && one.vm.status.bootedAt === undefined && isEnding) return
      const stored = JSON.parse(JSON.stringify(next)) as typeof next
      const again = planMachine({ ...one, vm: { ...one.vm, status: stored } }, START)
      expect(machineThrottleOf(stored, again.status).isStatusDue).toBe(false)
      expect(again.events.filter(({ reason }) => reason !== 'ImageCreated')).toEqual([])
    })
  })

  it('makes nothing, and removes nothing, where it must not', () => {
    always((one) => {
      const isReadable = one.spec.ok
      const isBlocked = one.namespaceTerminating || !isReadable
      if (isDeleted(one) || !isBlocked) return
      const { apply, remove } = planMachine(one, START)
      expect([apply, remove]).toEqual([[], []])
    })
  })

  it('touches nothing but the image where there is a conflict, nor where nothing is to be deployed; but for a machine without a disk', () => {
    always((one) => {
      const isIgnored = one.spec.ok && one.spec.spec.ignoreOnDeploy === true
      const isNamed = [one.conflict, one.orphan, one.leaving].some((name) => name !== undefined)
      if (isDeleted(one) || !(isIgnored || isNamed)) return
      const { apply, remove } = planMachine(one, START)
      expect(kindsOf(apply).filter((kind) => kind !== 'VMDiskImage')).toEqual([])
      const lost = !isIgnored && isClaimLost(one) && hasRun(one) ? ['DataVolume'] : []
      const without = isIgnored || hasDisk(one) ? lost : [...lost, 'VirtualMachine']
      expect(kindsOf(remove).filter((kind) => !without.includes(kind))).toEqual([])
    })
  })

  it('leaves no machine of KubeVirt without a disk that could start by a claim of somebody else', () => {
    let isSeen = false
    always((one) => {
      const isPlanned = one.spec.ok && one.spec.spec.ignoreOnDeploy !== true && !one.namespaceTerminating
      const isGoing = one.machine?.metadata.deletionTimestamp !== undefined
      if (isDeleted(one) || !isPlanned || one.machine === undefined || isGoing || hasDisk(one)) return
      if (one.foreignClaim === undefined && hasRun(one)) return
      isSeen = true
      const { apply, remove, onlyIf } = planMachine(one, START)
      const ended = remove.find(({ kind }) => kind === 'VirtualMachine' || kind === 'VirtualMachineInstance')
      expect([kindsOf(apply), ended]).toEqual([[], expect.anything()])
      if (ended?.kind === 'VirtualMachine') expect(onlyIf).toEqual(NO_DISK)
    }, 4_000)
    expect(isSeen).toBe(true)
  })

  it('lets a machine go only when nothing of it is left, in the order machine, disk, Secret', () => {
    always((one) => {
      if (!isDeleted(one)) return
      const { finalizer, apply, remove } = planMachine(one, START)
      const parts = [one.machine ?? one.instance, one.clone, ...one.diskClaims, one.secret]
      const left = parts.filter((child) => child !== undefined)
      expect([finalizer, apply]).toEqual([left.length === 0 ? 'release' : 'keep', []])
      const next = left.slice(0, 1).filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      expect(kindsOf(remove)).toEqual(kindsOf(next))
    })
  })

  it('keeps the laws of all plans', () => {
    always((one) => expectLawful(one.vm, planMachine(one, START), virtualMachine.status))
  })

  it('says in its conditions what its phase says', () => {
    always((one) => {
      const { status: next, finalizer } = planMachine(one, START)
      if (finalizer === 'release') return
      const holds = (type: string) => next.conditions?.find((condition) => condition.type === type)?.status
      const told = ['Ready', 'Reconciling', 'Stalled'].map(holds)
      expect(told).toEqual(
        ['Ready', 'Provisioning', 'Failed'].map((phase) => (phase === next.phase ? 'True' : 'False')),
      )
      expect(holds('Settled')).toBe(next.phase === 'Provisioning' ? 'False' : 'True')
    })
  })

  it('is Failed where a disk is lost that a guest has had, whatever else there is to say, and names the loss', () => {
    let losses = 0
    always((one) => {
      const { vm, disks, restoring, namespaceTerminating } = one
      if (isDeleted(one) || namespaceTerminating || restoring !== undefined || vm.status.bootedAt === undefined) return
      const isData = (disk: (typeof disks)[number]) =>
        vm.status.disks?.some(({ claimUID }) => claimUID !== undefined) && disk.spec.volume === undefined
      if (!(isClaimLost(one) || disks.some((disk) => isData(disk) && isClaimLost(disk)))) return
      losses += 1
      const { status } = planMachine(one, START)
      const holds = (type: string) => status.conditions?.find((condition) => condition.type === type)?.status
      expect([status.phase, holds('Ready'), holds('DiskLost')]).toEqual(['Failed', 'False', 'True'])
      expect(status.reason).toMatch(/^Disk(Lost|BeingDeleted)$/)
    })
    expect(losses).toBeGreaterThan(100)
  })

  it('is Ready only when the machine is, or is not to be deployed, or off as wanted', () => {
    always((one) => {
      const { status: next } = planMachine(one, START)
      if (next.phase !== 'Ready' || isDeleted(one)) return
      const isIgnored = one.spec.ok && one.spec.spec.ignoreOnDeploy === true
      const isOff = one.spec.ok && one.spec.spec.runStrategy !== undefined && one.instance?.phase !== 'Running'
      expect(isIgnored || isOff || one.machine?.isReady).toBe(true)
    })
  })

  it('shows no password but in the data of the Secret', () => {
    let isSeen = false
    always((one) => {
      const { apply, ...plan } = planMachine(one, START)
      const shown = apply.map((child) => (child.kind === 'Secret' ? { ...child, stringData: undefined } : child))
      isSeen ||= JSON.stringify(apply).includes(PASSWORD)
      expect(JSON.stringify([plan, shown])).not.toContain(PASSWORD)
    })
    expect(isSeen).toBe(true)
  })
})
