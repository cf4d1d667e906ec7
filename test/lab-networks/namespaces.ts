import { type ExecFileException, execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { Place } from './place.ts'

const run = promisify(execFile)

/** Returns why this machine cannot make network namespaces, or undefined if it can. */
export async function whyNoNamespaces(): Promise<string | undefined> {
  return await whyNotWith(['ip', '-V'], ['true'])
}

/** Returns why this machine cannot make network namespaces with rules, or undefined if it can. */
export async function whyNot(): Promise<string | undefined> {
  return (await whyNoNamespaces()) ?? (await whyNotWith(['nft', '--version'], ['nft', 'add', 'table', 'arp', 't']))
}

/** Looks for a tool, and tries a command in a namespace. */
async function whyNotWith([tool, option]: readonly [string, string], command: readonly string[]) {
  if (process.platform !== 'linux') return 'they need Linux'
  if (process.getuid?.() !== 0) return 'they need root'
  if ((await tried(tool, [option])) !== undefined) return `they need ${tool}`
  const name = `ot-try-${process.pid}`
  const problem =
    (await tried('ip', ['netns', 'add', name])) ?? (await tried('ip', ['netns', 'exec', name, ...command]))
  await tried('ip', ['netns', 'del', name])
  return problem === undefined ? undefined : `this machine refuses: ${problem}`
}

async function tried(command: string, args: readonly string[]): Promise<string | undefined> {
  try {
    await run(command, args)
    return undefined
  } catch (error) {
    return (error as ExecFileException).message
  }
}

/** A machine with network interfaces of its own. All of them are gone with it. */
export class Host extends Place {
  private constructor(name: string) {
    super(name, ['ip', 'netns', 'exec', name])
  }

  static async make(role: string): Promise<Host> {
    const host = new Host(`ot-${role}-${process.pid}`)
    await run('ip', ['netns', 'add', host.name])
    await host.run('ip link set lo up')
    return host
  }

  /** Connects one of its interfaces to one of another host. */
  async connect(device: string, other: Host, otherDevice: string): Promise<void> {
    await run('ip', [
      'link',
      'add',
      device,
      'netns',
      this.name,
      'type',
      'veth',
      'peer',
      'name',
      otherDevice,
      'netns',
      other.name,
    ])
    await this.run(`ip link set ${device} up`)
    await other.run(`ip link set ${otherDevice} up`)
  }

  override async remove(): Promise<void> {
    await super.remove()
    await run('ip', ['netns', 'del', this.name])
  }
}
