import { cloudInitFingerprint, cloudInitHash, withMacAddresses } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE } from '../../../../test/prepared/runtime/times.ts'
import { aClaim, aDisk, DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import { anInstance, aSecret, NAMES, VM_UID } from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { OWNER, planOf, wanted } from '../../../../test/prepared/virtual-machine/machine-plan.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import {
  aMachineWorld,
  type MachineWorldOverrides,
  NO_PASSWORD,
} from '../../../../test/prepared/virtual-machine/machine-world.ts'
import type { MachineWorld } from '../world.ts'

const secretOf = (overrides: MachineWorldOverrides = {}) => aSecret(aMachineWorld(overrides).cloudInit)

/** Disk, claim and Secret exist: the machine is next. */
const atStart = (overrides: MachineWorldOverrides = {}): MachineWorldOverrides => ({
  clone: aDisk(),
  claim: aClaim(),
  secret: secretOf(overrides),
  ...overrides,
})

describe('the machine', () => {
  it('is KubeVirt’s, always running, with our disks, networks and identity', () => {
    const { metadata, spec } = wanted(atStart(), 'VirtualMachine')
    const { cloudInit } = aMachineWorld()
    const hash = cloudInit.kind === 'rendered' ? cloudInitHash(cloudInit.data) : ''
    const [{ macAddress } = { macAddress: '' }] = withMacAddresses(VM_UID, 'vm', [{ network: 'control-net' }])
    expect(metadata).toMatchObject({
      name: 'vm',
      namespace: 'team',
      ownerReferences: [OWNER],
      annotations: { 'pelotech.ot/cloud-init': cloudInitFingerprint('uid of vm-cloudinit', hash) },
    })
    expect(macAddress).toMatch(/^02(:[0-9a-f]{2}){5}$/)
    expect(spec).toEqual({
      runStrategy: 'Always',
      template: {
        metadata: { labels: { 'pelotech.ot/virtualmachine-uid': VM_UID, 'pelotech.ot/virtualmachine': 'vm' } },
        spec: {
          hostname: 'demo-vm',
          terminationGracePeriodSeconds: 60,
          domain: {
            cpu: { sockets: 2, cores: 1, threads: 1 },
            firmware: { uuid: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/) },
            memory: { guest: '2Gi' },
            devices: {
              autoattachPodInterface: false,
              rng: {},
              disks: [
                { name: 'rootdisk', bootOrder: 1, disk: { bus: 'virtio' } },
                { name: 'cloudinit', disk: { bus: 'virtio' } },
              ],
              interfaces: [{ name: 'control-net', bridge: {}, macAddress }],
            },
          },
          networks: [{ name: 'control-net', multus: { networkName: 'team/control-net' } }],
          volumes: [
            { name: 'rootdisk', dataVolume: { name: 'vm-root' } },
            {
              name: 'cloudinit',
              cloudInitNoCloud: { secretRef: { name: 'vm-cloudinit' }, networkDataSecretRef: { name: 'vm-cloudinit' } },
            },
          ],
        },
      },
    })
  })

  it('without interfaces is on the pod network, and tells the guest of none', () => {
    const { template } = wanted(atStart({ spec: { interfaces: undefined } }), 'VirtualMachine').spec
    expect(template.spec.networks).toEqual([{ name: 'default', pod: {} }])
    expect(template.spec.domain.devices.interfaces).toMatchObject([{ name: 'default', masquerade: {} }])
    expect(template.spec.volumes[1].cloudInitNoCloud).toEqual({ secretRef: { name: 'vm-cloudinit' } })
  })

  it('has its own name for a host name where none is given', () => {
    expect(wanted(atStart({ spec: { name: undefined } }), 'VirtualMachine').spec.template.spec.hostname).toBe('vm')
  })

  it('is on one node with what has the same node group, and says which workspace it is of', () => {
    const inGroup = atStart({ spec: { nodeGroup: 'lab' }, metadata: { labels: { 'pelotech.ot/workspace': 'lab-1' } } })
    const { metadata, spec } = wanted(inGroup, 'VirtualMachine')
    const labels = { 'pelotech.ot/workspace': 'lab-1', 'pelotech.ot/node-group': 'lab' }
    expect(metadata.labels).toMatchObject(labels)
    expect(spec.template.metadata.labels).toMatchObject(labels)
    expect(spec.template.spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution).toEqual([
      {
        topologyKey: 'kubernetes.io/hostname',
        labelSelector: { matchLabels: { 'pelotech.ot/node-group': 'lab' } },
      },
    ])
    expect(wanted(atStart(), 'VirtualMachine').spec.template.spec.affinity).toBeUndefined()
  })

  it('reserves a fraction of a CPU where that is asked for', () => {
    const { domain } = wanted(atStart({ spec: { resources: { cpu: '1500m', memory: '2048Mi' } } }), 'VirtualMachine')
      .spec.template.spec
    expect(domain).toMatchObject({
      cpu: { sockets: 2 },
      resources: { requests: { cpu: '1500m' } },
      memory: { guest: '2Gi' },
    })
  })

  it('is another one to cloud-init on another disk, and the same one on the same', () => {
    const uuid = (overrides: MachineWorldOverrides) =>
      wanted(atStart(overrides), 'VirtualMachine').spec.template.spec.domain.firmware.uuid
    expect(uuid({})).toBe(uuid({ spec: { resources: { cpu: '4', memory: '8Gi' } } }))
    expect(uuid({})).not.toBe(uuid({ claim: { ...aClaim(), metadata: { ...aClaim().metadata, uid: 'another' } } }))
    expect(uuid({})).toBe(uuid({ clone: undefined }))
    expect(uuid({})).not.toBe(uuid({ metadata: { uid: 'another' } }))
  })

  it.each<[string, MachineWorldOverrides]>([
    ['the disk', {}],
    ['the claim of the disk', { clone: aDisk(DISK.scheduled), secret: secretOf() }],
    ['the claim of a disk that is said to be complete', { clone: aDisk(), secret: secretOf() }],
    ['the Secret', { clone: aDisk(), claim: aClaim() }],
  ])('is not made before %s', (_what, overrides) => {
    expect(wanted(overrides, 'VirtualMachine')).toBeUndefined()
  })

  it.each<[string, MachineWorldOverrides]>([
    ['exists, though the disk is not complete', atStart({ clone: aDisk(DISK.waiting) })],
    ['exists, whose DataVolume is gone', atStart({ clone: undefined })],
  ])('is made when a claim %s', (_what, overrides) => {
    expect(planOf(overrides).apply.map(({ kind }) => kind)).toEqual(['VirtualMachine'])
  })
})

describe('what stands in the way', () => {
  const conflict = `Secret ${NAMES.cloudInit}`

  it.each<[string, Partial<MachineWorld>, string, string]>([
    [
      'a foreign object',
      { conflict },
      'Failed/NameConflict',
      `${conflict} exists and belongs to somebody else: it is left alone`,
    ],
    ['one that is left over', { conflict, leaving: 'DataVolume vm-root' }, 'Failed/NameConflict', `${conflict} exists`],
    ['no CDI', { hasDataVolumes: false }, 'Provisioning/CDIMissing', 'install CDI'],
    ['no KubeVirt', { hasKubeVirt: false }, 'Provisioning/KubeVirtMissing', 'install KubeVirt'],
    ['neither', { hasDataVolumes: false, hasKubeVirt: false }, 'Provisioning/CDIMissing', 'install CDI'],
    ['no password', { cloudInit: NO_PASSWORD }, 'Provisioning/MissingPasswordSecret', 'the password of user "demo"'],
  ])('%s: told, nothing is made, and it goes on when that is gone', (_what, change, stand, text) => {
    const walk = new MachineWalk().set(change).settle()
    expect([walk.stand, walk.message]).toEqual([stand, expect.stringContaining(text)])
    expect(walk.log.filter((line) => /^(apply|delete)/.test(line))).toEqual([])
    expect(walk.plan().requeue).toBeUndefined()
    expect(walk.events).toEqual([`Warning ${stand.split('/')[1]}`])
    const { conflict: none, leaving, hasDataVolumes, hasKubeVirt, cloudInit } = aMachineWorld()
    walk.set({ conflict: none, leaving, hasDataVolumes, hasKubeVirt, cloudInit })
    expect(walk.deploy().stand).toBe('Ready/Running')
  })

  it('the keys that have no password are in the status as long as it waits for them', () => {
    const walk = new MachineWalk().set({ cloudInit: NO_PASSWORD }).settle()
    expect(walk.status.missingSecretKeys).toEqual(NO_PASSWORD.keys)
    walk.set({ cloudInit: aMachineWorld().cloudInit }).deploy()
    expect('missingSecretKeys' in walk.status).toBe(false)
    // It has been given its passwords: what is missing now is needed for nothing but a new disk.
    walk.set({ cloudInit: NO_PASSWORD }).settle()
    expect([walk.message, 'missingSecretKeys' in walk.status]).toEqual([
      expect.stringContaining(NO_PASSWORD.message),
      false,
    ])
  })

  it('a foreign object that is being deleted is waited for without an alarm, however long that takes', () => {
    const walk = new MachineWalk().set({ leaving: 'DataVolume vm-root' }).settle()
    for (const ms of [0, 10 * HOUR]) {
      expect(walk.after(ms).stand).toBe('Provisioning/NamesakeTerminating')
      expect(walk.message).toBe(
        'DataVolume vm-root does not belong to this virtual machine and is being deleted: the virtual machine waits for its name; if it is not deleted, check its finalizers',
      )
    }
    expect([walk.log.filter((line) => /^(apply|delete)/.test(line)), walk.plan().requeue]).toEqual([[], undefined])
    expect(walk.events).toEqual(['Normal NamesakeTerminating'])
    expect(walk.set({ leaving: undefined }).deploy().stand).toBe('Ready/Running')
  })

  it.each<[string, Partial<MachineWorld>]>([
    ['a foreign object', { conflict }],
    ['one that is being deleted', { leaving: conflict }],
    ['no CDI', { hasDataVolumes: false }],
    ['no KubeVirt', { hasKubeVirt: false }],
  ])('%s: a machine that runs is not touched', (_what, change) => {
    const walk = new MachineWalk().deploy().set(change)
    expect(walk.plan()).toMatchObject({ apply: [], remove: [] })
  })

  it('a child that has lost its ownerReference is told how it gets it back, is left alone, and is taken back', () => {
    const walk = new MachineWalk().deploy()
    const { machine } = walk.world
    walk.set({ machine: undefined, instance: undefined, orphan: 'VirtualMachine vm of KubeVirt' })
    const before = walk.log.length
    walk.settle()
    expect([walk.stand, walk.message]).toEqual([
      'Failed/NameConflict',
      `VirtualMachine vm of KubeVirt was made for this virtual machine and has lost its ownerReference to it: it is left alone; put the ownerReference back (uid ${VM_UID}, controller: true), or delete it with all that it holds, and it is recreated`,
    ])
    expect(walk.log.slice(before)).toEqual(['status Failed/NameConflict'])
    walk.set({ conflict }).settle()
    expect(walk.message).toContain(`${conflict} exists and belongs to somebody else`)
    walk.set({ conflict: undefined, orphan: undefined, machine, instance: anInstance() }).settle()
    expect([walk.stand, walk.log.filter((line) => line.startsWith('delete'))]).toEqual(['Ready/Running', []])
  })

  it('a password that is gone is no matter to a guest that has read it', () => {
    const walk = new MachineWalk().deploy().set({ cloudInit: NO_PASSWORD })
    const { status, apply, remove } = walk.plan()
    expect([status.phase, status.message]).toEqual(['Ready', `the machine runs; ${NO_PASSWORD.message}`])
    expect([...apply, ...remove]).toEqual([])
  })

  it('a password that is gone before the machine is ready is told with what the machine does', () => {
    const walk = new MachineWalk().settle().disk(DISK.succeeded).set({ cloudInit: NO_PASSWORD })
    const { status, requeue } = walk.plan()
    expect(status.message).toBe(`KubeVirt has not looked at the machine yet; ${NO_PASSWORD.message}`)
    expect(requeue?.afterMs).toBe(30 * MINUTE)
  })
})
