import { type CloudInitUser, renderUserData } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { apiError } from '../../../test/prepared/kube/api-error.ts'
import { ScriptedClient } from '../../../test/prepared/kube/scripted-client.ts'
import {
  aVM,
  cloudInitOf,
  PASSWORD,
  REFERRING,
  SPEC,
  VM_UID,
} from '../../../test/prepared/virtual-machine/machine-objects.ts'
import { redactUrls } from '../../base/messages.ts'
import { type KubeObject, keyOf } from '../../kube/kube-object.ts'
import { parsedMachineSpec } from './caches.ts'
import { CloudInitSource } from './cloud-init.ts'
import type { CloudInit, MachineView } from './world.ts'

const { signal } = new AbortController()
const LOGIN = 'team/login'

function build(users: unknown = REFERRING) {
  const client = new ScriptedClient()
  const versions = new Map<string, KubeObject>()
  const source = new CloudInitSource(client, versions)
  const vm = aVM({}, { spec: { ...SPEC, users } })
  const bench = {
    client,
    source,
    vm,
    /** Writes the Secret, and shows it in the cache of its watch. */
    put: (data: Readonly<Record<string, string>> | undefined, name = 'login') => {
      const metadata = { namespace: 'team', name }
      const secret = client.put({ apiVersion: 'v1', kind: 'Secret', metadata, data } as KubeObject)
      versions.set(keyOf(secret.metadata), secret)
    },
    drop: () => {
      client.drop('Secret', LOGIN)
      versions.delete(LOGIN)
    },
    render: async (of: MachineView = vm): Promise<CloudInit> => {
      const parsed = parsedMachineSpec(of)
      if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems))
      return await source.render(of, parsed.spec, signal)
    },
    reads: () => client.callsOf('get'),
  }
  return bench
}

const encoded = (text: string) => ({ password: Buffer.from(text).toString('base64') })
const passwordIn = (cloudInit: CloudInit): unknown => {
  if (cloudInit.kind !== 'rendered') return cloudInit
  const { users } = JSON.parse(cloudInit.data.userdata.split('\n')[1] ?? '{}') as {
    users: [string, { plain_text_passwd?: string }]
  }
  return users[1].plain_text_passwd
}

describe('a machine whose users refer to no Secret', () => {
  it('is rendered without asking anybody', async () => {
    const bench = build(SPEC['users'])
    expect(await bench.render()).toEqual(cloudInitOf(bench.vm))
    expect(passwordIn(await bench.render())).toBe(PASSWORD)
    expect(bench.reads()).toEqual([])
  })

  it('may have no users at all', async () => {
    expect(await build(null).render()).toMatchObject({ kind: 'rendered' })
  })
})

describe('a machine that is a Windows guest', () => {
  const windows = (more: object = {}) => aVM({}, { spec: { ...SPEC, os: 'windows', users: REFERRING, ...more } })

  it('gets the password of its Secret as a text', async () => {
    const bench = build()
    bench.put(encoded('P@ss-w0rd-1'))
    const cloudInit = await bench.render(windows())
    if (cloudInit.kind !== 'rendered') throw new Error(cloudInit.message)
    expect(cloudInit.data.userdata).toContain('"passwd":"P@ss-w0rd-1"')
  })

  it('waits where its password is longer than cloudbase-init takes it, and does not tell it', async () => {
    const bench = build()
    bench.put(encoded('P@ss-w0rd-1-P@ss-w0rd'))
    const cloudInit = await bench.render(windows())
    expect(cloudInit).toMatchObject({
      kind: 'missing',
      reason: 'MissingPasswordSecret',
      message: expect.stringMatching(
        /Secret team\/login, has more than 20 characters: .* another key that has length: 20 there$/,
      ),
    })
    expect(JSON.stringify(cloudInit)).not.toContain('P@ss')
    bench.put(encoded('P@ss-w0rd-1'))
    expect((await bench.render(windows())).kind).toBe('rendered')
  })

  it('takes user data for Windows alone', async () => {
    const bench = build()
    const put = (text: string) => bench.put({ data: Buffer.from(text).toString('base64') }, 'setup')
    const vm = windows({ users: null, userDataSecretRef: { name: 'setup', key: 'data' } })
    put('#ps1_sysnative\nhostname\n')
    expect((await bench.render(vm)).kind).toBe('rendered')
    put('#include\nhttps://a.example\n')
    expect(await bench.render(vm)).toMatchObject({ message: expect.stringContaining('does not begin with one of') })
  })
})

describe('a machine on networks', () => {
  it('tells its guest the routes that it can use, and the name servers', async () => {
    const { render } = build()
    const routes = [
      { to: '0.0.0.0/0', via: '10.0.0.5' },
      { to: '172.27.0.0/15', via: '10.0.0.1' },
      { to: '0.0.0.0/0', via: '10.0.0.1' },
    ]
    const lab = { network: 'lab', ipAddress: '10.0.0.5/24', routes, nameservers: ['4.29.163.7'] }
    const other = { network: 'other', ipAddress: '10.0.1.5/24', routes: [{ to: '0.0.0.0/0', via: '10.0.1.1' }] }
    const cloudInit = await render(aVM({}, { spec: { ...SPEC, users: null, interfaces: [lab, other] } }))
    if (cloudInit.kind !== 'rendered') throw new Error(cloudInit.kind)
    expect(JSON.parse(cloudInit.data.networkdata ?? '')).toMatchObject({
      ethernets: {
        lab: {
          routes: [
            { to: '172.26.0.0/15', via: '10.0.0.1', metric: 100 },
            { to: '0.0.0.0/0', via: '10.0.0.1', metric: 100 },
          ],
          nameservers: { addresses: ['4.29.163.7'] },
        },
        other: { routes: [{ to: '0.0.0.0/0', via: '10.0.1.1', metric: 101 }] },
      },
    })
  })
})

describe('a password in a Secret', () => {
  it.each<[string, string, string]>([
    ['of one line', PASSWORD, PASSWORD],
    ['with a line end behind it', `${PASSWORD}\n`, PASSWORD],
    ['with that of Windows', `${PASSWORD}\r\n`, PASSWORD],
    ['with blanks, which belong to it', ` ${PASSWORD} `, ` ${PASSWORD} `],
    ['in any alphabet', 'пароль-密码-🔑', 'пароль-密码-🔑'],
    ['of 256 characters', 'x'.repeat(256), 'x'.repeat(256)],
  ])('%s is told to the guest', async (_what, text, expected) => {
    const bench = build()
    bench.put(encoded(text))
    expect(passwordIn(await bench.render())).toBe(expected)
    expect(bench.reads()).toEqual([`get Secret ${LOGIN}`])
  })

  it.each<[string, Readonly<Record<string, string>> | undefined]>([
    ['that has no data', undefined],
    ['that lacks the key', { other: 'eA==' }],
    ['that is empty', encoded('')],
    ['that is nothing but a line end', encoded('\n')],
    ['of two lines', encoded(`${PASSWORD}\nroot`)],
    ['with two line ends', encoded(`${PASSWORD}\n\n`)],
    ['with a control character', encoded(`${PASSWORD}\u0007`)],
    ['that is too long', encoded('x'.repeat(257))],
  ])('%s is waited for, and named without its value', async (_what, data) => {
    const bench = build()
    bench.put(data)
    const cloudInit = await bench.render()
    expect(cloudInit).toEqual({
      kind: 'missing',
      reason: 'MissingPasswordSecret',
      keys: [{ name: 'login', key: 'password' }],
      message:
        '1 Secret is incomplete: login needs one line of text in password (for user "demo"); ' +
        `run: kubectl -n team patch secret login -p '{"stringData":{"password":"PASSWORD"}}'; ` +
        'who may not patch Secrets deletes it, and creates it with all its keys',
    })
  })

  it('that does not exist is waited for, and found when it comes', async () => {
    const bench = build()
    expect(await bench.render()).toMatchObject({ kind: 'missing' })
    bench.put(encoded(PASSWORD))
    expect(passwordIn(await bench.render())).toBe(PASSWORD)
    bench.drop()
    expect(await bench.render()).toMatchObject({ kind: 'missing' })
  })

  it('is looked for in the namespace of the machine', async () => {
    const bench = build()
    bench.put(encoded(PASSWORD))
    const other = aVM({ namespace: 'other', uid: 'other' }, { spec: bench.vm.spec })
    expect(await bench.render(other)).toMatchObject({
      message:
        '1 Secret is missing: login (for user "demo"); run: kubectl -n other create secret generic login --from-literal=password=PASSWORD',
    })
  })
})

describe('user data', () => {
  const HIDDEN = 'canary-51'
  const CONFIG = `#cloud-config\nhostname: ${HIDDEN}\npackages: [nginx]\n`
  const REF = { name: 'login', key: 'user' }
  const buildWith = (fields: object) => {
    const bench = build()
    const vm = aVM({}, { spec: { ...SPEC, ...fields } })
    return { ...bench, render: () => bench.render(vm) }
  }
  const value = (text: string | Uint8Array) => ({ user: Buffer.from(text).toString('base64') })
  const rendered = (userData: string) => {
    const { data } = cloudInitOf(aVM()) as { data: { networkdata?: string } }
    const [user] = SPEC['users'] as CloudInitUser[]
    const users = user === undefined ? [] : [user]
    return { ...data, userdata: renderUserData({ hostname: 'demo-vm', users, userData }) }
  }
  const WARNINGS = [{ reason: 'UserDataOverridden', message: expect.stringContaining('hostname') }]

  it('of the spec is joined with ours, and what has no effect is told', async () => {
    const bench = buildWith({ userData: CONFIG })
    const expected = { kind: 'rendered', data: rendered(CONFIG), warnings: WARNINGS }
    expect(await bench.render()).toEqual(expected)
    expect(await bench.render()).toEqual(expected)
    expect(bench.reads()).toEqual([])
  })

  it('of a Secret is the same, and is read once', async () => {
    const bench = buildWith({ userDataSecretRef: REF })
    bench.put(value(CONFIG))
    expect(await bench.render()).toEqual({ kind: 'rendered', data: rendered(CONFIG), warnings: WARNINGS })
    await bench.render()
    expect(bench.reads()).toEqual([`get Secret ${LOGIN}`])
    const other = '#!/bin/sh\n'
    bench.put(value(other))
    expect(await bench.render()).toEqual({ kind: 'rendered', data: rendered(other), warnings: [] })
  })

  it('that is large is read again, and its warnings stay', async () => {
    const bench = buildWith({ userDataSecretRef: REF })
    bench.put(value(CONFIG.padEnd(500_000, '# more\n')))
    const first = await bench.render()
    expect(first).toMatchObject({ kind: 'rendered', warnings: WARNINGS })
    expect(await bench.render()).toEqual(first)
    expect(bench.reads()).toHaveLength(2)
  })

  const COMES = `userData is to come from key user of Secret ${LOGIN}, which`
  const CREATE = 'kubectl create secret generic login --from-file=user=FILE'
  it.each<[string, Readonly<Record<string, string>> | undefined, string]>([
    [
      'does not exist',
      undefined,
      `1 Secret is missing: login (for userData); run: ${CREATE.replace('kubectl', 'kubectl -n team')}`,
    ],
    [
      'is empty',
      value(''),
      `1 Secret is incomplete: login needs text in user (for userData); run: kubectl -n team patch secret login -p "$(${CREATE} --dry-run=client -o json)"`,
    ],
    [
      'is compressed',
      value(Uint8Array.of(0x1f, 0x8b, 8, 0)),
      `${COMES} is not text in UTF-8: put it there as it is, not compressed`,
    ],
    ['is of no kind', value(`${HIDDEN}: x\n`), `${COMES} does not begin with one of #cloud-config, #!`],
    ['has a byte order mark', value('\ufeff#!/bin/sh\n'), `${COMES} does not begin with one of #cloud-config, #!`],
  ])('that %s is waited for, and named without its content', async (_what, data, why) => {
    const bench = buildWith({ userDataSecretRef: REF })
    if (data !== undefined) bench.put(data)
    const missing = await bench.render()
    if (missing.kind !== 'missing') throw new Error(missing.kind)
    expect(missing).toMatchObject({ reason: 'MissingUserDataSecret' })
    expect(missing.message).toContain(why)
    expect(missing.message).not.toContain(HIDDEN)
    bench.put(value('#!/bin/sh\n'))
    expect(await bench.render()).toMatchObject({ kind: 'rendered' })
  })

  it('that is missing with the passwords of as many users as there may be is told, with as many keys as the status has room for', async () => {
    const users = Array.from({ length: 16 }, (_, at) => ({
      name: `u${at}`,
      passwordSecretRef: { name: 'login', key: `k${at}` },
    }))
    const missing = await buildWith({ users, userDataSecretRef: REF }).render()
    if (missing.kind !== 'missing') throw new Error(missing.kind)
    expect(missing.message).toContain('--from-file=user=FILE')
    expect(missing.keys).toHaveLength(16)
  })

  it('that does not fit into a Secret together with ours is told', async () => {
    const bench = buildWith({ userDataSecretRef: REF })
    bench.put(value('#!/bin/sh\n'.padEnd(774_000, 'x')))
    expect(await bench.render()).toMatchObject({ kind: 'rendered' })
    bench.put(value('#!/bin/sh\n'.padEnd(776_000, 'x')))
    expect(await bench.render()).toMatchObject({
      reason: 'MissingUserDataSecret',
      message: expect.stringMatching(/^the user data is too large: .* a Secret holds 1048576; have the guest fetch/),
    })
  })

  it('that does not fit only together with the host names is told, with those as what to leave out', async () => {
    const hostAliases = Array.from({ length: 512 }, (_, at) => ({
      ip: `10.0.${at >> 8}.${at & 255}`,
      hostnames: ['a', 'b', 'c', 'd'].map((name) => `${name}${'x'.repeat(60)}.${'y'.repeat(60)}`),
    }))
    const [linux, windows] = (['linux', 'windows'] as const).map((os) =>
      buildWith({ os, hostAliases, userDataSecretRef: REF, ...(os === 'windows' && { users: [] }) }),
    )
    linux?.put(value('#!/bin/sh\n'.padEnd(700_000, 'x')))
    expect(await linux?.render()).toMatchObject({
      reason: 'MissingUserDataSecret',
      message: expect.stringMatching(
        / a Secret holds 1048576; leave out names of spec.hostAliases, which are \d+ of these bytes$/,
      ),
    })
    windows?.put(value('#ps1\n'.padEnd(700_000, 'x')))
    expect(await windows?.render()).toMatchObject({ kind: 'rendered' })
  })
})

describe('a Secret is read', () => {
  it('once, as long as neither it nor the machine changes', async () => {
    const bench = build()
    bench.put(encoded(PASSWORD))
    for (let turn = 0; turn < 3; turn += 1) await bench.render()
    expect(bench.reads()).toHaveLength(1)
    const touched = { ...bench.vm, metadata: { ...bench.vm.metadata, resourceVersion: '900' } }
    await bench.render(touched)
    expect(bench.reads()).toHaveLength(1)
  })

  it('again when it changes', async () => {
    const bench = build()
    bench.put(encoded(PASSWORD))
    await bench.render()
    bench.put(encoded('second'))
    expect(passwordIn(await bench.render())).toBe('second')
    expect(bench.reads()).toHaveLength(2)
  })

  it('again when the spec of the machine changes', async () => {
    const bench = build()
    bench.put(encoded(PASSWORD))
    await bench.render()
    const vm = aVM({ generation: 2 }, { spec: { ...SPEC, users: REFERRING, name: 'other' } })
    expect(await bench.render(vm)).toEqual(cloudInitOf(vm))
  })

  it('again when the machine was forgotten', async () => {
    const bench = build()
    bench.put(encoded(PASSWORD))
    await bench.render()
    bench.source.forget(VM_UID)
    await bench.render()
    expect(bench.reads()).toHaveLength(2)
  })

  it('once, whoever has a password there, and all that is missing is named with one command', async () => {
    const refs = ['a.one', 'b.one', 'a.two', 'c.one', 'c.two', 'b.one', 'd.one'].map((ref) => ref.split('.'))
    const users = refs.map(([name = '', key], at) => ({ name: `u${at}`, passwordSecretRef: { name, key } }))
    const bench = build(users)
    bench.put({ one: Buffer.from(PASSWORD).toString('base64') }, 'c')
    bench.put({ one: Buffer.from(PASSWORD).toString('base64') }, 'd')
    expect(await bench.render()).toEqual({
      kind: 'missing',
      reason: 'MissingPasswordSecret',
      keys: ['a.one', 'b.one', 'a.two', 'c.two'].map((ref) => ({ name: ref.slice(0, 1), key: ref.slice(2) })),
      message:
        '3 Secrets are missing or incomplete: a (for user "u0", user "u2"), b (for user "u1", user "u5"), ' +
        'c needs one line of text in two (for user "u4"); run: ' +
        'kubectl -n team create secret generic a --from-literal=one=PASSWORD --from-literal=two=PASSWORD && ' +
        'kubectl -n team create secret generic b --from-literal=one=PASSWORD && ' +
        `kubectl -n team patch secret c -p '{"stringData":{"two":"PASSWORD"}}'; ` +
        'who may not patch Secrets deletes it, and creates it with all its keys',
    })
    expect(bench.reads()).toEqual(['a', 'b', 'c', 'd'].map((name) => `get Secret team/${name}`))
  })

  it('no further, where the operator may not read one', async () => {
    const users = ['a', 'b'].map((name) => ({ name, passwordSecretRef: { name, key: 'password' } }))
    const bench = build(users)
    bench.client.before = () => {
      throw apiError('Rejected')
    }
    expect(await bench.render()).toMatchObject({ isRefused: true, message: expect.stringContaining('Secret team/a') })
    expect(bench.reads()).toEqual(['get Secret team/a'])
  })
})

describe('an API server that does not answer', () => {
  it('is an error, and not remembered', async () => {
    const bench = build()
    bench.put(encoded(PASSWORD))
    bench.client.before = () => {
      throw apiError('Unavailable')
    }
    await expect(bench.render()).rejects.toMatchObject({ reason: 'Unavailable' })
    bench.client.before = undefined
    expect(passwordIn(await bench.render())).toBe(PASSWORD)
  })

  const told = async (bench: ReturnType<typeof build>, times: number) => {
    const answers: unknown[] = []
    for (let turn = 0; turn < times; turn += 1)
      answers.push(await bench.render().catch(({ reason }: { reason: string }) => reason))
    return answers
  }

  it('is told after a while, in its words but without addresses, until it answers', async () => {
    const bench = build()
    bench.put(encoded(PASSWORD))
    const message = 'Internal error occurred: kms at https://me:secret@kms.example/v2 does not answer'
    bench.client.before = () => {
      throw apiError('Unavailable', { status: 500, message })
    }
    const missing = {
      kind: 'missing',
      reason: 'MissingPasswordSecret',
      isRefused: true,
      message: `the password of user "demo" is to come from key password of Secret ${LOGIN}, which the API server cannot read: ${redactUrls(message)}`,
    }
    expect(missing.message).not.toContain('secret@')
    expect(await told(bench, 5)).toEqual(['Unavailable', 'Unavailable', 'Unavailable', missing, missing])
    bench.client.before = undefined
    expect(passwordIn(await bench.render())).toBe(PASSWORD)
  })

  it('is told only when it fails in a row, for the same machine', async () => {
    const bench = build()
    bench.put(encoded(PASSWORD))
    const failing = () => {
      throw apiError('Unavailable')
    }
    for (let turn = 0; turn < 3; turn += 1) {
      bench.client.before = failing
      expect(await told(bench, 3)).toEqual(['Unavailable', 'Unavailable', 'Unavailable'])
      bench.client.before = undefined
      bench.put(encoded(PASSWORD))
      await bench.render()
      bench.put(encoded(PASSWORD))
    }
    bench.client.before = failing
    await told(bench, 3)
    bench.source.forget(VM_UID)
    expect(await told(bench, 1)).toEqual(['Unavailable'])
  })

  it('at all is waited for, however often: nothing is known then', async () => {
    const bench = build()
    bench.client.before = () => {
      throw apiError('NoAnswer')
    }
    expect(await told(bench, 6)).toEqual(Array.from({ length: 6 }, () => 'NoAnswer'))
  })
})
