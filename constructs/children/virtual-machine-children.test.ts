import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText, cloudInitProps } from '../../test/cloud-init/arbitraries.ts'
import { PROPOSED_VIRTUAL_MACHINE } from '../../test/prepared/api/virtual-machine.ts'
import { cloneSize, renderCloneDataVolume } from './clone-data-volume.ts'
import { cloudInitFingerprint, cloudInitHash, renderCloudInit, renderCloudInitSecret } from './cloud-init-secret.ts'
import { type KubeVirtVirtualMachineProps, renderKubeVirtVirtualMachine } from './kubevirt-virtual-machine.ts'
import { withMacAddresses } from './mac-address.ts'
import { hardwareOf } from './machine-hardware.ts'
import { vmChildNames } from './virtual-machine-child.ts'

const vm = { name: 'demo-workspace-1', namespace: 'ot-demo', uid: '11111111-2222-3333-4444-555555555555' }
const SECRET_UID = '99999999-8888-7777-6666-555555555555'

/** The machine of the proposal, in the network of the proposal's workspace. */
const interfaces = withMacAddresses(vm.uid, vm.name, [
  { network: 'control-net', ipAddress: '10.10.0.161/24' },
  {
    network: 'bridge-inet',
    ipAddress: '4.29.163.6/28',
    routes: [{ to: '0.0.0.0/0', via: '4.29.163.14' }],
    nameservers: ['4.29.163.7'],
  },
  {
    network: 'bridge-edge',
    ipAddress: '172.27.11.11/28',
    routes: [
      { to: '0.0.0.0/0', via: '172.27.11.11' },
      { to: '172.26.0.0/15', via: '172.27.11.12' },
    ],
    nameservers: ['4.29.163.7'],
  },
])

const demo = renderCloudInit({
  hostname: 'demo-vm',
  users: PROPOSED_VIRTUAL_MACHINE.spec.users,
  interfaces,
})

const clone = (more: Partial<Parameters<typeof renderCloneDataVolume>[0]> = {}) =>
  renderCloneDataVolume({
    vm,
    artifact: {
      kind: 'VolumeSnapshot',
      name: 'demo-vmdi-1a2b3c4d',
      restoreSize: '24Gi',
      volumeMode: 'Block',
      accessModes: ['ReadWriteOnce'],
    },
    imageNamespace: 'vmdi-farm',
    storageClass: 'gp3',
    ...more,
  })

const machine = (more: Partial<KubeVirtVirtualMachineProps> = {}) =>
  renderKubeVirtVirtualMachine({
    firmwareUuid: '5d307ca9-b3ef-428c-8861-06e72d69f223',
    vm,
    hostname: 'demo-vm',
    cpu: '2',
    memory: '2Gi',
    interfaces,
    cloudInit: { fingerprint: cloudInitFingerprint(SECRET_UID, cloudInitHash(demo)), hasNetworkData: true },
    ...more,
  })

describe('renderCloneDataVolume', () => {
  it('is, in full', () => {
    expect(clone({ diskSize: '32Gi' })).toMatchSnapshot()
  })

  it('clones a claim where that is the artifact', () => {
    const artifact = { kind: 'PersistentVolumeClaim', name: 'demo-vmdi-1a2b3c4d', volumeMode: 'Filesystem' } as const
    expect(clone({ artifact }).spec).toEqual({
      contentType: 'kubevirt',
      source: { pvc: { namespace: 'vmdi-farm', name: 'demo-vmdi-1a2b3c4d' } },
      storage: { storageClassName: 'gp3', volumeMode: 'Filesystem' },
    })
  })

  it('leaves the binding to the pod of the machine', () => {
    expect(Object.keys(clone().metadata.annotations).join()).not.toContain('bind')
  })
})

describe('cloneSize', () => {
  it.each([
    [undefined, '24Gi', undefined],
    ['18Gi', '24Gi', undefined],
    ['24Gi', '24Gi', undefined],
    ['24576Mi', '24Gi', undefined],
    ['24Gi', '25769803776', undefined],
    ['25769803777', '24Gi', '25769803777'],
    ['32Gi', '24Gi', '32Gi'],
    ['25G', '24Gi', undefined],
    ['32Gi', undefined, '32Gi'],
    ['32Gi', 'unknown', '32Gi'],
    [undefined, undefined, undefined],
  ])('%s from %s is %s', (requested, restoreSize, expected) => {
    expect(cloneSize(requested, restoreSize)).toBe(expected)
  })

  // 24Gi on a file system, with the CDI overhead of 6 %.
  it.each([
    ['18Gi', undefined],
    ['24Gi', undefined],
    ['25Gi', '27316008000'],
    ['27316008000', '27316008000'],
    ['26Gi', '26Gi'],
  ])('%s of an image of 24Gi, whose artifact is larger, is %s', (requested, expected) => {
    expect(cloneSize(requested, '27316008000', '24Gi')).toBe(expected)
  })
})

describe('renderCloudInitSecret', () => {
  it('is, in full', () => {
    expect(renderCloudInitSecret({ vm, data: demo })).toMatchSnapshot()
  })

  it('has no network data without interfaces', () => {
    const data = renderCloudInit({ hostname: 'demo-vm' })
    expect(renderCloudInitSecret({ vm, data }).stringData).toEqual({
      userdata: '#cloud-config\n{"hostname":"demo-vm"}\n',
    })
  })
})

describe('cloudInitFingerprint', () => {
  const of = (data: typeof demo, uid = SECRET_UID) => cloudInitFingerprint(uid, cloudInitHash(data))

  it.each([
    ['user data', { ...demo, userdata: demo.userdata.replace('demo-pwd', 'demo-pwe') }],
    ['network data', { ...demo, networkdata: demo.networkdata?.replace('10.10.0.161', '10.10.0.162') }],
    ['absent network data', { userdata: demo.userdata }],
  ])('changes with the %s', (_what, data) => {
    expect(of(data)).not.toBe(of(demo))
  })

  it('is of no use for guessing passwords without the uid of the Secret', () => {
    expect(of(demo, 'another')).not.toBe(of(demo))
    expect(of(demo)).not.toContain(cloudInitHash(demo))
  })
})

describe('renderKubeVirtVirtualMachine', () => {
  it('is a Windows guest as KubeVirt has them, in full', () => {
    const hardware = hardwareOf({ os: 'windows', firmware: 'uefi-secure', tpm: true })
    const disks = [{ name: 'data', claim: 'data' }]
    expect(machine({ os: 'windows', sysprepSecret: 'answers', hardware, disks }).spec.template.spec).toMatchSnapshot()
  })

  it('is, in full', () => {
    expect(machine({ workspace: 'demo-workspace-1', nodeGroup: 'demo-workspace-1' })).toMatchSnapshot()
  })

  it('is on the pod network without interfaces, with a MAC that stays', () => {
    const { template } = machine({ interfaces: [], cloudInit: { fingerprint: 'f', hasNetworkData: false } }).spec
    expect(template.spec.networks).toEqual([{ name: 'default', pod: {} }])
    const [{ macAddress } = { macAddress: '' }] = withMacAddresses(vm.uid, vm.name, [{ network: 'default' }])
    expect(template.spec.domain.devices.interfaces).toEqual([{ name: 'default', masquerade: {}, macAddress }])
    expect(template.spec.domain.devices.autoattachPodInterface).toBeUndefined()
    expect(template.spec.volumes[1]).toEqual({
      name: 'cloudinit',
      cloudInitNoCloud: { secretRef: { name: 'demo-workspace-1-cloudinit' } },
    })
  })

  it.each([
    ['2', 2, undefined],
    ['2000m', 2, undefined],
    ['500m', 1, '500m'],
    ['1.5', 2, '1500m'],
  ])('cpu %s is %i sockets and a request of %s', (cpu, sockets, request) => {
    const { domain } = machine({ cpu }).spec.template.spec
    expect(domain.cpu).toEqual({ sockets, cores: 1, threads: 1 })
    expect(domain.resources?.requests.cpu).toBe(request)
  })

  it('is bound to no node without a node group', () => {
    const { metadata, spec } = machine({ workspace: 'w'.repeat(90) }).spec.template
    expect(spec.affinity).toBeUndefined()
    expect(metadata.labels['pelotech.ot/workspace']).toHaveLength(63)
  })
})

describe('all children of a machine', () => {
  const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/
  const objectName = fc.stringMatching(
    /^[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?([.][a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?){0,3}$/,
  )

  it('have names that fit, and never those of another machine', () => {
    fc.assert(
      fc.property(fc.uniqueArray(objectName, { minLength: 2, maxLength: 4 }), (names) => {
        const all = names.map(vmChildNames)
        for (const name of all.flatMap((each) => Object.values(each) as string[])) expect(name).toMatch(LABEL)
        for (const kind of ['clone', 'cloudInit', 'machine'] as const) {
          expect(new Set(all.map((each) => each[kind])).size).toBe(names.length)
        }
      }),
      { numRuns: 1_000 },
    )
  })

  it('have the name of their machine as it is where it fits', () => {
    expect(vmChildNames(vm.name)).toEqual({
      clone: 'demo-workspace-1-root',
      cloudInit: 'demo-workspace-1-cloudinit',
      machine: 'demo-workspace-1',
    })
  })

  it('have label values that fit', () => {
    fc.assert(
      fc.property(objectName, (name) => {
        const props = { vm: { ...vm, name }, workspace: name }
        const { metadata, spec } = machine(props)
        const labels = [metadata.labels, spec.template.metadata.labels, clone(props).metadata.labels]
        for (const value of labels.flatMap((each) => Object.values(each))) expect(value.length).toBeLessThanOrEqual(63)
      }),
      { numRuns: 200 },
    )
  })

  it('show a password nowhere but in the data of the Secret', () => {
    fc.assert(
      fc.property(cloudInitProps, anyText, (props, text) => {
        const password = `canary-${text}`
        const users = [...(props.users ?? []), { name: 'canary', plain_text_passwd: password, lock_passwd: false }]
        const data = renderCloudInit({ ...props, users })
        const { stringData, ...secret } = renderCloudInitSecret({ vm, data })
        const cloudInit = { fingerprint: cloudInitFingerprint(SECRET_UID, cloudInitHash(data)), hasNetworkData: true }
        const seen = JSON.stringify([secret, clone(), machine({ cloudInit }), data.networkdata])
        expect(stringData.userdata).toContain('canary-')
        expect(seen).not.toContain('canary-')
      }),
      { numRuns: 200 },
    )
  })
})
