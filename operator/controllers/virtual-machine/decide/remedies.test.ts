import { ANNOTATIONS } from '@open-terrain/constructs'
import {
  diskClaimName,
  VIRTUAL_MACHINE_REASON_HELP,
  type VirtualMachineReason,
} from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { expectShown } from '../../../../test/prepared/runtime/plan-laws.ts'
import { HOUR, START } from '../../../../test/prepared/runtime/times.ts'
import { aClaim, aDisk, aFurtherDisk, DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import {
  aMachine,
  anImage,
  anInstance,
  KUBEVIRT,
  type KubeVirtStatus,
  PUBLISHED,
  REFERRING,
  TEMPLATE,
} from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import {
  aMachineWorld,
  aRunningWorld,
  type MachineWorldOverrides,
  NO_PASSWORD,
} from '../../../../test/prepared/virtual-machine/machine-world.ts'
import { toTime } from '../../../base/time.ts'
import { planMachine } from './plan.ts'

interface Row {
  readonly reason: VirtualMachineReason
  /** Whether the machine has its disk and its Secret already. */
  readonly isDeployed?: true
  readonly wrong: MachineWorldOverrides
  /** Part of the message that people read. */
  readonly text: string
  /** What differs once people have followed the message or the remedy of the reason. */
  readonly remedy: MachineWorldOverrides
}

const said = (printableStatus: string, ...conditions: readonly (readonly [string, string, string, string])[]) => {
  const status: KubeVirtStatus = {
    printableStatus,
    conditions: conditions.map(([type, holds, reason, message]) => ({ type, status: holds, reason, message })),
  }
  return { machine: aMachine(status), instance: anInstance({ phase: 'Scheduling', isReady: false }) }
}
const STARTING = { machine: aMachine(KUBEVIRT.starting), instance: anInstance({ phase: 'Scheduling', isReady: false }) }
const UNREACHED =
  'failed calling webhook "virtualmachines-mutator.kubevirt.io": failed to call webhook: connection refused'
const FOUND = { missingNetworks: [], hasMultus: true, warning: undefined }
const BOOTED = { observedGeneration: 1, bootedAt: toTime(START) }
const LONG_AGO = { ...BOOTED, provisioningSince: toTime(START - HOUR) }
const OTHER = { vmDiskImageRef: { name: 'other', namespace: 'farm' } }
const USER_DATA = { name: 'setup', key: 'user-data' }
const NO_USER_DATA = {
  kind: 'missing',
  reason: 'MissingUserDataSecret',
  message: 'userData is to come from ...: kubectl -n team create secret ...',
} as const
const users = (...list: readonly object[]): MachineWorldOverrides => ({ spec: { users: list } })

const HAD = [{ name: 'data', claim: diskClaimName('vm', 'data'), size: '8Gi', claimUID: 'd' }]
const NEXT = {
  name: 'vm-root-g2',
  clone: undefined,
  claim: undefined,
  foreign: undefined,
  hasCloneSource: true,
}
const REPLACING = {
  status: { ...BOOTED, resetRequest: 'none', replacement: { asked: 'Reset', disk: { name: NEXT.name } } },
} as const
/** A disk of an image. @param namespace that the spec says */
const aMovedImage = (namespace: string) => {
  const { disks, ...world } = aFurtherDisk({ size: '8Gi' }, 'Bound')
  const spec = { name: 'data', vmDiskImageRef: { name: 'tools', namespace } }
  const ofImage = { key: `${namespace}/tools`, image: undefined, clone: undefined, hasCloneSource: true }
  return { ...world, spec: { disks: [spec] }, disks: disks.map((disk) => ({ ...disk, spec, ofImage })) }
}

const ROWS: readonly Row[] = [
  {
    reason: 'ImageNotFound',
    wrong: { image: undefined, spec: { vmDiskImageMode: 'FailIfNotExist' } },
    text: 'or change the mode',
    remedy: { image: undefined },
  },
  {
    reason: 'ImageMissing',
    wrong: { image: undefined, imageNamespace: 'missing' },
    text: 'create the namespace',
    remedy: {},
  },
  {
    reason: 'NamesakeTerminating',
    wrong: { leaving: 'DataVolume vm-root' },
    text: 'check its finalizers',
    remedy: {},
  },
  { reason: 'TooLarge', wrong: { isCut: true }, text: 'at most 1,000,000 characters', remedy: {} },
  { reason: 'InvalidSpec', wrong: { spec: { name: 'Demo_VM' } }, text: 'spec.name', remedy: {} },
  {
    reason: 'ImageNotFound',
    wrong: { image: undefined, spec: { vmDiskImageTemplate: undefined } },
    text: 'until somebody creates it',
    remedy: {},
  },
  {
    reason: 'ImageFailed',
    wrong: { image: anImage({ phase: 'Failed' }) },
    text: 'kubectl -n farm edit vmdi golden',
    remedy: {},
  },
  {
    reason: 'ImageMismatch',
    wrong: { image: anImage(PUBLISHED, {}, { ...TEMPLATE, url: 'https://images.example/b.qcow2' }) },
    text: 'differs from the template in url',
    remedy: {
      image: anImage(PUBLISHED, {}, { ...TEMPLATE, url: 'https://images.example/b.qcow2' }),
      spec: { vmDiskImageTemplate: { ...TEMPLATE, url: 'https://images.example/b.qcow2' } },
    },
  },
  { reason: 'CloneFailed', wrong: { clone: aDisk(DISK.failed) }, text: 'PVC Lost', remedy: {} },
  {
    reason: 'CloneFailed',
    wrong: { clone: aDisk({ ...DISK.new, bound: { reason: 'ErrExceededQuota', message: 'exceeded quota: small' } }) },
    text: 'exceeded quota: small; raise it',
    remedy: { clone: aDisk(DISK.cloning) },
  },
  {
    reason: 'FullCopy',
    isDeployed: true,
    wrong: { clone: aDisk({}, { annotations: { 'cdi.kubevirt.io/cloneType': 'copy' } }) },
    text: 'see the events of DataVolume',
    remedy: {},
  },
  {
    reason: 'PodNotStarting',
    isDeployed: true,
    wrong: { ...STARTING, obstacle: { ...FOUND, warning: 'FailedMount: no disk' } },
    text: 'FailedMount: no disk',
    remedy: {},
  },
  {
    reason: 'NetworkNotAllowed',
    wrong: { spec: { interfaces: [{ network: 'site', attach: 'vlans/v-100' }] } },
    text: 'does not list: remove attach, or have the policy allow it',
    remedy: { policy: { attachableNetworks: ['vlans/v-100'] } },
  },
  {
    reason: 'OverrideNotAllowed',
    wrong: { spec: { overrides: { template: { spec: { domain: { cpu: { model: 'host-model' } } } } } } },
    text: 'does not list vm:template.spec.domain.cpu.model; remove it, or have the policy allow it',
    remedy: { policy: { allowedOverrides: ['vm:template.spec.domain.cpu'] } },
  },
  {
    reason: 'NetworkMissing',
    isDeployed: true,
    wrong: { ...STARTING, obstacle: { ...FOUND, missingNetworks: ['control-net'] } },
    text: 'create it, or correct the name',
    remedy: {},
  },
  {
    reason: 'Unschedulable',
    isDeployed: true,
    wrong: said('ErrorUnschedulable', ['PodScheduled', 'False', 'Unschedulable', '0/3 nodes']),
    text: '0/3 nodes',
    remedy: {},
  },
  {
    reason: 'StartFailed',
    isDeployed: true,
    wrong: { ...said('Stopped', ['Failure', 'True', 'FailedCreate', 'denied the request']), instance: undefined },
    text: 'annotate --overwrite vm.kubevirt.io vm',
    remedy: {},
  },
  {
    reason: 'StartFailed',
    isDeployed: true,
    wrong: said('Starting', ['Synchronized', 'False', 'FailedCreate', 'exceeded quota']),
    text: 'annotate --overwrite vmi vm',
    remedy: {},
  },
  { reason: 'CrashLoop', isDeployed: true, wrong: said('CrashLoopBackOff'), text: 'fails before it runs', remedy: {} },
  {
    reason: 'Paused',
    isDeployed: true,
    wrong: said('Paused', ['Paused', 'True', 'PausedByUser', 'paused by user']),
    text: 'virtctl unpause',
    remedy: {},
  },
  {
    reason: 'PausedIOError',
    isDeployed: true,
    wrong: said('Paused', ['Paused', 'True', 'PausedIOError', 'IO error']),
    text: 'storage is full or lost',
    remedy: {},
  },
  {
    reason: 'Timeout',
    isDeployed: true,
    wrong: { ...STARTING, status: LONG_AGO },
    text: 'not ready after 30 min',
    remedy: {},
  },
  {
    reason: 'KickBudgetSpent',
    isDeployed: true,
    wrong: {
      machine: aMachine(KUBEVIRT.notReady),
      instance: anInstance({ isReady: false, unreadySince: START - HOUR }),
      status: LONG_AGO,
      policy: { kickLimit: 0 },
    },
    text: 'see its console',
    remedy: {
      machine: aMachine(KUBEVIRT.notReady),
      instance: anInstance({ isReady: false, unreadySince: START - HOUR }),
      metadata: { generation: 2 },
    },
  },
  { reason: 'IgnoredOnDeploy', wrong: { spec: { ignoreOnDeploy: true } }, text: 'no machine is created', remedy: {} },
  {
    reason: 'NotDeployedAnyMore',
    isDeployed: true,
    wrong: { spec: { ignoreOnDeploy: true } },
    text: 'left as it is',
    remedy: {},
  },
  {
    reason: 'NameConflict',
    wrong: { conflict: 'Secret vm-cloudinit' },
    text: 'delete it if nobody needs it',
    remedy: {},
  },
  {
    reason: 'NameConflict',
    wrong: { orphan: 'DataVolume vm-root' },
    text: 'put the ownerReference back (uid vm-uid, controller: true)',
    remedy: {},
  },
  {
    reason: 'MissingPasswordSecret',
    wrong: { spec: { users: REFERRING }, cloudInit: NO_PASSWORD },
    text: 'password of user',
    remedy: { spec: { users: REFERRING } },
  },
  {
    reason: 'MissingUserDataSecret',
    wrong: { spec: { userDataSecretRef: USER_DATA }, cloudInit: NO_USER_DATA },
    text: 'kubectl -n team create secret',
    remedy: { spec: { userDataSecretRef: USER_DATA } },
  },
  { reason: 'KubeVirtMissing', wrong: { hasKubeVirt: false }, text: 'install KubeVirt', remedy: {} },
  { reason: 'CDIMissing', wrong: { hasDataVolumes: false }, text: 'install CDI', remedy: {} },
  {
    reason: 'KubeVirtNotResponding',
    isDeployed: true,
    wrong: {
      machine: aMachine(KUBEVIRT.starting),
      instance: undefined,
      neighbours: { KubeVirt: { presence: 'away' } },
    },
    text: 'see whether Deployment virt-controller runs',
    remedy: {},
  },
  {
    reason: 'KubeVirtNotResponding',
    isDeployed: true,
    wrong: { machine: undefined, instance: undefined, refusal: UNREACHED },
    text: 'see whether Deployment virt-api runs',
    remedy: {},
  },
  {
    reason: 'CDINotResponding',
    wrong: { clone: aDisk(DISK.cloning), neighbours: { CDI: { presence: 'away' } } },
    text: 'see whether Deployment cdi-deployment runs',
    remedy: {},
  },
  {
    reason: 'NamespaceTerminating',
    wrong: { namespaceTerminating: true },
    text: 'nothing can be created in it',
    remedy: {},
  },
  {
    reason: 'RestartRequired',
    isDeployed: true,
    wrong: {
      machine: aMachine({
        ...KUBEVIRT.running,
        conditions: [
          ...KUBEVIRT.running.conditions,
          { type: 'RestartRequired', status: 'True', message: 'fewer CPUs' },
        ],
      }),
    },
    text: 'waits for a restart (virtctl restart vm): fewer CPUs',
    remedy: {},
  },
  {
    reason: 'RebuildRequired',
    isDeployed: true,
    wrong: {
      spec: OTHER,
      image: anImage(PUBLISHED, { name: 'other' }),
      status: { ...BOOTED, clone: { name: 'vm-root', image: 'farm/golden' } },
    },
    text: 'vmDiskImageRef changed after the disk was made',
    remedy: {},
  },
  {
    reason: 'SpecChanged',
    isDeployed: true,
    wrong: {
      spec: OTHER,
      image: anImage(PUBLISHED, { name: 'other' }),
      status: { ...BOOTED, clone: { name: 'vm-root', image: 'farm/golden' } },
    },
    text: 'the disk was made from VMDiskImage farm/golden, and spec.vmDiskImageRef names farm/other',
    remedy: {},
  },
  {
    reason: 'DiskLost',
    isDeployed: true,
    wrong: { clone: undefined, claim: undefined, machine: undefined, instance: undefined },
    text: 'kubectl -n team annotate virtualmachines.pelotech.ot vm --overwrite pelotech.ot/rebuild-requested-at=',
    remedy: {
      clone: undefined,
      claim: undefined,
      machine: undefined,
      instance: undefined,
      metadata: { annotations: { 'pelotech.ot/rebuild-requested-at': '1' } },
    },
  },
  {
    reason: 'DiskBeingDeleted',
    isDeployed: true,
    wrong: { claim: aClaim({ deletionTimestamp: '2026-01-01T00:00:00Z' }) },
    text: 'save what is needed while the guest runs',
    remedy: {},
  },
  {
    reason: 'RestoredDiskLost',
    isDeployed: true,
    wrong: { isRestoredClaimLost: true, status: { ...BOOTED, restoredClaim: 'restore-1-rootdisk' } },
    text: 'restore-1-rootdisk',
    remedy: { restoredClaim: 'restore-2-rootdisk', isDiskElsewhere: true, clone: undefined },
  },
  { reason: 'LoginRenamed', wrong: users({ name: 'demo user' }), text: 'demo-user', remedy: users({ name: 'demo' }) },
  {
    reason: 'GroupsOfImage',
    wrong: users({ name: 'root', groups: 'sudo' }),
    text: 'root',
    remedy: users({ name: 'root' }),
  },
  {
    reason: 'PasswordLocked',
    wrong: users({ name: 'demo', plain_text_passwd: 'x' }),
    text: 'lock_passwd',
    remedy: users({ name: 'demo', plain_text_passwd: 'x', lock_passwd: false }),
  },
  {
    reason: 'NoLogin',
    wrong: users({ name: 'demo' }),
    text: 'ssh_authorized_keys',
    remedy: users({ name: 'demo', ssh_authorized_keys: ['ssh-ed25519 AAAAa a'] }),
  },
  {
    reason: 'NoSuchNodeLabel',
    wrong: { spec: { nodeSelector: { 'my disk': 'ssd' } } },
    text: 'nodeSelector',
    remedy: { spec: { nodeSelector: { 'example.com/disk': 'ssd' } } },
  },
  {
    reason: 'WindowsLogin',
    wrong: users({ name: 'Administrator', plain_text_passwd: 'P@ss-w0rd-1', lock_passwd: false }),
    text: 'os: windows',
    remedy: { spec: { os: 'windows', users: [{ name: 'lab', plain_text_passwd: 'P@ss-w0rd-1', lock_passwd: false }] } },
  },
  {
    reason: 'WindowsGuest',
    wrong: { spec: { os: 'windows', name: 'domain-controller-1' } },
    text: 'choose a shorter name',
    remedy: { spec: { os: 'windows', name: 'dc-1' } },
  },
  {
    reason: 'UserDataOverridden',
    wrong: { spec: { userData: '#cloud-config\nhostname: other\n' } },
    text: 'userData sets hostname',
    remedy: { spec: { userData: '#cloud-config\npackages: [nginx]\n' } },
  },
  {
    reason: 'UserDataUnreadable',
    wrong: { spec: { userData: '#cloud-config\npackages: [nginx\n' } },
    text: 'in line 3',
    remedy: { spec: { userData: '#cloud-config\npackages: [nginx]\n' } },
  },
  {
    reason: 'DiskSmallerThanImage',
    wrong: { spec: { resources: { cpu: '2', memory: '2Gi', diskSize: '1Gi' } } },
    text: 'diskSize',
    remedy: {},
  },
  {
    reason: 'DiskMissing',
    isDeployed: true,
    wrong: { ...aFurtherDisk({ volume: 'course' }), machine: undefined, instance: undefined },
    text: 'create what is missing',
    remedy: { ...aFurtherDisk({ volume: 'course' }, 'Bound'), machine: undefined, instance: undefined },
  },
  {
    reason: 'DiskLost',
    isDeployed: true,
    wrong: { ...aFurtherDisk({ size: '8Gi' }), instance: undefined, status: { ...BOOTED, disks: HAD } },
    text: 'have an empty one made by',
    remedy: {
      ...aFurtherDisk({ size: '8Gi' }),
      instance: undefined,
      metadata: { annotations: { [ANNOTATIONS.rebuildRequestedAt]: 'now' } },
    },
  },
  {
    reason: 'ReplacementBlocked',
    isDeployed: true,
    wrong: { ...REPLACING, next: { ...NEXT, foreign: 'PersistentVolumeClaim vm-root-g2' } },
    text: 'delete it if nobody needs it',
    remedy: { ...REPLACING, next: NEXT },
  },
  {
    reason: 'Overridden',
    isDeployed: true,
    wrong: {
      spec: { overrides: { template: { spec: { domain: { cpu: { cores: 2 } } } } } },
      policy: { allowedOverrides: ['vm:template'] },
    },
    text: 'replaces what the rest of the spec says: template.spec.domain.cpu.cores',
    remedy: {
      spec: { overrides: { template: { spec: { domain: { cpu: { model: 'host-model' } } } } } },
      policy: { allowedOverrides: ['vm:template'] },
    },
  },
  {
    reason: 'DiskSizeKept',
    isDeployed: true,
    wrong: {
      ...aFurtherDisk({ size: '9Gi' }, 'Bound'),
      status: { ...BOOTED, disks: [{ name: 'data', claim: 'd', size: '8Gi' }] },
    },
    text: 'undo the change',
    remedy: aFurtherDisk({ size: '8Gi' }, 'Bound'),
  },
  {
    reason: 'DiskImageKept',
    isDeployed: true,
    wrong: {
      ...aMovedImage('other'),
      status: { ...BOOTED, disks: [{ name: 'data', claim: 'd', image: 'farm/tools' }] },
    },
    text: 'undo the change',
    remedy: aMovedImage('farm'),
  },
  { reason: 'Refused', wrong: { refusal: 'exceeded quota' }, text: 'exceeded quota', remedy: {} },
]

/** A bug in the operator: people can only report it. */
const NO_REMEDY: readonly VirtualMachineReason[] = ['InternalError']
/** Reasons of Events alone. What helps is tested where the Events are. */
const OF_EVENTS: readonly VirtualMachineReason[] = ['ResetNotCounted', 'RebuildNotCounted']

describe('the remedy of each reason', () => {
  it.each(ROWS)('helps: $reason, $text', ({ reason, isDeployed, wrong, text, remedy }) => {
    const world = isDeployed ? aRunningWorld : aMachineWorld
    const before = world(wrong)
    const { status } = planMachine(before, START)
    expectShown(before.vm, status)
    const told = status.conditions?.filter((condition) => condition.reason === reason) ?? []
    expect(told.map(({ message }) => message).join(), JSON.stringify(status)).toContain(text)
    const after = planMachine(world({ ...remedy, status }), START)
    expect(after.status.conditions?.map((condition) => condition.reason)).not.toContain(reason)
    expect(after.status.phase).not.toBe('Failed')
    // The machine is ready, or the plan works toward that.
    expect(after.status.phase === 'Ready' || after.apply.length > 0 || after.requeue !== undefined).toBe(true)
  })

  it('is tried for every reason for which people can do something', () => {
    const reasons = Object.entries(VIRTUAL_MACHINE_REASON_HELP)
      .filter(([, { remedy }]) => !remedy.startsWith('No action needed'))
      .map(([reason]) => reason)
    const tried = new Set<string>([...ROWS.map(({ reason }) => reason), ...NO_REMEDY, ...OF_EVENTS])
    expect(reasons.filter((reason) => !tried.has(reason))).toEqual([])
  })
})
