import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import type { WorkspaceComponent } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { apiError } from '../../../test/prepared/kube/api-error.ts'
import { SECOND } from '../../../test/prepared/runtime/times.ts'
import { start, startReady, VM, type WorkspaceBench } from '../../../test/prepared/workspace/workspace-bench.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import { NAMESPACE, SECRET } from '../../kube/resource-types.ts'
import { WORKSPACE } from './caches.ts'

type Generate = NonNullable<NonNullable<WorkspaceSpecInput['secrets']>[number]['generate']>
type Secret = KubeObject & { readonly data?: Readonly<Record<string, string>> }

const KEY = { namespace: 'lab', name: 'logins' }
const USER = { name: 'demo', lock_passwd: false, passwordSecretRef: { name: 'logins', key: 'password' } }
const WEB = {
  name: 'web',
  containers: [
    {
      name: 'web',
      image: 'registry.example/web:1',
      env: [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'logins', key: 'token' } } }],
    },
  ],
}
const lab = (...generate: Generate) =>
  ({
    vms: [{ ...VM, interfaces: [], users: [USER] as never }],
    containerClusters: [WEB],
    secrets: [{ name: 'logins', generate }],
  }) satisfies WorkspaceSpecInput
const MADE = 'pelotech.ot/generated-keys'
const BOTH = [{ key: 'password' }, { key: 'token', length: 40 }]

function valuesIn(bench: WorkspaceBench): Record<string, string> {
  const { data = {} } = bench.client.peek<Secret>('Secret', 'lab/logins') ?? {}
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]))
}

const writesTo = (bench: WorkspaceBench) =>
  bench.client.calls.filter(({ verb, kind }) => kind === 'Secret' && ['create', 'patch', 'delete'].includes(verb))
const told = (bench: WorkspaceBench, kind = 'Secret'): Partial<WorkspaceComponent> =>
  bench.status().components?.find((one) => one.kind === kind) ?? {}

/** No value is in anything that was sent but the Secret, as it is or in base64. */
function expectUntold(bench: WorkspaceBench, ...values: readonly string[]): void {
  const sent = bench.client.calls.filter(({ kind }) => kind !== 'Secret').map(({ body }) => JSON.stringify(body) ?? '')
  for (const value of values)
    for (const form of [value, Buffer.from(value).toString('base64')])
      expect(sent.filter((text) => text.includes(form))).toEqual([])
}

it('a Secret is made with random values before the members that name it, and nothing writes it again', async () => {
  const bench = await start(lab(...BOTH))
  // The machine waits for its image, and nobody is asked for a Secret.
  expect(told(bench, 'VirtualMachine').message).not.toContain('create secret')
  expect(bench.status().reason).not.toBe('SecretMissing')
  await bench.work()
  const values = valuesIn(bench)
  expect(values).toEqual({
    password: expect.stringMatching(/^[a-km-zA-HJ-NP-Z][a-km-zA-HJ-NP-Z2-9]{23}$/),
    token: expect.stringMatching(/^[a-km-zA-HJ-NP-Z][a-km-zA-HJ-NP-Z2-9]{39}$/),
  })
  expect([bench.status().phase, told(bench)]).toMatchObject([
    'Ready',
    { phase: 'Ready', reason: 'Ready', message: 'Secret logins has its random values: password, token' },
  ])
  const order = bench.client.calls.filter(({ verb }) => verb === 'create').map(({ kind }) => kind)
  const places = ['Namespace', 'Secret', 'Deployment', 'VirtualMachine'].map((kind) => order.indexOf(kind))
  expect(places).toEqual(places.toSorted((a, b) => a - b))
  await bench.restart()
  bench.setPolicy({ allowHostPorts: false })
  await bench.work()
  expect([writesTo(bench).map(({ verb }) => verb), valuesIn(bench)]).toEqual([['create'], values])
  expectUntold(bench, ...Object.values(values))
})

it('the answer to the creation of a Secret that is lost makes no other values', async () => {
  let isLost = false
  const bench = await start(lab(...BOTH), ({ client }) => {
    client.after = ({ verb, kind }) => {
      if (verb !== 'create' || kind !== 'Secret' || isLost) return
      isLost = true
      throw apiError('NoAnswer')
    }
  })
  const values = valuesIn(bench)
  await bench.work()
  expect([isLost, bench.status().phase, valuesIn(bench)]).toEqual([true, 'Ready', values])
  expect(writesTo(bench).filter(({ verb }) => verb === 'patch')).toEqual([])
})

it('the values of another replica that was faster stay, also if it wanted less', async () => {
  let isTaken = false
  const bench = await start(lab(...BOTH), ({ client }) => {
    client.before = ({ verb, kind, body }) => {
      if (verb !== 'create' || kind !== 'Secret' || isTaken) return
      isTaken = true
      const { metadata } = body as Secret
      const annotations = { ...metadata.annotations, 'pelotech.ot/rendered': 'earlier' }
      const theirs = { ...(body as Secret), metadata: { ...metadata, annotations }, data: { password: 'YQ==' } }
      client.cluster.admin.create(SECRET, theirs)
    }
  })
  await bench.work()
  expect([isTaken, bench.status().phase]).toEqual([true, 'Ready'])
  expect(valuesIn(bench)).toEqual({ password: 'a', token: expect.stringMatching(/^\w{40}$/) })
})

it('nobody is asked to create a Secret that the operator cannot make', async () => {
  const bench = await start(lab(...BOTH), ({ client }) => {
    client.before = ({ verb, kind }) => {
      if (verb === 'create' && kind === 'Secret') throw apiError('Rejected')
    }
  })
  await bench.work()
  expect(told(bench)).toMatchObject({ phase: 'Provisioning', reason: 'Refused' })
  expect(told(bench, 'ContainerCluster').message).toBe('waits for Secret logins, which is not ready (Refused)')
  expect(JSON.stringify(bench.status())).not.toContain('create secret')
})

it('a key that is added is made beside the others, and one that is removed stays', async () => {
  const bench = await startReady(lab({ key: 'password' }))
  const before = valuesIn(bench)
  bench.client.cluster.admin.mergePatch(SECRET, KEY, { data: { theirs: 'YQ==' } })
  bench.change(lab({ key: 'token', length: 8 }))
  await bench.work()
  const after = valuesIn(bench)
  expect(after).toEqual({ ...before, theirs: 'a', token: expect.stringMatching(/^\w{8}$/) })
  const [, patch] = writesTo(bench)
  const { data, metadata } = (patch?.body ?? {}) as Partial<Secret>
  expect([Object.keys(data ?? {}), metadata]).toEqual([
    ['token'],
    expect.objectContaining({ resourceVersion: expect.any(String) }),
  ])
  // Another length counts for values that are not there yet.
  bench.change(lab({ key: 'token', length: 64 }))
  await bench.work()
  expect([valuesIn(bench), bench.status().phase]).toEqual([after, 'Ready'])
  expectUntold(bench, ...Object.values(after).filter((value) => value.length >= 8))
})

it('a key that somebody gives a value at the same time keeps that value', async () => {
  const bench = await startReady(lab({ key: 'password' }))
  let isGiven = false
  bench.client.before = ({ verb, kind }) => {
    if (verb !== 'patch' || kind !== 'Secret' || isGiven) return
    isGiven = true
    bench.client.cluster.admin.mergePatch(SECRET, KEY, { data: { token: 'YQ==' } })
  }
  bench.change(lab(...BOTH))
  await bench.work()
  expect([isGiven, valuesIn(bench)['token'], bench.status().phase]).toEqual([true, 'a', 'Ready'])
})

it('a Secret that somebody deletes is made again with other values, which is told', async () => {
  const bench = await startReady(lab(...BOTH))
  const before = valuesIn(bench)
  bench.client.cluster.admin.delete(SECRET, KEY)
  await bench.work()
  const after = valuesIn(bench)
  expect([Object.keys(after), bench.status().phase]).toEqual([Object.keys(before), 'Ready'])
  expect(after['password']).not.toBe(before['password'])
  const gone = 'Secret logins: Secret logins is gone, and with it its values: it is made again with other ones.'
  expect(bench.events().filter((event) => event.startsWith(`Warning SecretLost: ${gone}`))).toHaveLength(1)
  const lost = bench.status().conditions?.find(({ type }) => type === 'SecretLost')
  expect([lost?.status, lost?.message]).toEqual(['True', expect.stringContaining('RebuildRequired')])
  expect([await bench.lost('secrets'), await bench.lost('volumes')]).toEqual([1, 0])
  expect(bench.events().join()).not.toContain('create secret')
  expectUntold(bench, ...Object.values(before), ...Object.values(after))
})

describe('that values are lost is told, although', () => {
  const ended = (bench: WorkspaceBench) => bench.client.cluster.admin.delete(SECRET, KEY)
  const CASES: Readonly<Record<string, (bench: WorkspaceBench) => Promise<void>>> = {
    'the whole namespace goes': async ({ client, clock }) => {
      client.cluster.admin.delete(NAMESPACE, { name: 'lab' })
      await clock.advance(5 * SECOND)
    },
    'the spec cannot be read then': async (bench) => {
      bench.change({ vms: 'none' } as never)
      await bench.clock.advance(5 * SECOND)
      ended(bench)
      await bench.clock.advance(5 * SECOND)
      bench.change(lab(...BOTH))
    },
    'the Secret was Refused, and another process leads then': async (bench) => {
      bench.client.before = ({ verb, kind }) => {
        if (verb === 'patch' && kind === 'Secret') throw apiError('Rejected')
      }
      bench.change(lab(...BOTH, { key: 'more' }))
      await bench.work()
      expect(told(bench).reason).toBe('Refused')
      ended(bench)
      await bench.restart()
    },
    'it is Refused to make it again': async (bench) => {
      bench.client.before = ({ verb, kind }) => {
        if (verb === 'create' && kind === 'Secret') throw apiError('Rejected')
      }
      ended(bench)
      await bench.work()
      expect(told(bench)).toMatchObject({
        reason: 'SecretLost',
        message: expect.stringContaining('refuses Secret logins'),
      })
      bench.client.before = undefined
      await bench.clock.advance(600 * SECOND)
    },
    'its name was taken in between': async (bench) => {
      ended(bench)
      bench.client.cluster.admin.create(SECRET, { metadata: KEY, apiVersion: 'v1', kind: 'Secret' })
      await bench.work()
      expect(told(bench).reason).toBe('NameConflict')
      ended(bench)
    },
  }
  it.for(Object.entries(CASES))('%s', async ([, lose]) => {
    const bench = await startReady(lab(...BOTH))
    const before = valuesIn(bench)
    await lose(bench)
    await bench.work()
    await bench.work()
    expect([bench.status().phase, Object.keys(valuesIn(bench))]).toEqual([
      'Ready',
      expect.arrayContaining(Object.keys(before)),
    ])
    expect(valuesIn(bench)['password']).not.toBe(before['password'])
    expect(bench.events().filter((event) => event.startsWith('Warning SecretLost: Secret logins'))).toHaveLength(1)
    expect(bench.status().conditions?.find(({ type }) => type === 'SecretLost')?.status).toBe('True')
  })
})

it('a key that was added is not made again without a word when a version from before it is put back', async () => {
  const bench = await startReady(lab({ key: 'password' }))
  const backup = bench.client.peek<Secret>('Secret', 'lab/logins') as Secret
  bench.change(lab(...BOTH))
  await bench.work()
  const before = valuesIn(bench)
  expect(bench.status().generatedKeys).toEqual([{ name: 'logins', keys: ['password', 'token'] }])
  const { resourceVersion } = bench.client.peek<Secret>('Secret', 'lab/logins')?.metadata ?? {}
  bench.client.cluster.admin.replace(SECRET, { ...backup, metadata: { ...backup.metadata, resourceVersion } } as Secret)
  await bench.work()
  const after = valuesIn(bench)
  expect([bench.status().phase, after['password']]).toEqual(['Ready', before['password']])
  expect(after['token']).toMatch(/^\w{40}$/)
  expect(after['token']).not.toBe(before['token'])
  const lost = 'Warning SecretLost: Secret logins: Secret logins has no value for token any more'
  expect(bench.events().filter((event) => event.startsWith(lost))).toHaveLength(1)
  expect(await bench.lost('secrets')).toBe(1)
  expectUntold(bench, ...Object.values(before), ...Object.values(after))
})

it('a key that is not asked for any more is not lost when it goes, nor when it is asked for again', async () => {
  const bench = await startReady(lab(...BOTH))
  bench.change(lab({ key: 'token', length: 40 }))
  await bench.work()
  expect(bench.status().generatedKeys).toEqual([{ name: 'logins', keys: ['token'] }])
  bench.client.cluster.admin.mergePatch(SECRET, KEY, { data: { password: null } })
  await bench.work()
  bench.change(lab(...BOTH))
  await bench.work()
  expect([bench.status().phase, Object.keys(valuesIn(bench)).toSorted()]).toEqual(['Ready', ['password', 'token']])
  expect(bench.events().join()).not.toContain('SecretLost')
})

describe('that a key of a Secret is lost is told before another value is made,', () => {
  const lose = ({ client }: WorkspaceBench) => {
    client.cluster.admin.mergePatch(SECRET, KEY, { data: { password: null } })
  }
  const CASES: Readonly<Record<string, (bench: WorkspaceBench) => Promise<void> | void>> = {
    'as the operator sees it': lose,
    'also by the process that leads later': async (bench) => {
      const next = bench.restart()
      lose(bench)
      await next
    },
    'also where the process that tells does not live to make it': async (bench) => {
      let next: Promise<void> | undefined
      bench.client.before = ({ verb, kind }) => {
        if (verb !== 'patch' || kind !== 'Secret' || next !== undefined) return
        next = bench.restart()
        throw apiError('NoAnswer')
      }
      lose(bench)
      await bench.work()
      await next
      expect(next).toBeDefined()
    },
    'also if the spec changes at the same time': (bench) => {
      bench.change(lab(...BOTH, { key: 'more' }))
      lose(bench)
    },
    'also if the spec changes first': async (bench) => {
      bench.change(lab(...BOTH, { key: 'more' }))
      let isDone = false
      bench.client.before = ({ verb, kind }) => {
        if (verb !== 'get' || kind !== 'Secret' || isDone) return
        isDone = true
        lose(bench)
      }
      await bench.work()
      expect(isDone).toBe(true)
    },
    'also if an earlier version of it is put back': async ({ client }) => {
      const { metadata, data, ...rest } = client.peek<Secret>('Secret', 'lab/logins') ?? ({} as Secret)
      const { [MADE]: _, ...annotations } = metadata.annotations ?? {}
      const earlier = { ...metadata, annotations: { ...annotations, [MADE]: 'token=40', 'pelotech.ot/rendered': 'x' } }
      client.cluster.admin.replace(SECRET, { ...rest, metadata: earlier, data: { token: data?.['token'] } } as Secret)
    },
    'also if its annotation does not name it any more': ({ client }) => {
      const annotations = { [MADE]: 'token=40' }
      client.cluster.admin.mergePatch(SECRET, KEY, { metadata: { annotations }, data: { password: null } })
    },
    'also if an earlier version of it is put back while another process begins to lead': async (bench) => {
      const next = bench.restart()
      const annotations = { [MADE]: 'token=40', 'pelotech.ot/rendered': 'earlier' }
      bench.client.cluster.admin.mergePatch(SECRET, KEY, { metadata: { annotations }, data: { password: null } })
      await next
    },
    'also if that is refused': async (bench) => {
      bench.client.before = ({ verb, kind }) => {
        if (verb === 'patch' && kind === 'Secret') throw apiError('Rejected')
      }
      lose(bench)
      await bench.work()
      expect(told(bench)).toMatchObject({
        phase: 'Provisioning',
        reason: 'SecretLost',
        message: expect.stringMatching(/has no value for password any more.*; the API server refuses Secret logins/),
      })
      bench.client.before = undefined
      await bench.clock.advance(600 * SECOND)
    },
  }
  it.for(Object.entries(CASES))('%s', async ([, happen]) => {
    const bench = await startReady(lab(...BOTH))
    const before = valuesIn(bench)
    await happen(bench)
    await bench.work()
    await bench.work()
    const after = valuesIn(bench)
    expect([bench.status().phase, after['token']]).toEqual(['Ready', before['token']])
    expect(after['password']).toMatch(/^\w{24}$/)
    expect(after['password']).not.toBe(before['password'])
    const lost = 'Warning SecretLost: Secret logins: Secret logins has no value for password any more'
    expect(bench.events().filter((event) => event.startsWith(lost))).toHaveLength(1)
    expect(bench.status().conditions?.find(({ type }) => type === 'SecretLost')?.status).toBe('True')
    const { calls } = bench.client
    const telling = calls.findIndex(
      ({ verb, body }) => verb === 'status' && JSON.stringify(body).includes('SecretLost'),
    )
    const making = calls.findIndex(({ verb, kind, body }) => {
      return verb === 'patch' && kind === 'Secret' && (body as Secret).data?.['password'] !== undefined
    })
    expect([telling, making]).toEqual([expect.any(Number), expect.any(Number)])
    expect(telling).toBeLessThan(making)
    expectUntold(bench, ...Object.values(before), ...Object.values(after))
  })

  it('however soon it follows another one, and while something else is in progress', async () => {
    const bench = await startReady(lab(...BOTH))
    let isNext = true
    bench.client.after = ({ verb, kind }) => {
      if (verb !== 'patch' || kind !== 'Secret' || !isNext) return
      isNext = false
      bench.client.cluster.admin.mergePatch(SECRET, KEY, { data: { token: null } })
    }
    const { vms, ...rest } = lab(...BOTH)
    bench.change({ ...rest, vms: [...vms, { ...VM, name: 'other', interfaces: [], backingVMDiskImage: 'never' }] })
    lose(bench)
    await bench.clock.advance(10 * SECOND)
    expect([bench.status().phase, told(bench).phase, isNext]).toEqual(['Provisioning', 'Ready', false])
    const events = ['password', 'token'].map((key) =>
      bench.events().filter((one) => one.includes(`no value for ${key} any`)),
    )
    expect([events.map(({ length }) => length), await bench.lost('secrets')]).toEqual([[1, 1], 2])
  })

  it('once, however often somebody writes to the Secret while no other value can be made', async () => {
    const bench = await startReady(lab(...BOTH))
    bench.client.before = ({ verb, kind }) => {
      if (verb === 'patch' && kind === 'Secret') throw apiError('Rejected')
    }
    lose(bench)
    await bench.clock.advance(5 * SECOND)
    const from = bench.client.calls.length
    for (let touch = 0; touch < 20; touch += 1) {
      const annotations = { 'example.org/touched': String(touch) }
      bench.client.cluster.admin.mergePatch(SECRET, KEY, { metadata: { annotations } })
      await bench.clock.advance(SECOND)
    }
    const written = bench.client.calls.slice(from).filter(({ verb }) => verb === 'status')
    const reasons = written.map(({ body }) => {
      const { status } = body as { readonly status: { readonly components?: readonly WorkspaceComponent[] } }
      return status.components?.find(({ kind }) => kind === 'Secret')?.reason
    })
    expect(new Set([told(bench).reason, ...reasons])).toEqual(new Set(['SecretLost']))
    expect(written.length).toBeLessThanOrEqual(3)
    expect(told(bench).message?.split('refuses Secret logins')).toHaveLength(2)
    const events = bench.events().filter((one) => one.startsWith('Warning SecretLost'))
    expect([events.length, await bench.lost('secrets')]).toEqual([1, 1])
    // Another loss is told, and nothing more is lost when one of the two values is put back.
    bench.client.cluster.admin.mergePatch(SECRET, KEY, { data: { token: null } })
    await bench.clock.advance(5 * SECOND)
    bench.client.cluster.admin.mergePatch(SECRET, KEY, { data: { password: 'YQ==' } })
    await bench.clock.advance(5 * SECOND)
    const all = bench.events().filter((one) => one.startsWith('Warning SecretLost'))
    expect([all.length, await bench.lost('secrets')]).toEqual([2, 2])
    expect(told(bench).message).toContain('no value for token any more')
  })

  it('once, also where an earlier operator told it, whose status knows no keys', async () => {
    const bench = await startReady(lab(...BOTH))
    bench.client.before = ({ verb, kind }) => {
      if (verb === 'patch' && kind === 'Secret') throw apiError('Rejected')
    }
    lose(bench)
    await bench.work()
    expect(bench.status().generatedKeys).toEqual([{ name: 'logins', keys: ['password', 'token'], lost: ['password'] }])
    const { generatedKeys: _, ...earlier } = bench.status()
    const next = bench.restart()
    bench.client.cluster.admin.replaceStatus(WORKSPACE, { ...bench.workspace(), status: earlier } as never)
    await next
    await bench.work()
    expect(bench.status().generatedKeys).toEqual([{ name: 'logins', keys: ['password', 'token'], lost: ['password'] }])
    expect(bench.events().filter((one) => one.startsWith('Warning SecretLost'))).toHaveLength(1)
    bench.client.before = undefined
    await bench.clock.advance(600 * SECOND)
    await bench.work()
    expect([bench.status().phase, bench.status().generatedKeys]).toEqual([
      'Ready',
      [{ name: 'logins', keys: ['password', 'token'] }],
    ])
  })

  it('although somebody writes to the Secret faster than it is read', async () => {
    const bench = await startReady(lab(...BOTH))
    bench.client.before = ({ verb, kind }) => {
      if (verb !== 'get' || kind !== 'Secret') return
      const annotations = { 'example.org/touched': String(bench.client.calls.length) }
      bench.client.cluster.admin.mergePatch(SECRET, KEY, { metadata: { annotations } })
    }
    lose(bench)
    await bench.clock.advance(5 * SECOND)
    expect(told(bench).reason).toBe('SecretLost')
  })

  it('and a value that somebody puts back at the same time stays', async () => {
    const bench = await startReady(lab(...BOTH))
    lose(bench)
    let isBack = false
    bench.client.before = ({ verb, kind }) => {
      if (verb !== 'patch' || kind !== 'Secret' || isBack) return
      isBack = true
      bench.client.cluster.admin.mergePatch(SECRET, KEY, { data: { password: 'YQ==' } })
    }
    await bench.work()
    await bench.work()
    expect([isBack, bench.status().phase, valuesIn(bench)['password']]).toEqual([true, 'Ready', 'a'])
  })

  it('and nobody else is read for that', async () => {
    const bench = await startReady(lab(...BOTH))
    const reads = () => bench.client.calls.filter(({ verb, kind }) => verb === 'get' && kind === 'Secret').length
    const before = reads()
    bench.client.cluster.admin.create(SECRET, {
      metadata: { namespace: 'lab', name: 'b' },
      apiVersion: 'v1',
      kind: 'Secret',
    })
    await bench.restart()
    await bench.work()
    expect([before, reads()]).toEqual([1, 2])
  })
})

it('a Secret that is asked for again after it was to go is not lost', async () => {
  const bench = await startReady(lab(...BOTH))
  bench.change({})
  await bench.work()
  bench.change(lab(...BOTH))
  await bench.work()
  expect([bench.status().phase, bench.status().irreplaceable]).toEqual(['Ready', ['Secret logins']])
  expect(bench.events().join()).not.toContain('SecretLost')
  expect(await bench.lost('secrets')).toBe(0)
})

it('a Secret of somebody else is not touched, and its name is a conflict', async () => {
  const theirs = { metadata: KEY, apiVersion: 'v1', kind: 'Secret', data: { password: 'YQ==' } } as KubeObject
  const bench = await start({})
  await bench.work()
  bench.client.cluster.admin.create(SECRET, theirs)
  bench.change(lab(...BOTH))
  await bench.work()
  expect([bench.status().phase, told(bench)]).toMatchObject(['Failed', { reason: 'NameConflict' }])
  expect(told(bench, 'VirtualMachine').message).toBe('waits for Secret logins, which is not ready (NameConflict)')
  expect([valuesIn(bench), writesTo(bench)]).toEqual([{ password: 'a' }, []])
})

it('a Secret that somebody tied to the workspace is not one that the operator made', async () => {
  const bench = await startReady(lab(...BOTH))
  const { uid = '' } = bench.workspace()?.metadata ?? {}
  const owner = { apiVersion: 'pelotech.ot/v1alpha1', kind: 'Workspace', name: 'lab', uid, controller: true }
  const tied = (name: string) => ({ namespace: 'lab', name, ownerReferences: [owner] })
  const theirs = (name: string, type: string) =>
    ({ metadata: tied(name), apiVersion: 'v1', kind: 'Secret', type, data: { password: 'YQ==' } }) as KubeObject
  bench.client.cluster.admin.create(SECRET, theirs('certificate', 'Opaque'))
  bench.client.cluster.admin.create(SECRET, theirs('login', 'kubernetes.io/basic-auth'))
  bench.change({
    ...lab(...BOTH),
    secrets: [
      { name: 'logins', generate: BOTH },
      { name: 'certificate', generate: BOTH },
    ],
  })
  await bench.work()
  const conflict = bench.status().components?.find(({ name }) => name === 'certificate')
  expect([bench.status().phase, conflict]).toMatchObject(['Failed', { reason: 'NameConflict' }])
  bench.deleteWorkspace()
  await bench.clock.advance(5 * SECOND)
  expect(bench.workspace()).toBeUndefined()
  expect(writesTo(bench).map(({ verb, key }) => `${verb} ${key}`)).toEqual(['create lab/logins', 'delete lab/logins'])
})

it('a Secret that is not to be made any more stays as long as a member names it', async () => {
  const { secrets: _, ...spec } = lab(...BOTH)
  const bench = await startReady({ ...spec, secrets: [{ name: 'logins', generate: BOTH }] })
  const values = valuesIn(bench)
  bench.change(spec)
  await bench.work()
  expect([bench.status().phase, valuesIn(bench)]).toEqual(['Ready', values])
  // What is left as it is still has it.
  bench.change({ containerClusters: [{ ...WEB, ignoreOnDeploy: true }] })
  await bench.work()
  expect([bench.status().phase, valuesIn(bench)]).toEqual(['Ready', values])
  bench.change({})
  await bench.work()
  expect([bench.status().phase, bench.client.all('Secret')]).toEqual(['Ready', []])
})

it('a Secret goes after the members that name it, or with the workspace', async () => {
  const bench = await startReady(lab(...BOTH))
  const others = { name: 'other', generate: [{ key: 'a' }] }
  bench.change({ secrets: [others] })
  await bench.work()
  const deleted = bench.client.calls.filter(({ verb }) => verb === 'delete').map(({ kind }) => kind)
  expect(deleted.filter((kind) => ['Secret', 'Deployment', 'VirtualMachine'].includes(kind)).at(-1)).toBe('Secret')
  expect(bench.client.all('Secret').map(({ metadata }) => metadata.name)).toEqual(['other'])
  bench.deleteWorkspace()
  await bench.clock.advance(5 * SECOND)
  expect([bench.client.all('Secret'), bench.workspace()]).toEqual([[], undefined])
})

it('what the Secret is not made with, or for, is a warning', async () => {
  const spec = lab({ key: 'password' })
  const bench = await start({ ...spec, containerClusters: [{ ...WEB, pullSecrets: ['logins'] }] })
  const warned = bench.status().conditions?.find(({ type }) => type === 'SpecWarning')?.message
  expect(warned).toContain('its key token is not made, and ContainerCluster web needs it')
  expect(warned).toContain('it is no login to a registry, and ContainerCluster web names it in pullSecrets')
})

it('a value that is longer than a password of Windows is a warning', async () => {
  const spec = (length?: number) => {
    const { vms, secrets } = lab({ key: 'password', ...(length !== undefined && { length }) })
    return { vms: vms.map((vm) => ({ ...vm, os: 'windows' as const })), secrets }
  }
  const bench = await start(spec())
  const warned = () => bench.status().conditions?.find(({ type }) => type === 'SpecWarning')?.message ?? ''
  const text = 'its key password is made with 24 characters, and VirtualMachine demo needs it as a password of Windows'
  expect(warned()).toContain(text.replace('demo', VM.name))
  bench.change(spec(20))
  await bench.work()
  expect(warned()).not.toContain('password of Windows')
})
