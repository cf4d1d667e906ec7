/** Each part is the output of one command, under a heading. */
const COMMANDS = {
  hostname: 'hostname; cat /etc/hostname',
  machineId: 'cat /etc/machine-id',
  hostKeys: 'cat /etc/ssh/ssh_host_*_key.pub',
  instance: 'cloud-init query instance_id',
  problems: 'systemctl --failed --no-legend --plain; cloud-init status --long | grep -i error',
  addresses: 'ip -json address',
  routes: 'ip -json -4 route; ip -json -6 route',
  nameservers: 'grep ^nameserver /run/systemd/resolve/resolv.conf',
  passwd: 'getent passwd',
  shadow: 'getent shadow',
  groups: 'getent group',
  network: 'cat /etc/netplan/*',
} as const
const HEADING = '=== '

/** Prints what a guest is, as root. */
export const FACTS_SCRIPT = `sudo -n sh -c '${Object.entries(COMMANDS)
  .map(([name, command]) => `echo "${HEADING}${name}"; ${command}`)
  .join('; ')}; true'`

export interface GuestFacts {
  /** Output of each command, without what the kernel counts or draws. */
  readonly lasting: Readonly<Record<keyof typeof COMMANDS, string>>
  readonly links: readonly { readonly name: string; readonly mac: string; readonly addresses: readonly string[] }[]
  readonly routes: readonly {
    readonly to: string
    readonly via?: string
    readonly link: string
    readonly metric?: number
  }[]
  readonly nameservers: readonly string[]
  /** By name; the groups are sorted. */
  readonly users: Readonly<Record<string, { readonly fullName: string; readonly groups: readonly string[] }>>
}

interface Link {
  readonly ifname: string
  readonly address: string
  readonly addr_info: readonly { readonly local: string; readonly prefixlen: number; readonly scope: string }[]
}

interface Route {
  readonly dst: string
  readonly gateway?: string
  readonly dev: string
  readonly metric?: number
  readonly protocol: string
}

const FIRST_OF_PEOPLE = 1_000
const NOBODY = 65_534

export function readFacts(output: string): GuestFacts {
  const parts = output.split(`${HEADING}`).slice(1)
  const texts = Object.fromEntries(
    parts.map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n') + 1).trim()]),
  ) as Record<keyof typeof COMMANDS, string>
  const links = (JSON.parse(texts.addresses) as readonly Link[])
    .filter(({ ifname }) => ifname !== 'lo')
    .map(({ ifname, address, addr_info }) => ({
      name: ifname,
      mac: address,
      addresses: addr_info.filter(({ scope }) => scope === 'global').map((one) => `${one.local}/${one.prefixlen}`),
    }))
  const routes = texts.routes
    .split('\n')
    .flatMap((line) => JSON.parse(line) as readonly Route[])
    // What comes with an address is not of the configuration.
    .filter(({ protocol }) => protocol === 'static')
    .map(({ dst, gateway, dev, metric }) => ({
      to: dst,
      ...(gateway !== undefined && { via: gateway }),
      link: dev,
      ...(metric !== undefined && { metric }),
    }))
  // Each belongs to an interface, so they have no order.
  const nameservers = texts.nameservers
    .split('\n')
    .flatMap((line) => line.split(' ')[1] ?? [])
    .sort()
  return {
    // Lifetimes and flags of addresses are those of a moment.
    lasting: {
      ...texts,
      addresses: JSON.stringify(links),
      routes: JSON.stringify(routes),
      nameservers: nameservers.join(' '),
    },
    links,
    routes,
    nameservers,
    users: usersOf(texts.passwd, texts.groups),
  }
}

function usersOf(passwd: string, groups: string): GuestFacts['users'] {
  const memberships = groups.split('\n').map((line) => line.split(':'))
  const people = passwd
    .split('\n')
    .map((line) => line.split(':'))
    .filter(([, , id]) => Number(id) >= FIRST_OF_PEOPLE && Number(id) !== NOBODY)
  return Object.fromEntries(
    people.map(([name = '', , , own, fullName = '']) => {
      const isIn = ([, , id, members = '']: readonly string[]) => id === own || members.split(',').includes(name)
      return [
        name,
        {
          fullName,
          groups: memberships
            .filter(isIn)
            .map(([group = '']) => group)
            .sort(),
        },
      ]
    }),
  )
}
