import { cloudInitHash, type VMDiskImageStatus } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { MINUTE } from '../../../../test/prepared/runtime/times.ts'
import { aClaim, aDisk, DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import {
  ARTIFACT,
  anImage,
  aSecret,
  KUBEVIRT,
  PASSWORD,
  PUBLISHED,
  QUEUED,
  REFERRING,
  TEMPLATE,
  VM_UID,
} from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { OWNER, planOf, wanted } from '../../../../test/prepared/virtual-machine/machine-plan.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import {
  aMachineWorld,
  type MachineWorldOverrides,
  NO_PASSWORD,
} from '../../../../test/prepared/virtual-machine/machine-world.ts'

const artifact = (more: Partial<typeof ARTIFACT>): MachineWorldOverrides => ({
  image: anImage({ ...PUBLISHED, artifact: { ...ARTIFACT, ...more } }),
})

const diskSize = (size: string | undefined) => ({ spec: { resources: { cpu: '2', memory: '2Gi', diskSize: size } } })

const secretOf = (overrides: MachineWorldOverrides = {}) => aSecret(aMachineWorld(overrides).cloudInit)

describe('the happy path', () => {
  it('writes what the picture says, in its order, and no more', () => {
    const walk = new MachineWalk({ image: undefined }).settle()
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
      // The claim exists.
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
    expect(walk.plan().requeue).toBeUndefined()
  })

  it('is two Events: its beginning and its end', () => {
    expect(new MachineWalk({ image: undefined }).settle().deploy().events).toEqual([
      'Normal ImageCreated',
      'Normal Running',
    ])
    expect(new MachineWalk().settle().deploy().events).toEqual(['Normal Cloning', 'Normal Running'])
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

  // Its artifact has 20Gi, and a revision of 10Gi is queued.
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
    const { apply, status, requeue } = planOf({})
    expect(apply.map(({ kind }) => kind)).toEqual(['Secret', 'DataVolume'])
    expect(status).toMatchObject({
      clone: { name: 'vm-root', sourceRevision: '1a2b3c4d' },
      provisioningSince: '2026-01-01T00:00:00.000Z',
    })
    expect(requeue?.afterMs).toBe(30 * MINUTE)
    expect(planOf({ clone: aDisk(DISK.new), secret: secretOf() }).apply).toEqual([])
  })
})

describe('the Secret', () => {
  it('has what the guest is told, and a hash of it for those who see no data', () => {
    const { cloudInit } = aMachineWorld()
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
    const walk = new MachineWalk({ spec: { users: REFERRING } })
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

  it.each<[string, MachineWorldOverrides]>([
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
