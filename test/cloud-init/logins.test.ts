import {
  parseVirtualMachineSpec,
  renderCloudInit,
  safeLogin,
  type VirtualMachineUser,
  warningsOf,
} from '@open-terrain/constructs/operator'
import fc from 'fast-check'
import { describe, expect, inject, it } from 'vitest'
import type { CloudInit } from './package.ts'
import { type FirstStart, firstStarts, type Guest } from './verdict.ts'

const SAMPLES = 600
const cloudInit = inject('cloudInit')

/** Keys of `IMAGES` in images.py, with the name of each image's own user. */
const IMAGE_USERS: Readonly<Record<string, string>> = {
  debian: 'debian',
  ubuntu: 'ubuntu',
  rocky: 'rocky',
  fedora: 'fedora',
  opensuse: 'opensuse',
  alpine: 'alpine',
  golden: 'debian',
}
const IMAGES = Object.keys(IMAGE_USERS)
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJl3dIeudNqd0DPMRD6OIh65tjkxFNOtwGcWB2gCgPhk'

/** Logins and groups that collide with each other, those of images, and names that are no login. */
const NAMES = [
  ...['demo', 'alice', 'bob', 'second', 'lab', 'students', 'docker', 'admin', 'root', 'default'],
  ...[
    'sudo',
    'adm',
    'staff',
    'users',
    'operator',
    'wheel',
    'games',
    'guest',
    'nobody',
    'daemon',
    'systemd-network',
    '_apt',
  ],
  ...Object.values(IMAGE_USERS),
]
const ODD = [
  'demo user',
  'Demo User',
  'demo-user',
  'DEMO',
  '1demo',
  '1000',
  'a'.repeat(40),
  ' ',
  '-rf',
  'Sudo',
  'o"neil, x',
  '漢字',
]

const user: fc.Arbitrary<VirtualMachineUser> = fc.record(
  {
    name: fc.oneof(
      { arbitrary: fc.constantFrom(...NAMES), weight: 3 },
      fc.constantFrom(...ODD),
      fc.string({ maxLength: 64 }),
    ),
    groups: fc.array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 4 }).map((groups) => groups.join(', ')),
    plain_text_passwd: fc.constantFrom('demo-pwd', 'a:b', 'RANDOM', '$6$x$y'),
    lock_passwd: fc.boolean(),
    sudo: fc.constant('ALL=(ALL) NOPASSWD:ALL'),
    ssh_authorized_keys: fc.constantFrom([], [KEY]),
  },
  { requiredKeys: ['name'] },
)
const machine = fc.record({
  image: fc.constantFrom(...IMAGES),
  users: fc.uniqueArray(user, { selector: ({ name }) => name, minLength: 1, maxLength: 6 }),
})
interface Machine {
  readonly image: string
  readonly users: readonly VirtualMachineUser[]
}

function specOf(users: Machine['users']) {
  return parseVirtualMachineSpec({ users, resources: { cpu: 1, memory: '1Gi' }, vmDiskImageRef: { name: 'a' } })
}

/** What the guest lacks of the requested users, where no warning mentions it. */
function missing({ image, users }: Machine, guest: Guest): string[] {
  const parsed = specOf(users)
  const warnings = parsed.ok ? warningsOf(parsed.spec) : []
  const told = warnings.map(({ message }) => message)
  const names = users.map(({ name }) => name)
  const mine = users.flatMap((asked) => {
    const login = safeLogin(asked.name, names)
    const isReported = login === asked.name || told.some((one) => one.includes(`logs in as ${login},`))
    return [
      ...(isReported ? [] : [`${asked.name}: nothing is said of ${login}`]),
      ...lacking(asked, login, guest, told, image),
    ]
  })
  const ownUser = IMAGE_USERS[image] ?? ''
  const isGone = guest.users[ownUser] === undefined
  const isReported = warnings.some(({ reason, message }) => reason === 'GroupsOfImage' && message.includes(ownUser))
  return [...mine, ...(isGone && !isReported ? [`${ownUser}, the user of the image`] : [])]
}

function lacking(
  asked: VirtualMachineUser,
  login: string,
  guest: Guest,
  told: readonly string[],
  image: string,
): string[] {
  const made = guest.users[login]
  if (made === undefined) return [`${login}: no login`]
  const password = asked.lock_passwd === false ? (asked.plain_text_passwd ?? null) : null
  const groups = (asked.groups ?? '').split(',').flatMap((group) => group.trim() || [])
  const left = groups.filter((group) => !made.groups.includes(group))
  const isReported = left.length === 0 || told.some((one) => one.includes(`groups of user "${login}" are left out`))
  return [
    ...(made.password === password ? [] : [`${login}: password ${made.password} instead of ${password}`]),
    ...(made.keys.length === (asked.ssh_authorized_keys?.length ?? 0) ? [] : [`${login}: no keys`]),
    // The image that already has a user of this name has already given it its groups.
    ...(isReported || (image === 'golden' && login === 'lab') ? [] : [`${login}: not in ${left.join(', ')}`]),
  ]
}

describe.skipIf(cloudInit === undefined)('logins', () => {
  const render = ({ image, users }: Machine) => ({ image, ...renderCloudInit({ hostname: 'vm', users }) })

  function start(documents: readonly FirstStart[]): Promise<Guest[]> {
    if (typeof cloudInit === 'string') throw new Error(cloudInit)
    return firstStarts(cloudInit as CloudInit, documents)
  }

  const password = { plain_text_passwd: 'x', lock_passwd: false }

  it.each<[string, VirtualMachineUser[]]>([
    ['a login that is one of its own groups', [{ name: 'demo', groups: 'demo,sudo', ...password }, { name: 'second' }]],
    [
      'a login that is a group of the user before',
      [
        { name: 'alice', groups: 'bob' },
        { name: 'bob', ...password },
      ],
    ],
    ['a login that is a group of the system', [{ name: 'sudo', ...password }, { name: 'staff' }, { name: 'second' }]],
    ['a login that is a user of the system', [{ name: 'operator', ...password }, { name: 'games' }]],
    ['a login that is a group of this image alone', [{ name: 'students', ...password }, { name: 'second' }]],
    ['a login that the image has made already', [{ name: 'lab', ...password }, { name: 'second' }]],
    [
      'the user of the image',
      [
        { name: 'debian', ...password },
        { name: 'ubuntu', ...password },
      ],
    ],
    ['root', [{ name: 'root', ...password }, { name: 'second' }]],
    ['names that are no logins', ODD.map((name) => ({ name, ...password }))],
  ])('%s: everybody can log in, in every image', async (_name, users) => {
    const machines = IMAGES.map((image) => ({ image, users }))
    const guests = await start(machines.map(render))
    expect(guests.map(({ error }) => error)).toEqual(machines.map(() => null))
    expect(machines.flatMap((one, at) => missing(one, guests[at] as Guest))).toEqual([])
  })

  it(`all users of ${SAMPLES} machines at random can log in, or it was said who cannot`, async () => {
    const machines = fc.sample(machine, SAMPLES).filter(({ users }) => specOf(users).ok)
    expect(machines.length).toBeGreaterThan(SAMPLES / 2)
    const guests = await start(machines.map(render))
    const wrong = machines.flatMap((one, at) => {
      const lost = missing(one, guests[at] as Guest)
      return lost.length === 0 ? [] : [{ ...one, lost, error: guests[at]?.error }]
    })
    expect(wrong).toEqual([])
  })

  it('a guest refuses what a real one refuses: the check is alive', async () => {
    const cases: [image: string, users: object[], error: RegExp, left: string[]][] = [
      ['debian', [{ name: 'demo', groups: 'demo,sudo' }, { name: 'second' }], /group demo exists/, []],
      ['rocky', [{ name: 'alice', groups: 'bob' }, { name: 'bob' }], /group bob exists/, ['alice']],
      ['debian', [{ name: 'staff' }, { name: 'second' }], /group staff exists/, []],
      ['alpine', [{ name: 'wheel' }, { name: 'second' }], /in use|exists/, []],
      ['debian', [{ name: 'demo', primary_group: 'demo' }], /group 'demo' does not exist/, []],
      ['debian', [{ name: 'demo user' }], /invalid user name/, []],
      ['opensuse', [{ name: 'demo', groups: 'Users' }], /group 'Users' does not exist/, []],
      // A system user has no shell to log in to, and cloud-init does not change that.
      ['rocky', [{ name: 'operator' }], /^$/, ['rocky']],
    ]
    const guests = await start(
      cases.map(([image, users]) => ({
        image,
        userdata: `#cloud-config\n${JSON.stringify({ users: ['default', ...users] })}\n`,
      })),
    )
    for (const [at, [, , error, left]] of cases.entries()) {
      expect(guests[at]?.error ?? '').toMatch(error)
      expect(Object.keys(guests[at]?.users ?? {})).toEqual(['root', ...left])
    }
    expect(guests).toHaveLength(cases.length)
  })
})
