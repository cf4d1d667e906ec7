import { ANNOTATIONS } from '@open-terrain/constructs'
import { cloudInitHash, cpuShape } from '@open-terrain/constructs/operator'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { given } from '../../../../test/prepared/runtime/plan-walk.ts'
import { aVM, cloudInitOf, SPEC } from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { changeTo } from '../../../runtime/owned-fields.ts'
import type { CloudInit } from '../world.ts'

type Fields = Readonly<Record<string, unknown>>

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })
const CPU = fc.constantFrom('1', '2', '4', '500m', '1.5')
const NO_OVERRIDES: Fields = {}

/** Machines as people ask for them, above all those with Windows. */
const spec = fc
  .record({
    os: fc.constantFrom('windows', 'windows', 'windows', 'linux', undefined),
    cpu: CPU,
    isOfType: fc.boolean(),
    preference: maybe(fc.constant({ name: 'windows.11' })),
    cores: maybe(fc.constantFrom(1, 3)),
    grace: maybe(fc.constantFrom(60, 300)),
    ipAddresses: fc.subarray(['10.0.0.5/24', '10.0.0.6/24', 'fd00::5/64', 'fd00::6/64'], { minLength: 1 }),
    mtu: maybe(fc.constantFrom(1_400, 9_000)),
  })
  .map(({ os, cpu, isOfType, preference, cores, grace, ipAddresses, mtu }) => {
    const overrides = {
      template: {
        spec: {
          ...(grace !== undefined && { terminationGracePeriodSeconds: grace }),
          ...(cores !== undefined && { domain: { cpu: { cores } } }),
        },
      },
    }
    return {
      ...(os !== undefined && { os }),
      ...(isOfType
        ? { resources: undefined, instancetype: { name: 'u1.small' } }
        : { resources: { cpu, memory: '2Gi' } }),
      ...(preference !== undefined && { preference }),
      ...((cores ?? grace) === undefined ? NO_OVERRIDES : { overrides }),
      interfaces: [{ network: 'lab', ipAddresses, ...(mtu !== undefined && { mtu }) }],
    }
  })

const POLICY = { allowedOverrides: ['vm:template.spec.domain.cpu', 'vm:template.spec.terminationGracePeriodSeconds'] }

interface Domain {
  readonly cpu?: Readonly<Record<string, unknown>>
}

function templateOf({ world: { machine } }: MachineWalk) {
  const { template } = (machine?.spec ?? {}) as {
    template: { spec: { domain: Domain; terminationGracePeriodSeconds?: number } }
  }
  return template.spec
}

const machineOf = ({ world: { machine } }: MachineWalk) =>
  JSON.stringify([machine?.metadata.annotations, machine?.spec])
const writes = ({ log }: MachineWalk) => log.filter((line) => !line.startsWith('status'))

/** A machine that runs as version 0.1 made it: sockets alone, a minute to shut down, and its addresses one after the other. */
function ofEarlierVersion(
  fields: Fields & {
    readonly os?: string
    readonly resources?: { readonly cpu: string; readonly memory: string } | undefined
  },
) {
  const now = cloudInitOf(aVM({}, { spec: given({ ...SPEC, ...fields }) }))
  if (now.kind !== 'rendered') throw new Error('no data')
  const first: CloudInit = { kind: 'rendered', data: now.earlier?.data ?? now.data }
  const walk = new MachineWalk({ spec: fields, policy: POLICY, cloudInit: first }).deploy()
  expect(walk.stand).toBe('Ready/Running')
  const { domain, terminationGracePeriodSeconds = 60 } = templateOf(walk)
  const { annotations = {} } = walk.world.machine?.metadata ?? {}
  const { [ANNOTATIONS.fieldsFromSpec]: had = '', ...others } = annotations
  const names = had.split(',').filter((one) => !['', 'cores', 'grace'].includes(one))
  const { cpus = undefined } = fields.resources === undefined ? {} : cpuShape(fields.resources.cpu)
  const isOverridden = annotations[ANNOTATIONS.overrides]?.includes('cores') ?? false
  const cpu = cpus === undefined ? domain.cpu : { ...domain.cpu, sockets: cpus, ...(!isOverridden && { cores: 1 }) }
  walk.tamper({
    metadata: {
      annotations: {
        ...others,
        ...(names.length > 0 && { [ANNOTATIONS.fieldsFromSpec]: names.join() }),
      },
    },
    template: { terminationGracePeriodSeconds, domain: { ...domain, ...(cpu !== undefined && { cpu }) } },
  })
  return walk.set({ cloudInit: now })
}

describe('a machine of an earlier version', () => {
  it('stays as it is, whatever it is, and needs no restart and no new disk', () => {
    fc.assert(
      fc.property(spec, (fields) => {
        const walk = ofEarlierVersion(fields)
        const [before, had] = [writes(walk), machineOf(walk)]
        walk.settle()
        expect([writes(walk), machineOf(walk)]).toEqual([before, had])
        expect(walk.plan().apply).toEqual([])
        expect(walk.condition('RebuildRequired')).toBeUndefined()
        expect(walk.condition('UpToDate')?.status).toBe('True')
      }),
      { numRuns: 60 },
    )
  })

  it('is as it was when an edit is undone', () => {
    fc.assert(
      fc.property(spec, (fields) => {
        const walk = ofEarlierVersion(fields).settle()
        const had = machineOf(walk)
        walk.edit({ name: 'other' }).settle()
        expect(walk.condition('RebuildRequired')?.status).toBe('True')
        walk.edit({ name: SPEC.name }).settle()
        expect(machineOf(walk)).toBe(had)
        expect(walk.condition('RebuildRequired')).toBeUndefined()
        expect(walk.condition('UpToDate')?.status).toBe('True')
      }),
      { numRuns: 30 },
    )
  })

  it('keeps its sockets and its minute when it gets another number of CPUs, and through a reset', () => {
    fc.assert(
      fc.property(spec, CPU, (fields, cpu) => {
        fc.pre(fields.resources !== undefined)
        const walk = ofEarlierVersion(fields).settle()
        const grace = templateOf(walk).terminationGracePeriodSeconds
        const { cores, threads } = templateOf(walk).domain.cpu ?? {}
        walk.edit({ resources: { cpu, memory: '2Gi' } }).settle()
        expect(templateOf(walk).domain.cpu).toEqual({ sockets: cpuShape(cpu).cpus, cores, threads })
        expect(templateOf(walk).terminationGracePeriodSeconds).toBe(grace)
        const resized = machineOf(walk)
        walk.reset().settle()
        expect(machineOf(walk)).toBe(resized)
        const { overrides: _none, ...rest } = fields as Fields
        const bare = ofEarlierVersion({ ...rest, resources: { cpu, memory: '2Gi' } }).settle()
        bare.machineGone().settle()
        expect(templateOf(bare).domain.cpu).toEqual({ sockets: cpuShape(cpu).cpus, cores: 1, threads: 1 })
      }),
      { numRuns: 30 },
    )
  })
})

describe('the data of a Windows guest from an earlier version', () => {
  const ipAddresses = ['10.0.0.5/24', '10.0.0.6/24']
  const fields = {
    os: 'windows',
    interfaces: [{ network: 'lab', ipAddresses }],
    resources: { cpu: '2', memory: '2Gi' },
  }
  const hashOf = ({ world: { secret } }: MachineWalk) => secret?.metadata.annotations?.[ANNOTATIONS.cloudInit]
  const now = cloudInitOf(aVM({}, { spec: given({ ...SPEC, ...fields }) }))
  const hashes = now.kind === 'rendered' ? [now.earlier?.data ?? now.data, now.data].map(cloudInitHash) : []

  it('stay, and what the guest lacks is a warning, with the commands', () => {
    const walk = ofEarlierVersion(fields).settle()
    expect(hashOf(walk)).toBe(hashes[0])
    expect(walk.condition('SpecWarning')).toMatchObject({ reason: 'WindowsGuest' })
    const { message } = walk.condition('SpecWarning') ?? {}
    expect(message).toContain('run in the guest: netsh interface ipv4 add address net0 10.0.0.5 255.255.255.0; ')
    expect(message).toContain('kubectl -n team delete secret vm-cloudinit')
  })

  it('are all there as commands, as far as a condition has room, after what the machine was told before', () => {
    const card = (at: number, count: number) => ({
      network: `lab-${at}`,
      ipAddresses: Array.from({ length: count }, (_one, host) => `10.0.${at}.${host + 5}/24`),
    })
    const messageOf = (cards: number, count: number, more: Fields = {}) => {
      const interfaces = Array.from({ length: cards }, (_one, at) => card(at, count))
      const walk = ofEarlierVersion({ ...fields, ...more, interfaces }).settle()
      return walk.condition('SpecWarning')?.message ?? ''
    }
    expect(messageOf(5, 4)).toContain('net4 10.0.4.5 255.255.255.0; this stays')
    expect(messageOf(16, 4)).toMatch(/ and \d+ more; .*delete secret vm-cloudinit$/)
    const hostAliases = [{ ip: '10.0.0.9', hostnames: ['web'] }]
    const before = messageOf(1, 1, { hostAliases })
    expect(before).not.toBe('')
    expect(messageOf(1, 2, { hostAliases }).startsWith(`${before}; `)).toBe(true)
  })

  it('are those of now where the deploy stopped before KubeVirt had a machine', () => {
    const { secret } = ofEarlierVersion(fields).world
    const walk = new MachineWalk({ spec: fields }).set({ secret }).deploy()
    expect(walk.stand).toBe('Ready/Running')
    expect(hashOf(walk)).toBe(hashes[1])
  })

  it('are judged by their size where they are written', () => {
    const walk = ofEarlierVersion(fields).settle()
    if (now.kind !== 'rendered') throw new Error('no data')
    const tooLarge = { kind: 'missing', reason: 'MissingUserDataSecret', message: 'too large' } as const
    expect(walk.set({ cloudInit: { ...now, tooLarge } }).settle().stand).toBe('Ready/Running')
    expect(hashOf(walk)).toBe(hashes[0])
    const fresh = new MachineWalk({ spec: fields, cloudInit: { ...now, tooLarge } }).settle()
    expect(fresh.status.message).toContain('too large')
    expect(fresh.world.secret).toBeUndefined()
  })

  it('are those of now again where an earlier version has written them after the first start', () => {
    const walk = new MachineWalk({ spec: fields }).deploy()
    const { secret } = walk.world
    if (secret === undefined) throw new Error('no Secret')
    const annotations = { ...secret.metadata.annotations, [ANNOTATIONS.cloudInit]: hashes[0] ?? '' }
    walk.set({ secret: { ...secret, metadata: { ...secret.metadata, annotations } } }).settle()
    expect(hashOf(walk)).toBe(hashes[1])
    expect([walk.condition('SpecWarning')?.reason, walk.condition('RebuildRequired')]).toEqual([undefined, undefined])
  })

  it.each<[string, (walk: MachineWalk) => unknown]>([
    ['the Secret is deleted', (walk) => walk.set({ secret: undefined })],
    ['the spec changes them', (walk) => walk.edit({ name: 'other' })],
  ])('are those of now when %s', (_what, change) => {
    const walk = ofEarlierVersion(fields).settle()
    change(walk)
    walk.settle()
    expect(hashes).not.toContain(undefined)
    expect(hashOf(walk)).not.toBe(hashes[0])
    expect(walk.condition('SpecWarning')?.reason).not.toBe('WindowsGuest')
    if (walk.world.spec.ok && walk.world.spec.spec.name === 'demo-vm') expect(hashOf(walk)).toBe(hashes[1])
  })
})

describe('a new machine', () => {
  it('has cores of one socket with Windows, unless a preference may decide, and keeps them when it is resized', () => {
    fc.assert(
      fc.property(spec, CPU, CPU, (fields, cpu, later) => {
        const hasCores = fields.os === 'windows' && fields.preference === undefined
        const resources = (number: string) => ({ resources: { cpu: number, memory: '2Gi' } })
        const shape = (number: string) =>
          hasCores ? { sockets: 1, cores: cpuShape(number).cpus } : { sockets: cpuShape(number).cpus, cores: 1 }
        const { overrides: _none, instancetype: _type, ...rest } = fields as Fields
        const walk = new MachineWalk({ spec: { ...rest, ...resources(cpu) } }).deploy()
        expect(templateOf(walk).domain.cpu).toEqual({ ...shape(cpu), threads: 1 })
        walk.edit(resources(later)).settle()
        expect(templateOf(walk).domain.cpu).toEqual({ ...shape(later), threads: 1 })
        walk.edit(resources(cpu)).settle()
        expect(templateOf(walk).domain.cpu).toEqual({ ...shape(cpu), threads: 1 })
        const { domain } = templateOf(walk)
        walk.tamper({ template: { domain: { ...domain, cpu: { sockets: 3, cores: 3, threads: 1 } } } }).settle()
        expect(templateOf(walk).domain.cpu).toEqual({ ...shape(cpu), threads: 1 })
      }),
      { numRuns: 30 },
    )
  })

  it('has a minute to shut down, unless a preference may say how long, also when that comes later', () => {
    const preference = { name: 'windows.11' }
    const grace = (walk: MachineWalk) => templateOf(walk).terminationGracePeriodSeconds
    const ofPreference = new MachineWalk({ spec: { os: 'windows', preference }, policy: POLICY }).deploy()
    const overrides = { template: { spec: { terminationGracePeriodSeconds: 300 } } }
    expect(grace(ofPreference)).toBeUndefined()
    expect(ofPreference.plan().apply).toEqual([])
    expect(grace(ofPreference.edit({ overrides }).settle())).toBe(300)
    expect(ofPreference.condition('SpecWarning')?.message ?? '').not.toContain('terminationGracePeriodSeconds')
    const wanted = ofPreference.edit({ overrides: undefined }).plan().apply[0] as unknown as KubeObject
    const path = 'spec.template.spec.terminationGracePeriodSeconds'
    expect(changeTo(wanted, ofPreference.world.machine as KubeObject)).toHaveProperty(path, null)
    expect(grace(ofPreference.settle())).toBeUndefined()
    ofPreference.tamper({ template: { terminationGracePeriodSeconds: 5 } })
    expect(grace(ofPreference.settle())).toBeUndefined()
    expect(grace(ofPreference.edit({ preference: undefined }).settle())).toBe(60)
    expect(grace(ofPreference.edit({ preference }).settle())).toBeUndefined()
    const before = new MachineWalk({ spec: { os: 'windows' } }).deploy()
    expect(grace(before)).toBe(60)
    expect(grace(before.edit({ preference }).settle())).toBe(60)
    const earlier = ofEarlierVersion({
      os: 'windows',
      preference,
      overrides,
      resources: { cpu: '2', memory: '2Gi' },
    }).settle()
    expect(grace(earlier)).toBe(300)
    expect(grace(earlier.edit({ overrides: undefined }).settle())).toBe(60)
  })

  it('has its cores again after another system, or a preference, for a moment, and when KubeVirt has it made again', () => {
    const walk = new MachineWalk({ spec: { os: 'windows', resources: { cpu: '4', memory: '2Gi' } } }).deploy()
    const cpuAfter = (fields: Fields) => templateOf(walk.edit(fields).settle()).domain.cpu
    expect(cpuAfter({ preference: { name: 'windows.11' } })).toMatchObject({ sockets: 4, cores: 1 })
    expect(cpuAfter({ preference: undefined })).toMatchObject({ sockets: 1, cores: 4 })
    expect(cpuAfter({ os: 'linux' })).toMatchObject({ sockets: 4, cores: 1 })
    expect(cpuAfter({ os: 'windows' })).toMatchObject({ sockets: 1, cores: 4 })
    expect(templateOf(walk.machineGone().settle()).domain.cpu).toMatchObject({ sockets: 1, cores: 4 })
  })
})
