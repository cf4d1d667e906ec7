import { cloudInitFingerprint, cloudInitHash, type VMDiskImageStatus, withMacAddresses } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE, START } from '../../../runtime/times.fixtures.ts'
import { aClaim, aDisk, DISK } from '../machine-disks.fixtures.ts'
import {
  ARTIFACT,
  anImage,
  anInstance,
  aSecret,
  KUBEVIRT,
  NAMES,
  PASSWORD,
  PUBLISHED,
  QUEUED,
  REFERRING,
  TEMPLATE,
  VM_UID,
} from '../machine-objects.fixtures.ts'
import { Walk } from '../machine-walk.fixtures.ts'
import { aWorld, NO_PASSWORD, type WorldOverrides } from '../machine-world.fixtures.ts'
import type { MachineWorld } from '../world.ts'
import { planMachine } from './plan.ts'

const planOf = (overrides: WorldOverrides) => planMachine(aWorld(overrides), START)
/** What a plan applies of one kind, as far as a test looks at it. */
// biome-ignore lint/suspicious/noExplicitAny: what is rendered is looked at field by field
const wanted = (overrides: WorldOverrides, kind: string): any =>
  planOf(overrides).apply.find((object) => object.kind === kind)

const OWNER = {
  apiVersion: 'pelotech.ot/v1alpha1',
  kind: 'VirtualMachine',
  name: 'vm',
  uid: VM_UID,
  controller: true,
  blockOwnerDeletion: true,
}
const artifact = (more: Partial<typeof ARTIFACT>): WorldOverrides => ({
  image: anImage({ ...PUBLISHED, artifact: { ...ARTIFACT, ...more } }),
})
const diskSize = (size: string | undefined) => ({ spec: { resources: { cpu: '2', memory: '2Gi', diskSize: size } } })
const secretOf = (overrides: WorldOverrides = {}) => aSecret(aWorld(overrides).cloudInit)
/** Disk, claim and Secret are there: the machine is next. */
const atStart = (overrides: WorldOverrides = {}): WorldOverrides => ({
  clone: aDisk(),
  claim: aClaim(),
  secret: secretOf(overrides),
  ...overrides,
})

describe('the happy path', () => {
  it('writes what the picture says, in its order, and no more', () => {
    const walk = new Walk({ image: undefined }).settle()
    walk.image(PUBLISHED).disk(DISK.scheduled, false).disk(DISK.cloning).disk(DISK.succeeded)
    walk.kubevirt(KUBEVIRT.starting).instance({ phase: 'Scheduling', addresses: [], nodeName: undefined })
    walk.start()
    expect(walk.log).toEqual([
      'status Provisioning/ImageMissing',
      'finalizer',
      'apply VMDiskImage golden',
      'status Provisioning/WaitingForImage',
      // The image is ready.
      'status Provisioning/Cloning',
      'apply Secret vm-cloudinit',
      'apply DataVolume vm-root',
      'status Provisioning/Cloning',
      'status Provisioning/Cloning',
      // The claim is there.
      'status Provisioning/Cloning',
      'apply VirtualMachine vm',
      'status Provisioning/Cloning',
      // The disk is complete.
      'status Provisioning/Starting',
      'status Provisioning/Starting',
      'status Provisioning/Starting',
      'status Ready/Running',
    ])
    expect(walk.status).toMatchObject({
      observedGeneration: 1,
      phase: 'Ready',
      message: 'the machine runs',
      image: { namespace: 'farm', name: 'golden', revision: '1a2b3c4d' },
      clone: { name: 'vm-root', sourceRevision: '1a2b3c4d', phase: 'Succeeded', progress: '100.0%' },
      kubevirt: { name: 'vm', printableStatus: 'Running', nodeName: 'node-1' },
      addresses: ['10.10.0.161'],
      bootedAt: '2026-01-01T00:00:00.000Z',
    })
    expect(walk.status.provisioningSince).toBeUndefined()
    expect(walk.plan()).toMatchObject({ finalizer: 'keep', apply: [], remove: [], events: [] })
    expect(walk.plan().wake).toBeUndefined()
  })

  it('is two Events: its beginning and its end', () => {
    expect(new Walk({ image: undefined }).settle().deploy().told).toEqual(['Normal ImageCreated', 'Normal Running'])
    expect(new Walk().settle().deploy().told).toEqual(['Normal Cloning', 'Normal Running'])
  })
})

describe('the root disk', () => {
  it('is a DataVolume of ours that is cloned from the artifact, and waits for the pod of the machine', () => {
    const { metadata, spec } = wanted({}, 'DataVolume')
    expect(metadata).toEqual({
      name: 'vm-root',
      namespace: 'team',
      labels: {
        'pelotech.ot/virtualmachine-uid': VM_UID,
        'pelotech.ot/virtualmachine': 'vm',
        'app.kubernetes.io/managed-by': 'open-terrain-operator',
      },
      annotations: {
        'cdi.kubevirt.io/storage.deleteAfterCompletion': 'false',
        'sidecar.istio.io/inject': 'false',
      },
      ownerReferences: [OWNER],
    })
    expect(spec).toEqual({
      contentType: 'kubevirt',
      source: { snapshot: { namespace: 'farm', name: 'golden-1a2b3c4d' } },
      storage: { storageClassName: 'fast', volumeMode: 'Block', accessModes: ['ReadWriteOnce'] },
    })
  })

  it.each<[string, string | undefined, string | undefined, string | undefined]>([
    ['of no size: that of the image', undefined, '10Gi', undefined],
    ['smaller than the image: that of the image', '8Gi', '10Gi', undefined],
    ['as large as the image: that of the image', '10Gi', '10Gi', undefined],
    ['as large in other words: that of the image', '10240Mi', '10Gi', undefined],
    ['of one byte more', '10737418241', '10Gi', '10737418241'],
    ['larger than the image', '24Gi', '10Gi', '24Gi'],
    ['of an image whose size nobody knows', '8Gi', undefined, '8Gi'],
  ])('%s', (_what, size, restoreSize, expected) => {
    const { spec } = wanted({ ...diskSize(size), ...artifact({ restoreSize }) }, 'DataVolume')
    expect(spec.storage.resources).toEqual(expected && { requests: { storage: expected } })
  })

  // An image of 10Gi on a file system, with CDI's overhead of 6 %.
  it.each<[string, string, string | undefined]>([
    ['as large as the image, whose artifact is larger: that of the artifact', '10Gi', undefined],
    ['between image and artifact: more than either, as CDI adds its overhead', '10.5Gi', '11381663335'],
    ['larger than the artifact', '11Gi', '11Gi'],
  ])('%s', (_what, size, expected) => {
    const image = anImage(
      { ...PUBLISHED, artifact: { ...ARTIFACT, restoreSize: '11381663335' } },
      {},
      { diskSize: '10Gi' },
    )
    const { spec } = wanted({ ...diskSize(size), image }, 'DataVolume')
    expect(spec.storage.resources).toEqual(expected && { requests: { storage: expected } })
  })

  // Its artifact is of 20Gi, and one of 10Gi waits in the queue.
  it.each<[string, string, string | undefined]>([
    ['of the size that the image is to have: that of the artifact', '10Gi', undefined],
    ['between the two: that of the artifact, which CDI clones as it is', '15Gi', undefined],
    ['larger than the artifact', '24Gi', '24Gi'],
  ])('of an image that is to become smaller, %s', (_what, size, expected) => {
    const image = anImage({ ...QUEUED, revision: 'next', artifact: { ...ARTIFACT, restoreSize: '20Gi' } })
    const { spec } = wanted({ ...diskSize(size), image }, 'DataVolume')
    expect(spec.storage.resources).toEqual(expected && { requests: { storage: expected } })
  })

  it.each(['Block', 'Filesystem', undefined])('has the volume mode of the artifact: %s', (volumeMode) => {
    expect(wanted(artifact({ volumeMode }), 'DataVolume').spec.storage.volumeMode).toBe(volumeMode)
  })

  it.each<[string, unknown, VMDiskImageStatus['defaults'], string | undefined]>([
    ['of the image', TEMPLATE, { storageClass: 'slow' }, 'fast'],
    ['that was the default when the image was made', { url: 'x' }, { storageClass: 'slow' }, 'slow'],
    ['that the cluster has as its default', { url: 'x' }, undefined, undefined],
    ['that the cluster has as its default, where the image is not readable', null, {}, undefined],
  ])('is of the storage class %s', (_what, spec, defaults, expected) => {
    const image = anImage({ ...PUBLISHED, defaults }, {}, spec)
    expect(wanted({ image }, 'DataVolume').spec.storage.storageClassName).toBe(expected)
  })

  it('is cloned from the claim where that is the artifact', () => {
    const overrides = artifact({ kind: 'PersistentVolumeClaim' })
    expect(wanted(overrides, 'DataVolume').spec.source).toEqual({ pvc: { namespace: 'farm', name: 'golden-1a2b3c4d' } })
    expect(planOf(overrides).status.message).toBe(
      'the root disk is cloned from PersistentVolumeClaim farm/golden-1a2b3c4d',
    )
  })

  it('is made once, with the Secret, and before any machine', () => {
    const { apply, status, wake } = planOf({})
    expect(apply.map(({ kind }) => kind)).toEqual(['Secret', 'DataVolume'])
    expect(status).toMatchObject({
      clone: { name: 'vm-root', sourceRevision: '1a2b3c4d' },
      provisioningSince: '2026-01-01T00:00:00.000Z',
    })
    expect(wake?.afterMs).toBe(30 * MINUTE)
    expect(planOf({ clone: aDisk(DISK.new), secret: secretOf() }).apply).toEqual([])
  })
})

describe('the Secret', () => {
  it('has what the guest is told, and a hash of it for those who see no data', () => {
    const { cloudInit } = aWorld()
    const secret = wanted({}, 'Secret')
    if (cloudInit.kind !== 'rendered') throw new Error('nothing is rendered')
    expect(secret).toMatchObject({ type: 'Opaque', stringData: cloudInit.data })
    expect(secret.metadata).toMatchObject({
      name: 'vm-cloudinit',
      namespace: 'team',
      annotations: { 'pelotech.ot/cloud-init': cloudInitHash(cloudInit.data) },
      ownerReferences: [OWNER],
    })
    expect(secret.stringData.userdata).toContain(PASSWORD)
  })

  it('is the only place of a password', () => {
    const walk = new Walk({ spec: { users: REFERRING } })
    const seen: string[] = []
    const look = () => {
      const { apply, ...plan } = walk.plan()
      seen.push(JSON.stringify([plan, apply.filter(({ kind }) => kind !== 'Secret'), walk.world.machine]))
    }
    for (const act of [() => walk.settle(), () => walk.disk(DISK.succeeded), () => walk.start()]) {
      look()
      act()
    }
    look()
    expect(seen).toHaveLength(4)
    expect(seen.filter((text) => text.includes(PASSWORD))).toEqual([])
  })

  it.each<[string, WorldOverrides]>([
    ['is missing while the disk is made', { clone: aDisk(DISK.cloning) }],
    ['is missing when the disk has its claim', { clone: aDisk(DISK.cloning), claim: aClaim() }],
    ['is missing when the disk is complete', { clone: aDisk(), claim: aClaim() }],
    ['is missing, and the disk is a claim alone', { claim: aClaim() }],
    ['holds something else', { clone: aDisk(DISK.cloning), secret: aSecret(NO_PASSWORD) }],
    ['has lost its hash', { clone: aDisk(DISK.cloning), secret: aSecret(undefined, { annotations: {} }) }],
  ])('that %s is written, before there is any machine', (_what, overrides) => {
    expect(planOf(overrides).apply.map(({ kind }) => kind)).toEqual(['Secret'])
  })

  it('that is as it should be is not written', () => {
    expect(planOf({ clone: aDisk(DISK.cloning), secret: secretOf() })).toMatchObject({ apply: [] })
  })
})

describe('the machine', () => {
  it('is KubeVirt’s, always running, with our disks, networks and identity', () => {
    const { metadata, spec } = wanted(atStart(), 'VirtualMachine')
    const { cloudInit } = aWorld()
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
    const uuid = (overrides: WorldOverrides) =>
      wanted(atStart(overrides), 'VirtualMachine').spec.template.spec.domain.firmware.uuid
    expect(uuid({})).toBe(uuid({ spec: { resources: { cpu: '4', memory: '8Gi' } } }))
    expect(uuid({})).not.toBe(uuid({ claim: { ...aClaim(), metadata: { ...aClaim().metadata, uid: 'another' } } }))
    expect(uuid({})).toBe(uuid({ clone: undefined }))
    expect(uuid({})).not.toBe(uuid({ metadata: { uid: 'another' } }))
  })

  it.each<[string, WorldOverrides]>([
    ['the disk', {}],
    ['the claim of the disk', { clone: aDisk(DISK.scheduled), secret: secretOf() }],
    ['the claim of a disk that is said to be complete', { clone: aDisk(), secret: secretOf() }],
    ['the Secret', { clone: aDisk(), claim: aClaim() }],
  ])('is not made before %s', (_what, overrides) => {
    expect(wanted(overrides, 'VirtualMachine')).toBeUndefined()
  })

  it.each<[string, WorldOverrides]>([
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
    const walk = new Walk().set(change).settle()
    expect([walk.stand, walk.message]).toEqual([stand, expect.stringContaining(text)])
    expect(walk.log.filter((line) => /^(apply|delete)/.test(line))).toEqual([])
    expect(walk.plan().wake).toBeUndefined()
    expect(walk.told).toEqual([`Warning ${stand.split('/')[1]}`])
    const { conflict: none, leaving, hasDataVolumes, hasKubeVirt, cloudInit } = aWorld()
    walk.set({ conflict: none, leaving, hasDataVolumes, hasKubeVirt, cloudInit })
    expect(walk.deploy().stand).toBe('Ready/Running')
  })

  it('a foreign object that is being deleted is waited for without an alarm, however long that takes', () => {
    const walk = new Walk().set({ leaving: 'DataVolume vm-root' }).settle()
    for (const ms of [0, 10 * HOUR]) {
      expect(walk.after(ms).stand).toBe('Provisioning/NamesakeTerminating')
      expect(walk.message).toBe(
        'DataVolume vm-root has a name that the virtual machine needs, belongs to somebody else, and is being deleted: the virtual machine goes on when that is gone; where it stays, see its finalizers',
      )
    }
    expect([walk.log.filter((line) => /^(apply|delete)/.test(line)), walk.plan().wake]).toEqual([[], undefined])
    expect(walk.told).toEqual(['Normal NamesakeTerminating'])
    expect(walk.set({ leaving: undefined }).deploy().stand).toBe('Ready/Running')
  })

  it.each<[string, Partial<MachineWorld>]>([
    ['a foreign object', { conflict }],
    ['one that is being deleted', { leaving: conflict }],
    ['no CDI', { hasDataVolumes: false }],
    ['no KubeVirt', { hasKubeVirt: false }],
  ])('%s: a machine that runs is not touched', (_what, change) => {
    const walk = new Walk().deploy().set(change)
    expect(walk.plan()).toMatchObject({ apply: [], remove: [] })
  })

  it('a child that has lost its ownerReference is told how it gets it back, is left alone, and is taken back', () => {
    const walk = new Walk().deploy()
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
    const walk = new Walk().deploy().set({ cloudInit: NO_PASSWORD })
    const { status, apply, remove } = walk.plan()
    expect([status.phase, status.message]).toEqual(['Ready', `the machine runs; ${NO_PASSWORD.message}`])
    expect([...apply, ...remove]).toEqual([])
  })

  it('a password that is gone before the machine is ready is told with what the machine does', () => {
    const walk = new Walk().settle().disk(DISK.succeeded).set({ cloudInit: NO_PASSWORD })
    const { status, wake } = walk.plan()
    expect(status.message).toBe(`KubeVirt has not looked at the machine yet; ${NO_PASSWORD.message}`)
    expect(wake?.afterMs).toBe(30 * MINUTE)
  })
})
