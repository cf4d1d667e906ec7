import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { KubeVirtVirtualMachineSpec } from '@open-terrain/constructs/operator'
import { tailOf } from '../control-plane/output-tail.ts'
import type { Enclave, Inmate } from '../node/enclave.ts'
import type { GuestDisk } from './disk.ts'
import { type MachineParts, machineArguments } from './machine-arguments.ts'
import type { GuestTools } from './tools.ts'

/** Without what guards against attacks by way of the CPU: it makes emulation slow, and no stranger is in this guest. */
const KERNEL_OPTIONS = 'root=/dev/vda1 ro console=ttyS0 mitigations=off'

export interface GuestOptions {
  readonly tools: GuestTools
  /** Where its links are. It ends with it. */
  readonly enclave: Enclave
  /** For its sockets and its log. */
  readonly folder: string
  readonly spec: KubeVirtVirtualMachineSpec
  readonly parts: MachineParts
  /** Its kernel is started without a boot loader. */
  readonly system: Pick<GuestDisk, 'kernel' | 'initrd'>
}

/** A guest that QEMU runs. */
export class Guest {
  readonly #process: Inmate
  readonly #control: string
  readonly #console: string
  readonly #log: string

  private constructor(
    process: Inmate,
    files: { readonly control: string; readonly console: string; readonly log: string },
  ) {
    this.#process = process
    this.#control = files.control
    this.#console = files.console
    this.#log = files.log
  }

  static start({ tools, enclave, folder, spec, parts, system }: GuestOptions): Guest {
    const [control, console, log] = ['control.sock', 'console.log', 'qemu.log'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ]
    const command = [
      tools.command('qemu-system-x86_64'),
      ...tools.firmware.flatMap((path) => ['-L', path]),
      ...machineArguments(spec, parts),
      ...['-kernel', system.kernel, '-initrd', system.initrd, '-append', KERNEL_OPTIONS],
      ...['-serial', `file:${console}`, '-qmp', `unix:${control},server=on,wait=off`],
    ]
    return new Guest(enclave.start(command, log, { env: tools.env }), { control, console, log })
  }

  get isRunning(): boolean {
    return this.#process.isRunning
  }

  /** The end of what QEMU said, and of what the guest wrote to its console. */
  async lastWords(): Promise<string> {
    const texts = [this.#log, this.#console].map((file) => readFile(file, 'utf8').catch(() => ''))
    return tailOf((await Promise.all(texts)).join('\n'))
  }

  /** Presses its power button, as KubeVirt does, and waits until it is off. */
  async shutDown(): Promise<void> {
    const socket = connect(this.#control)
    await once(socket, 'connect')
    socket.on('error', () => undefined).resume()
    for (const execute of ['qmp_capabilities', 'system_powerdown']) socket.write(`${JSON.stringify({ execute })}\n`)
    await this.#process.ended
    socket.destroy()
  }
}
