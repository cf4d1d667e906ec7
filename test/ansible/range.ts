import { join } from 'node:path'
import {
  freePlayAddress,
  type Play,
  renderPlayJob,
  renderWorkspaceAnsible,
  renderWorkspacePlays,
  type WorkspaceSpec,
  type WorkspaceVm,
} from '@open-terrain/constructs/operator'
import { playReportOf } from '../../operator/controllers/workspace/decide/play-report.ts'
import { Host } from '../lab-networks/namespaces.ts'
import { type Played, type PlayPod, playPod } from './played-job.ts'
import { SystemProcess } from './system.ts'

/** Of the machine in examples/labs/played-router.yaml. */
const ADDRESS = '10.72.0.1'
export const POD_ADDRESS = '10.72.0.254'
const WORKSPACE = { name: 'lab', uid: 'uid' }
/** Of user `ansible`. */
export const PASSWORD = 'correct horse'
const ROLES = [join(import.meta.dirname, '../../examples/ansible/roles'), join(import.meta.dirname, 'roles')] as const
const FORWARDING = '/proc/sys/net/ipv4/ip_forward'
type Role = string | { readonly role: string; readonly variables?: Readonly<Record<string, unknown>> }

export interface PlayedLab {
  readonly build?: readonly Role[]
  /** User of the machine who logs in. @default `keyed`, with the key */
  readonly user?: string
  readonly password?: string
  /** Address of the machine. @default that of the machine which runs */
  readonly address?: string
  /** Seconds for which it waits for the machine. @default 60 */
  readonly waits?: number
}

/** A lab with one machine, whose logins are in Secret `login`. */
function specOf({ build = [], address = ADDRESS, user = 'keyed', password }: PlayedLab): WorkspaceSpec {
  const roles = build.map((one) => (typeof one === 'string' ? { role: one } : one)) as never
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
    ansible: { roles: { build: roles } },
  }
  return {
    networks: [{ name: 'control', cidr: '10.72.0.0/24' }],
    vms: [vm],
    ...(password === undefined && { ansible: { sshKeySecretRef: { name: 'login', key: 'id_ed25519' } } }),
  }
}

/** The pod of the Job that the operator makes for the first machine, which waits for as many seconds. */
function podOf(spec: WorkspaceSpec, play: Play, seconds: number): PlayPod {
  const [vm] = spec.vms ?? []
  if (vm === undefined) throw new Error('the lab has no machine')
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
  const args = [...containers[0].args, '--extra-vars', `ot_wait_seconds=${seconds}`]
  return { containers: [{ ...containers[0], args }], volumes }
}

interface Further {
  /** In the Secrets. @default that of `ansible` */
  readonly password?: string | undefined
  /** Seconds for which it waits for the machine. @default 60 */
  readonly waits?: number | undefined
  /** Called when it waits for the machine. */
  readonly meanwhile?: () => Promise<void>
}

/** A machine of a lab with an ssh server, and a place on its network from which its roles are played. Users: `keyed` with a key, `ansible` with a password. */
export class AnsibleRange {
  readonly #root: string
  readonly #pod: Host
  readonly #machine: Host
  #keys = { own: '', authorized: '' }
  #server: SystemProcess | undefined

  private constructor(root: string, pod: Host, machine: Host) {
    this.#root = root
    this.#pod = pod
    this.#machine = machine
  }

  /** @param root file system with Ansible, see `resolveAnsible` */
  static async make(root: string): Promise<AnsibleRange> {
    const range = new AnsibleRange(root, await Host.make('pod'), await Host.make('machine'))
    await range.#pod.connect('net1', range.#machine, 'net1')
    await range.#pod.run(`ip addr add ${POD_ADDRESS}/24 dev net1`)
    await range.#machine.run(`ip addr add ${ADDRESS}/24 dev net1`)
    await range.#makeKeys()
    await range.startServer()
    return range
  }

  async #makeKeys(): Promise<void> {
    const command = 'ssh-keygen -q -t ed25519 -N "" -f /tmp/key && cat /tmp/key /tmp/key.pub'
    const maker = await SystemProcess.start({ root: this.#root, host: this.#pod }, ['sh', '-c', command])
    await maker.ended
    await maker.remove()
    const [own = '', authorized = ''] = maker.log.split(/(?<=-----END OPENSSH PRIVATE KEY-----\n)/)
    this.#keys = { own, authorized: authorized.trim() }
  }

  async startServer(): Promise<void> {
    const mounts = { '/machine.sh': join(import.meta.dirname, 'machine.sh') }
    const command = ['sh', '/machine.sh', PASSWORD, this.#keys.authorized]
    this.#server = await SystemProcess.start({ root: this.#root, host: this.#machine, mounts }, command)
    await this.#server.says('Server listening')
  }

  async stopServer(): Promise<void> {
    await this.#server?.remove()
    this.#server = undefined
  }

  async isForwarding(): Promise<boolean> {
    return (await this.#machine.exec(['cat', FORWARDING])).trim() === '1'
  }

  async stopForwarding(): Promise<void> {
    await this.#machine.run('sysctl -qw net.ipv4.ip_forward=0')
  }

  /** Plays the roles of the first machine of a lab. */
  async play(
    spec: WorkspaceSpec,
    play: Play,
    { password = PASSWORD, waits = 60, meanwhile }: Further = {},
  ): Promise<Played> {
    const maps = [renderWorkspaceAnsible, renderWorkspacePlays].map((render) => render({ workspace: WORKSPACE, spec }))
    return await playPod(
      podOf(spec, play, waits),
      {
        root: this.#root,
        host: this.#pod,
        configMaps: Object.fromEntries(maps.map(({ metadata, data }) => [metadata.name, data])),
        secrets: { login: { id_ed25519: this.#keys.own, password }, logins: { ansible: password } },
        roles: ROLES,
      },
      async (process) => {
        if (meanwhile === undefined) return
        await process.says('TASK [Wait until')
        await meanwhile()
      },
    )
  }

  /** Returns what people are told of the end of its roles for `build`, whether the plugin wrote it, and the log. */
  async report(lab: PlayedLab): Promise<{ readonly told: string; readonly isWritten: boolean; readonly log: string }> {
    const { exitCode, message, log } = await this.play(specOf(lab), 'build', lab)
    const told = exitCode === 0 ? 'nothing' : playReportOf(message, exitCode)
    return { told, isWritten: message.startsWith('{"what": '), log }
  }

  async remove(): Promise<void> {
    await this.stopServer()
    await this.#pod.remove()
    await this.#machine.remove()
  }
}
