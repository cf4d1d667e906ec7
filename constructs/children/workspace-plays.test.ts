import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { randomWorkspace } from '../../test/prepared/children/random-workspaces.ts'
import { isHostAddress, isInNetwork, parseCidr } from '../api/ip-address.ts'
import { parseWorkspaceSpec, type WorkspaceSpec, type WorkspaceVm } from '../api/workspace.ts'
import type { WorkspaceSpecInput } from '../authoring/spec-props.ts'
import {
  freePlayAddress,
  hasPlayLogin,
  playImage,
  playJobName,
  playSecrets,
  renderPlayJob,
  renderWorkspacePlays,
  whyNotPlayable,
} from './workspace-plays.ts'

const WORKSPACE = { name: 'lab', uid: 'uid-of-lab' }
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDLVZLjRnEpNRAqAGRPTTzhVl0AySETbwmlAWbvV8Uuk range'
const ROUTER = {
  name: 'router',
  backingVMDiskImage: 'debian',
  resources: { cpu: 1, memory: '1Gi' },
  interfaces: [{ network: 'control', ipAddress: '10.70.0.1/24' }],
  ansible: { roles: { build: [{ role: 'router' }] } },
}
type Vm = NonNullable<WorkspaceSpecInput['vms']>[number]

function lab(vm: Partial<Vm> = {}, more: WorkspaceSpecInput = {}): { spec: WorkspaceSpec; vm: WorkspaceVm } {
  const networks = [{ name: 'control', cidr: '10.70.0.0/24' }]
  const parsed = parseWorkspaceSpec({ networks, vms: [{ ...ROUTER, ...vm }], ...more })
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems))
  const [first] = parsed.spec.vms ?? []
  return { spec: parsed.spec, vm: first as WorkspaceVm }
}

const PLAY = { vm: 'router', play: 'build', of: 'disk-1' } as const
function jobOf(vm: Partial<Vm> = {}, more: WorkspaceSpecInput = {}) {
  const props = { ...lab(vm, more), workspace: WORKSPACE, play: PLAY, image: 'ansible', driver: 'bridge' } as const
  return renderPlayJob({ ...props, address: '10.70.0.254/24' })
}
const withUsers = (...users: NonNullable<Vm['users']>) => ({ users })
const PASSWORD = { name: 'logins', key: 'student' }
const LOGIN = { sshKeySecretRef: { name: 'range-key', key: 'id' } }

describe('the Job of a play', () => {
  it('is suspended, runs once, has no token, and is on the network and the node of its machine', () => {
    const { spec } = jobOf()
    const { template, ...rest } = spec
    expect(rest).toEqual({
      suspend: true,
      backoffLimit: 0,
      completions: 1,
      parallelism: 1,
      ttlSecondsAfterFinished: 86_400,
      activeDeadlineSeconds: 1_800,
      podReplacementPolicy: 'Failed',
    })
    expect(template.spec).toMatchObject({ restartPolicy: 'Never', automountServiceAccountToken: false })
    expect(JSON.stringify(template.spec.affinity)).toContain('"pelotech.ot/node-group":"lab"')
    expect(JSON.parse(template.metadata.annotations['k8s.v1.cni.cncf.io/networks'] ?? '')).toEqual([
      {
        name: 'control-pod',
        namespace: 'lab',
        ips: ['10.70.0.254/24'],
        mac: expect.stringMatching(/^02(:[0-9a-f]{2}){5}$/),
        interface: 'net1',
      },
    ])
    expect(template.spec.volumes.map(({ name }) => name)).toEqual(['lab', 'plays'])
  })

  it('has other names for other disks, starts and requests, each at most 63 characters', () => {
    const plays = [PLAY, { ...PLAY, of: 'disk-2' }, { ...PLAY, request: 'a' }, { ...PLAY, vm: 'v'.repeat(63) }]
    const names = plays.map(playJobName)
    expect(new Set(names).size).toBe(names.length)
    for (const name of names) expect(name).toMatch(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/)
  })

  it.each<[string, Partial<Vm>, WorkspaceSpecInput, { readonly user?: string; readonly secrets?: string[] }]>([
    ['nothing', {}, {}, {}],
    [
      'the key of the lab, for the first user with a public one, whose password is that of sudo',
      withUsers({ name: 'other' }, { name: 'demo user', ssh_authorized_keys: [KEY], passwordSecretRef: PASSWORD }),
      { ansible: LOGIN },
      { user: 'demo-user', secrets: ['range-key', 'logins'] },
    ],
    [
      'without a key of the lab, the password of the first user who has one in a Secret',
      withUsers({ name: 'other', ssh_authorized_keys: [KEY] }, { name: 'student', passwordSecretRef: PASSWORD }),
      {},
      { user: 'student', secrets: ['logins'] },
    ],
    [
      'with neither, what the image has, as the first user with a public key',
      withUsers({ name: 'other' }, { name: 'student', ssh_authorized_keys: [KEY] }),
      {},
      { user: 'student' },
    ],
  ])('logs in with %s', (_what, vm, more, { user, secrets = [] }) => {
    const { spec, vm: machine } = lab(vm, more)
    expect(playSecrets(spec, machine)).toEqual(secrets)
    const { data } = renderWorkspacePlays({ workspace: WORKSPACE, spec })
    expect(data['logins.yaml']).toBe(
      user === undefined ? 'all:\n  hosts: {}\n' : `all:\n  hosts:\n    router:\n      ansible_user: ${user}\n`,
    )
    const { volumes, containers } = jobOf(vm, more).spec.template.spec
    const mounted = volumes.flatMap(({ projected }) => projected?.sources ?? []).map(({ secret }) => secret.name)
    expect(mounted).toEqual(secrets)
    expect(JSON.stringify(containers)).toContain(`{"name":"ANSIBLE_REMOTE_USER","value":"${user ?? 'root'}"}`)
  })

  it('is not made where Ansible finds no machine, or none that listens', () => {
    const pod = { interfaces: [{ network: 'pod' }] }
    const attached = { networks: [{ name: 'control', cidr: '10.70.0.0/24', attach: 'vlans/vlan-1' }] }
    const whys = [lab(), lab(pod), lab({}, attached), lab({ os: 'windows' })].map(({ spec, vm }) =>
      whyNotPlayable(spec, vm),
    )
    expect(whys).toEqual([
      undefined,
      expect.stringMatching(/^it has no static address/),
      expect.stringMatching(/^its first address is in network control, which is of the cluster/),
      expect.stringMatching(/^it is a Windows machine/),
    ])
  })

  it('finds a login where a user has a key or a password in a Secret, or user data may make one', () => {
    const has = [
      { users: [] },
      { users: [{ name: 'demo', plain_text_passwd: 'x', lock_passwd: false }] },
      { users: [{ name: 'demo', ssh_authorized_keys: ['ssh-ed25519 AAAAa a'] }] },
      { users: [{ name: 'demo', passwordSecretRef: { name: 'logins', key: 'password' } }] },
      { users: [], userData: '#!/bin/sh' },
    ].map((fields) => hasPlayLogin(lab(fields).vm))
    expect(has).toEqual([false, false, true, true, true])
  })

  it('is of the image of the lab, or else of the policy, unless a container mounts the plays', () => {
    const mounts = (name: string) => ({
      volumes: [{ name: 'data', size: '1Gi' }],
      containerClusters: [
        { name: 'c', containers: [{ name: 'c', image: 'c', volumeMounts: [{ name, containerPath: '/a' }] }] },
      ],
    })
    const policy = { ansibleImage: 'of-policy' }
    const images = [{}, mounts('data'), mounts('ansible'), { ...mounts('ansible'), ansible: { image: 'of-lab' } }].map(
      (more) => playImage(lab({}, more).spec, policy),
    )
    expect(images).toEqual(['of-policy', 'of-policy', undefined, 'of-lab'])
  })
})

describe('the address of a play', () => {
  it('is the last that nobody in the lab has or names', () => {
    const { spec, vm } = lab(
      { interfaces: [{ network: 'control', ipAddress: '10.70.0.1/28' }] },
      {
        networks: [{ name: 'control', cidr: '10.70.0.0/28', rangeGateway: '10.70.0.14' }],
      },
    )
    const taken = new Set<string>()
    const given: (string | undefined)[] = []
    for (let at = 0; at < 13; at += 1) {
      const address = freePlayAddress(spec, vm, taken)
      given.push(address)
      if (address !== undefined) taken.add(address)
    }
    expect([given[0], given[11], given[12]]).toEqual(['10.70.0.13/28', '10.70.0.2/28', undefined])
  })

  it('is one of the network of the machine that no member of any lab has', () => {
    fc.assert(
      fc.property(randomWorkspace, ({ spec }) => {
        for (const vm of spec.vms ?? []) {
          const address = parseCidr(freePlayAddress(spec, vm) ?? '')
          const own = parseCidr(
            vm.interfaces?.map((nic) => nic.ipAddress ?? nic.ipAddresses?.[0] ?? '').find((one) => one !== '') ?? '',
          )
          if (address === undefined || own === undefined) continue
          expect([isHostAddress(address), isInNetwork(address, own), address.length]).toEqual([true, true, own.length])
          const members = [...(spec.vms ?? []), ...(spec.containerClusters ?? [])]
          const used = members.flatMap(({ interfaces = [] }) =>
            interfaces.flatMap((nic) => nic.ipAddresses ?? nic.ipAddress ?? []),
          )
          expect(used.some((one) => parseCidr(one)?.value === address.value)).toBe(false)
        }
      }),
      { numRuns: 100 },
    )
  })
})
