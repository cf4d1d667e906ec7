import { join } from 'node:path'
import {
  freePlayAddress,
  type Play,
  renderPlayJob,
  renderWorkspaceAnsible,
  renderWorkspacePlays,
  type WorkspaceSpec,
  type WorkspaceVm,
} from '@open-terrain/constructs'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { playReportOf } from '../../operator/controllers/workspace/decide/play-report.ts'
import { Host } from '../lab-networks/namespaces.ts'
import { type Played, type PlayPod, playPod } from './played-job.ts'
import { SystemProcess } from './system.ts'

const ansible = inject('ansible')
/** Of the machine, and of the pod that plays. */
const [ADDRESS, POD_ADDRESS] = ['10.70.0.1', '10.70.0.254']
const WORKSPACE = { name: 'lab', uid: 'uid' }
const PASSWORD = 'correct horse'
const ROLES = [join(import.meta.dirname, '../../examples/ansible/roles'), join(import.meta.dirname, 'roles')] as const
const FORWARDING = '/proc/sys/net/ipv4/ip_forward'
const IS_ROUTING = { name: 'forwarding', command: `grep -x 1 ${FORWARDING}` }
/** Forwarding is on where the role `router` was played. */
const CHECKS = { role: 'checks', variables: { checks: [IS_ROUTING] } }

type Role = string | { readonly role: string; readonly variables?: Readonly<Record<string, unknown>> }

interface Lab {
  readonly build?: readonly Role[]
  readonly deploy?: readonly Role[]
  /** User of the machine who logs in. @default `keyed`, with the key */
  readonly user?: string
  readonly password?: string
  /** Address of the machine. @default that of the machine which runs */
  readonly address?: string
  /** Seconds for which it waits for the machine. @default 60 */
  readonly waits?: number
}

/** The spec of a lab with one machine, whose logins are in Secret `login`. */
function specOf({ build = [], deploy = [], address = ADDRESS, user = 'keyed', password }: Lab) {
  const roles = (all: readonly Role[]) => all.map((one) => (typeof one === 'string' ? { role: one } : one)) as never
  const login =
    password === undefined
      ? { ssh_authorized_keys: ['ssh-ed25519 AAAA'] }
      : { passwordSecretRef: { name: 'login', key: 'password' } }
  const vm: WorkspaceVm = {
    name: 'router',
    backingVMDiskImage: 'debian-12',
    resources: { cpu: '1', memory: '1Gi' },
    interfaces: [{ network: 'control', ipAddress: `${address}/24` }],
    users: [{ name: user, ...login }],
    ansible: { roles: { build: roles(build), deploy: roles(deploy) } },
  }
  const spec: WorkspaceSpec = {
    networks: [{ name: 'control', cidr: '10.70.0.0/24' }],
    vms: [vm],
    ...(password === undefined && { ansible: { sshKeySecretRef: { name: 'login', key: 'id_ed25519' } } }),
  }
  return { vm, spec }
}

/** The pod of the Job that the operator makes, which waits for a shorter time. */
function podOf(lab: Lab, play: Play): PlayPod {
  const { vm, spec } = specOf(lab)
  const job = renderPlayJob({
    workspace: WORKSPACE,
    spec,
    vm,
    play: { vm: vm.name, play, of: 'uid-of-disk' },
    image: 'registry.example.com/ansible:1',
    driver: 'bridge',
    address: freePlayAddress(spec, vm) ?? '',
  })
  const { containers, volumes } = job.spec.template.spec as unknown as PlayPod
  const args = [...containers[0].args, '--extra-vars', `ot_wait_seconds=${lab.waits ?? 60}`]
  return { containers: [{ ...containers[0], args }], volumes }
}

describe.skipIf(ansible === undefined)('roles of a machine', () => {
  let range: { readonly root: string; readonly control: Host; readonly router: Host }
  let server: SystemProcess | undefined
  let keys = { own: '', authorized: '' }

  async function startServer(): Promise<void> {
    const { root, router } = range
    const command = ['sh', '/machine.sh', PASSWORD, keys.authorized]
    const mounts = { '/machine.sh': join(import.meta.dirname, 'machine.sh') }
    server = await SystemProcess.start({ root, host: router, mounts }, command)
    await server.says('Server listening')
  }

  async function stopServer(): Promise<void> {
    await server?.remove()
    server = undefined
  }

  async function play(lab: Lab, which: Play, during?: () => Promise<void>): Promise<Played> {
    const props = { workspace: WORKSPACE, spec: specOf(lab).spec }
    const maps = [renderWorkspaceAnsible(props), renderWorkspacePlays(props)]
    return await playPod(
      podOf(lab, which),
      {
        root: range.root,
        host: range.control,
        configMaps: Object.fromEntries(maps.map(({ metadata, data }) => [metadata.name, data])),
        secrets: { login: { id_ed25519: keys.own, password: lab.password ?? '' } },
        roles: ROLES,
      },
      during === undefined
        ? undefined
        : async (process) => {
            await process.says('TASK [Wait until')
            await during()
          },
    )
  }

  async function forwarding(): Promise<string> {
    return (await range.router.exec(['cat', FORWARDING])).trim()
  }

  beforeAll(async () => {
    if (ansible === undefined) return
    if (typeof ansible === 'string') throw new Error(ansible)
    const [control, router] = [await Host.make('control'), await Host.make('router')]
    range = { ...ansible, control, router }
    await control.connect('net1', router, 'net1')
    await control.run(`ip addr add ${POD_ADDRESS}/24 dev net1`)
    await router.run(`ip addr add ${ADDRESS}/24 dev net1\nsysctl -qw net.ipv4.ip_forward=0`)
    const keygen = 'ssh-keygen -q -t ed25519 -N "" -f /tmp/key && cat /tmp/key /tmp/key.pub'
    const maker = await SystemProcess.start({ ...ansible, host: control }, ['sh', '-c', keygen])
    await maker.ended
    const [own = '', authorized = ''] = maker.log.split(/(?<=-----END OPENSSH PRIVATE KEY-----\n)/)
    await maker.remove()
    keys = { own, authorized: authorized.trim() }
  })

  afterAll(async () => {
    await stopServer()
    await range?.control.remove()
    await range?.router.remove()
  })

  it('are played with a key on a machine that starts later, and forward its packets', async () => {
    const lab = { build: ['router'], deploy: [CHECKS] }
    expect(await forwarding()).toBe('0')
    const built = await play(lab, 'build', startServer)
    expect(built, built.log).toMatchObject({ exitCode: 0, message: '' })
    expect(await forwarding()).toBe('1')
    const deployed = await play(lab, 'deploy')
    expect(deployed, deployed.log).toMatchObject({ exitCode: 0, message: '' })
  })

  it('are played with a password, which is also that for sudo', async () => {
    const off = { role: 'router', variables: { forward: false } }
    const played = await play({ build: [off], user: 'ansible', password: PASSWORD }, 'build')
    expect(played, played.log).toMatchObject({ exitCode: 0, message: '' })
    expect(await forwarding()).toBe('0')
  })

  it.concurrent.each<[string, Lab, string | RegExp]>([
    ['with failures that are ignored or rescued', { build: ['ignored', 'rescued'] }, 'nothing'],
    [
      'a check that does not hold',
      { build: [CHECKS] },
      'task "checks : Check" failed on router: forwarding is not so: exit code 1',
    ],
    [
      'a task that fails',
      { build: ['ignored', 'rescued', 'failing', 'looping'] },
      'task "failing : Read a file" failed on router: non-zero return code: cat: /nowhere: No such file or directory',
    ],
    [
      'an item of a loop that fails',
      { build: ['looping'] },
      'task "looping : Read files" failed on router: non-zero return code: cat: /nowhere: No such file or directory',
    ],
    [
      'a task that hides its result',
      { build: ['hidden'] },
      'task "hidden : Set a password" failed on router: it says nothing more (no_log hides what a task says)',
    ],
    [
      'a role that is not there',
      { build: ['router', 'nowhere'] },
      /^the role 'nowhere' was not found in \/ot\/lab\/roles:\S+ \(\/ot\/lab\/build.yaml, line \d+\)$/,
    ],
    [
      'a machine that is lost',
      { build: ['lost'] },
      /^task "lost : Come back" did not reach router: .*Connection refused$/,
    ],
    [
      'a machine that does not answer',
      { build: ['router'], address: POD_ADDRESS, waits: 1 },
      /^task "Wait until the machine answers" failed on router: timed out waiting .*Connection refused/,
    ],
    [
      'a wrong password',
      { build: ['router'], user: 'ansible', password: 'wrong', waits: 1 },
      /^task "Wait until the machine answers" failed on router: timed out waiting .*(Permission denied|incorrect password)/,
    ],
    [
      'a missing password for sudo',
      { build: ['router'], user: 'ansible', waits: 1 },
      /^task "Wait until the machine answers" failed on router: timed out waiting .*Missing sudo password$/,
    ],
  ])('end as they are to: %s', async (_what, lab, sentence) => {
    const { exitCode, message, log } = await play(lab, 'build')
    expect(exitCode === 0 ? 'nothing' : playReportOf(message, exitCode), log).toMatch(sentence)
    expect(message.startsWith('{"what": "')).toBe(exitCode !== 0 && !/^the role/.test(playReportOf(message, exitCode)))
  })
})
