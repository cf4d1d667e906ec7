import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeVirtVirtualMachineSpec } from '@open-terrain/constructs/operator'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { type GuestDisk, resolveGuestDisk } from '../../sandbox/guest/disk.ts'
import { Guest } from '../../sandbox/guest/guest.ts'
import { LabWires, type Login, overSsh } from '../../sandbox/guest/lab-wires.ts'
import { type GuestTools, hasKvm, resolveGuestTools } from '../../sandbox/guest/tools.ts'
import type { Enclave } from '../../sandbox/node/enclave.ts'
import { OF_GUESTS, resolveGoCommands } from '../../sandbox/node/go-commands.ts'

/** A start this long is a hang, on a machine of any speed, even if its CPUs are emulated. */
const HANGS_AFTER_MS = 20 * 60_000

/** KubeVirt's machine and the Secret with its cloud-init data, as they are stored. */
export interface Rendered {
  readonly machine: KubeObject & { readonly spec: KubeVirtVirtualMachineSpec }
  /** Values in base64. */
  readonly secret: KubeObject & { readonly data?: Readonly<Record<string, string>> }
}

interface Parts {
  readonly tools: GuestTools
  readonly system: GuestDisk
  readonly cloudInitDisk: string
  readonly folder: string
  readonly wires: LabWires
}

/** A guest that is given what the operator renders, as KubeVirt gives it, on the networks of a lab. */
export class RenderedGuest implements AsyncDisposable {
  readonly wires: LabWires
  readonly #parts: Parts
  readonly #children: ChildProcess[] = []
  #guest: Guest | undefined

  private constructor(parts: Parts) {
    this.#parts = parts
    this.wires = parts.wires
  }

  /**
   * @param within folder in which it has one of its own
   * @param neighbours the address of the neighbour on each network, in CIDR form, in the order of the machine's interfaces
   */
  static async prepare(within: string, neighbours: readonly string[]): Promise<RenderedGuest> {
    const report = (line: string) => process.stderr.write(`${line}\n`)
    const tools = await resolveGuestTools(report)
    const folder = await mkdtemp(join(within, 'guest-'))
    await writeFile(join(folder, 'askpass'), '#!/bin/sh\necho "$PASSWORD"\n')
    await chmod(join(folder, 'askpass'), 0o700)
    return new RenderedGuest({
      tools,
      system: await resolveGuestDisk(tools, report),
      cloudInitDisk: (await resolveGoCommands(report, OF_GUESTS))('cloud-init-disk'),
      folder,
      wires: await LabWires.start(neighbours),
    })
  }

  /** Returns the public key of a pair whose private key `login` uses as `key`. */
  async newKey(): Promise<{ readonly key: string; readonly publicKey: string }> {
    const { tools, folder } = this.#parts
    const key = join(folder, 'key')
    await run(tools.command('ssh-keygen'), ['-q', '-t', 'ed25519', '-N', '', '-C', 'lab', '-f', key], tools.env)
    const publicKey = await run(tools.command('ssh-keygen'), ['-y', '-f', key], tools.env)
    return { key, publicKey: publicKey.trim() }
  }

  /** A qcow2 file with the system that it starts from. */
  get diskFile(): string {
    return this.#parts.system.file
  }

  /** Answers every name with one address, on an address of the neighbour on the first network. */
  async serveNames(listen: string, answer: string): Promise<void> {
    const server = join(import.meta.dirname, '../../sandbox/guest/name-server.ts')
    const [command, ...args] = [...this.#first().networkCommand(), process.execPath, server, listen, answer]
    const child = spawn(command as string, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#children.push(child)
    await once(child.stdout, 'data')
  }

  /** Starts it. @param rootDisk file of the root disk */
  async start({ machine, secret }: Rendered, rootDisk: string): Promise<void> {
    const { tools, folder, system, wires } = this.#parts
    const { spec } = machine
    const names = spec.template.spec.domain.devices.interfaces.map(({ name }) => name)
    this.#guest = Guest.start({
      ...{ tools, folder, spec, system },
      enclave: wires.enclave,
      parts: {
        disks: {
          rootdisk: { file: rootDisk },
          cloudinit: { file: await this.#cloudInitDisk({ machine, secret }) },
        },
        hasKvm: await hasKvm(),
        links: Object.fromEntries(wires.wires.map(({ link }, at) => [names[at], link])),
      },
    })
  }

  async shutDown(): Promise<void> {
    await this.#guest?.shutDown()
  }

  /** Runs a script in it, from the neighbour on the first network. */
  async run(login: Login, script: string): Promise<string> {
    const { tools, folder } = this.#parts
    return await overSsh(this.#first(), { ssh: tools.command('ssh'), env: tools.env, folder }, login, script)
  }

  /** Resolves when the login works, and cloud-init has done its work. */
  async untilReady(login: Login): Promise<void> {
    const deadline = performance.now() + HANGS_AFTER_MS
    for (;;) {
      const problem = await this.run(login, 'cloud-init status --wait >/dev/null').then(
        () => undefined,
        (error: Error) => error.message,
      )
      if (problem === undefined) return
      if (this.#guest?.isRunning !== true || performance.now() > deadline) {
        throw new Error(`nobody can log in to the guest: ${problem}\n${await this.#guest?.lastWords()}`)
      }
      await sleep(500)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) child.stdin?.end()
    await this.wires[Symbol.asyncDispose]()
    await rm(this.#parts.folder, { recursive: true, force: true })
  }

  #first(): Enclave {
    const [wire] = this.wires.wires
    if (wire === undefined) throw new Error('there is no network to log in over')
    return wire.neighbour
  }

  /** The Secret as files, as KubeVirt mounts it beside QEMU, and the disk that KubeVirt's own code makes of it. */
  async #cloudInitDisk({ machine, secret }: Rendered): Promise<string> {
    const { tools, folder, cloudInitDisk } = this.#parts
    const secrets = join(folder, 'secrets')
    await rm(secrets, { recursive: true, force: true })
    for (const { name, cloudInitNoCloud } of machine.spec.template.spec.volumes) {
      if (cloudInitNoCloud === undefined) continue
      const wanted = [
        [cloudInitNoCloud.secretRef, 'userdata'],
        [cloudInitNoCloud.networkDataSecretRef, 'networkdata'],
      ] as const
      await mkdir(join(secrets, name), { recursive: true })
      for (const [reference, key] of wanted) {
        if (reference?.name !== secret.metadata.name) continue
        await writeFile(join(secrets, name, key), Buffer.from(secret.data?.[key] ?? '', 'base64'))
      }
    }
    const target = join(folder, 'cloud-init')
    return (await run(cloudInitDisk, [secrets, target], tools.env, JSON.stringify(machine))).trim()
  }
}

/** Resolves with the output of a command. */
function run(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  input = '',
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(command, args, { env }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout)
      else reject(new Error(`${command}: ${stderr}`, { cause: error }))
    })
    // A command that reads nothing may have ended.
    child.stdin?.on('error', () => undefined).end(input)
  })
}
