import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { Enclave } from '../node/enclave.ts'

const run = promisify(execFile)

/** A network of a lab: a bridge that guests have a link on, and a neighbour on it with addresses of its own. */
export interface Wire {
  /** Link for a guest. */
  readonly link: string
  readonly neighbour: Enclave
}

/** Networks of labs, in namespaces of their own. The bridges have no addresses, so only the neighbours can be reached. */
export class LabWires implements AsyncDisposable {
  readonly enclave: Enclave
  readonly wires: readonly Wire[]

  private constructor(enclave: Enclave, wires: readonly Wire[]) {
    this.enclave = enclave
    this.wires = wires
  }

  /** @param addresses of the neighbour on each network, in CIDR form */
  static async start(addresses: readonly string[]): Promise<LabWires> {
    const enclave = await Enclave.start()
    const wires: Wire[] = []
    for (const [at, address] of addresses.entries()) {
      const [bridge, link] = [`lab${at}`, `tap${at}`]
      await enclave.script(
        [
          `ip link add ${bridge} type bridge`,
          `ip link set ${bridge} up`,
          `ip tuntap add ${link} mode tap`,
          `ip link set ${link} master ${bridge} up`,
        ].join('\n'),
      )
      const neighbour = await Enclave.start(enclave)
      await neighbour.connect(enclave, bridge, `peer${at}`, address)
      wires.push({ link, neighbour })
    }
    return new LabWires(enclave, wires)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.enclave.stop()
  }
}

export interface Login {
  readonly user: string
  readonly host: string
  readonly key?: string
  readonly password?: string
}

/** Runs a shell script in a guest, over SSH from the neighbour. Throws an error if it cannot log in, or the script fails. */
export async function overSsh(
  neighbour: Enclave,
  {
    ssh,
    env,
    folder,
  }: { readonly ssh: string; readonly env: Readonly<Record<string, string>>; readonly folder: string },
  { user, host, key, password }: Login,
  script: string,
): Promise<string> {
  const options = ['StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'LogLevel=ERROR', 'ConnectTimeout=5']
  const way =
    key === undefined
      ? ['-o', 'PubkeyAuthentication=no', '-o', 'NumberOfPasswordPrompts=1']
      : ['-i', key, '-o', 'BatchMode=yes', '-o', 'IdentitiesOnly=yes']
  const [command, ...args] = [
    ...[...neighbour.networkCommand(), ssh, '-F', 'none', ...options.flatMap((option) => ['-o', option]), ...way],
    ...[`${user}@${host}`, script],
  ]
  const { stdout } = await run(command as string, args, {
    cwd: folder,
    env: { ...env, PASSWORD: password ?? '', SSH_ASKPASS: `${folder}/askpass`, SSH_ASKPASS_REQUIRE: 'force' },
  })
  return stdout
}
