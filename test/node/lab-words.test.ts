import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { IMAGES } from '../../sandbox/node/images.ts'
import { DEVICES } from '../../sandbox/node/kubernetes-node.ts'
import { typeInto } from './exec.ts'
import { Lab, type LabPod, startForLabs, webOf } from './lab.ts'
import { INSIDE } from './real-cluster.ts'
import { useRealCluster } from './shared-cluster.ts'

const USER = 1000
const GROUP = 2000
const MTU = 1400
/** Without it the container is the same, but for the device. */
const HAS_TUN = DEVICES.some(({ name, path }) => name === 'tun' && existsSync(path))

describe('the words of a container cluster', () => {
  const cluster = useRealCluster()

  it('are what somebody finds who sits at its terminal', async ({ skip }) => {
    const { inside, controlPlane } = cluster()
    if (inside === undefined) return skip(INSIDE)
    await using stage = await startForLabs(cluster(), {
      allowedDevices: 'tun',
      allowedCapabilities: 'NET_ADMIN NET_RAW',
    })
    const on = (host: number) => [{ network: 'net', ipAddresses: [`10.77.0.${host}/24`, `fd00:77::${host}/64`] }]
    const files = [
      { path: '/usr/local/bin/greet', content: '#!/bin/sh\necho "hello $1"\n', mode: '0755' },
      { path: '/run/secret/key', secretKeyRef: { name: 'desk', key: 'key' }, mode: '0400' },
    ]
    const volumeMounts = [{ name: 'data', containerPath: '/data' }]
    const lab = await Lab.create(stage, {
      names: 'hosts',
      networks: [{ name: 'net', cidrs: ['10.77.0.0/24', 'fd00:77::/64'], mtu: MTU }],
      volumes: [{ name: 'data', size: '16Mi' }],
      containerClusters: [
        {
          name: 'desk',
          hostname: 'workbench',
          aliases: ['desk.example'],
          fsGroup: GROUP,
          interfaces: on(10),
          initContainers: [
            {
              name: 'prepare',
              image: IMAGES.busybox,
              command: ['sh', '-c', 'ping -c 1 -w 60 peer.example && hostname > /data/prepared'],
              capabilities: { add: ['NET_RAW'] },
              volumeMounts,
            },
          ],
          containers: [
            {
              name: 'shell',
              image: IMAGES.busybox,
              command: ['sh'],
              workingDir: '/data',
              stdin: true,
              tty: true,
              runAsUser: USER,
              volumeMounts,
              files,
              envFrom: [{ secretRef: { name: 'desk' }, prefix: 'DESK_' }],
            },
            {
              name: 'tunnel',
              image: IMAGES.web,
              capabilities: { add: ['NET_ADMIN'] },
              ...(HAS_TUN && { devices: ['tun'] }),
              stdin: true,
              tty: true,
              command: ['sh'],
            },
          ],
        },
        {
          name: 'peer',
          aliases: ['peer.example'],
          interfaces: on(20),
          containers: [
            ...webOf(cluster()),
            { name: 'shell', image: IMAGES.busybox, command: ['sh'], stdin: true, tty: true, runAsUser: USER, files },
          ],
        },
      ],
    })
    await lab.untilReason('desk', 'SecretMissing')
    await lab.createSecret('desk', { key: 'not for everybody', 'a.b': 'a name for no shell' })
    await lab.untilReady()
    const [desk, peer] = await lab.podsOf('desk', 'peer')
    /** Returns what each command says. */
    const at = async ({ metadata }: LabPod, container: string, commands: Readonly<Record<string, string>>) => {
      const line = Object.entries(commands).map(([name, command]) => `echo "<${name}=$(${command} 2>&1)>"`)
      const screen = await typeInto(
        controlPlane.kubeconfigPath,
        metadata,
        container,
        `stty -echo; ${line.join('; ')}; echo "end$((1+1))"`,
        /end2/,
      )
      return Object.fromEntries(
        [...screen.replaceAll('\r', '').matchAll(/^<(\w+)=([^>]*)>$/gm)].map(([, name, text]) => [name, text]),
      )
    }
    const addresses = "ip -o address show net1 scope global | awk '{ print $4 }' | sort | xargs"
    expect(
      await at(desk, 'shell', {
        terminal: 'tty',
        user: 'id -u',
        groups: 'id -G | tr " " "\\n" | grep -x 2000',
        host: 'hostname',
        folder: 'pwd',
        prepared: 'cat prepared',
        written: 'touch mine && stat -c %u:%g mine',
        greeting: '/usr/local/bin/greet there',
        modes: 'stat -L -c %a /usr/local/bin/greet',
        secret: 'cat /run/secret/key',
        variables: "tr '\\0' '\\n' < /proc/1/environ | grep ^DESK_ | sort | xargs",
        names: 'grep -E "desk|peer" /etc/hosts | xargs',
        mtu: 'cat /sys/class/net/net1/mtu',
        addresses,
      }),
    ).toEqual({
      terminal: '/dev/pts/0',
      user: String(USER),
      groups: String(GROUP),
      host: 'workbench',
      folder: '/data',
      prepared: 'workbench',
      written: `${USER}:${GROUP}`,
      greeting: 'hello there',
      modes: '755',
      secret: 'not for everybody',
      variables: 'DESK_a.b=a name for no shell DESK_key=not for everybody',
      names: [
        ...['10.77.0.10', 'fd00:77::10'].map((address) => `${address} desk desk.example workbench`),
        ...['10.77.0.20', 'fd00:77::20'].map((address) => `${address} peer peer.example`),
      ].join(' '),
      mtu: String(MTU),
      addresses: '10.77.0.10/24 fd00:77::10/64',
    })
    const tunnel = { made: 'tunctl -t lab0 > /dev/null; cat /sys/class/net/lab0/operstate' }
    expect(await at(desk, 'tunnel', { user: 'id -u', ...(HAS_TUN && tunnel) })).toEqual({
      user: '0',
      ...(HAS_TUN && { made: 'down' }),
    })
    // As programs want it that come from labs with other names of interfaces.
    const rename = 'ip link set net1 down && ip link set net1 name swp1 && ip link set swp1 up'
    expect(
      await at(desk, 'tunnel', { renamed: `${rename} && ip -o -4 address show swp1 | awk '{ print $4 }'` }),
    ).toEqual({
      renamed: '10.77.0.10/24',
    })
    expect(await at(peer, 'shell', { secret: 'cat /run/secret/key' })).toEqual({
      secret: "cat: can't open '/run/secret/key': Permission denied",
    })
    const warned = lab.workspace?.status?.conditions?.find(({ type }) => type === 'SpecWarning')
    expect(warned?.message).toBe(
      `1 warning: ContainerCluster peer: container shell runs as user ${USER} and cannot read /run/secret/key (mode 0400), which root owns: set fsGroup, or another mode`,
    )
    await lab.remove()
  })

  it('make one member the DHCP server of a plain network, and give another one what it needs to ask for an address', async ({
    skip,
  }) => {
    const { inside } = cluster()
    if (inside === undefined) return skip(INSIDE)
    await using stage = await startForLabs(cluster(), { allowedCapabilities: 'NET_BIND_SERVICE NET_RAW NET_ADMIN' })
    const rights = (...add: string[]) => ({ image: IMAGES.busybox, capabilities: { drop: ['ALL'], add } })
    const client = (name: string, interfaces: object) => ({
      name,
      interfaces: [{ network: 'wire', ...interfaces }],
      containers: [
        {
          name: 'client',
          ...rights('NET_RAW', 'NET_ADMIN'),
          command: ['udhcpc', '-f', '-i', 'net1', '-s', '/run/lease'],
          files: [{ path: '/run/lease', content: LEASE, mode: '0755' }],
          readinessProbe: { exec: { command: ['ping', '-c', '1', SERVER] }, periodSeconds: 1 },
        },
      ],
    })
    const lab = await Lab.create(stage, {
      networks: [{ name: 'wire' }],
      containerClusters: [
        client('known', { macAddress: '52:54:00:00:00:07' }),
        client('any', {}),
        {
          name: 'server',
          interfaces: [{ network: 'wire', ipAddress: `${SERVER}/24` }],
          containers: [
            {
              name: 'dhcp',
              ...rights('NET_BIND_SERVICE', 'NET_RAW'),
              command: ['udhcpd', '-f', '/run/udhcpd.conf'],
              files: [{ path: '/run/udhcpd.conf', content: LEASES }],
            },
          ],
        },
      ],
    })
    await lab.untilReady()
    const addressOf = async (member: string) =>
      (await inside.placeOf(await lab.podOf(member))).exec(['ip', '-4', '-brief', 'address', 'show', 'net1'])
    expect(await addressOf('known')).toContain(' 10.79.0.7/24 ')
    expect(await addressOf('any')).toMatch(/ 10\.79\.0\.1\d\d\/24 /)
    await lab.remove()
  })
})

const SERVER = '10.79.0.1'
/** Room for both: the server counts what it was told to give among the leases of the range. */
const LEASES = `interface net1
start 10.79.0.100
end 10.79.0.199
lease_file /tmp/leases
pidfile /tmp/pid
option subnet 255.255.255.0
static_lease 52:54:00:00:00:07 10.79.0.7
`
/** What udhcpc runs at each turn of its lease. */
const LEASE = `#!/bin/sh
case $1 in
  deconfig) ip address flush dev "$interface" ;;
  bound) ip address add "$ip/$mask" dev "$interface" ;;
esac
`
