import { ANNOTATIONS } from '@open-terrain/constructs'
import { valueAtSteps } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import type { MachineWorldOverrides } from '../../../../test/prepared/virtual-machine/machine-world.ts'
import { changeTo } from '../../../runtime/owned-fields.ts'

const CANARY = 'canary-of-an-override'
const OTHER_CANARY = 'canary-of-another-override'
/** Overrides of the domain of KubeVirt's template, and of further fields of the template. */
const domain = (fields: object, more: object = {}) => ({ template: { spec: { domain: fields, ...more } } })
const OVERRIDES = domain({
  cpu: { model: 'host-model', cores: 2 },
  chassis: { serial: CANARY },
  features: { kvm: { hidden: true } },
  devices: { disks: [{ name: 'rootdisk', cache: 'none' }] },
})
const ALLOWED = { allowedOverrides: ['vm:template.spec.domain', 'vm:template.spec.terminationGracePeriodSeconds'] }
const NONE = { policy: { allowedOverrides: [] } }

const walkOf = (overrides: object | undefined, more: MachineWorldOverrides = {}) =>
  new MachineWalk({ spec: { overrides }, policy: ALLOWED, ...more })
const deployed = (overrides: object | undefined) => walkOf(overrides).deploy()
const at = (object: { readonly spec?: unknown } | undefined, path: string) =>
  valueAtSteps(object?.spec, ['template', 'spec', 'domain', ...path.split('.')])
/** A value below the domain of KubeVirt's machine as it is. */
const has = ({ world: { machine } }: MachineWalk, path: string) => at(machine, path)
/** Sets the policy of a machine that exists. */
const withPolicy = (walk: MachineWalk, allowedOverrides: readonly string[]) =>
  walk.set({ policy: { ...walk.world.policy, allowedOverrides } }).settle()
const writes = (walk: MachineWalk) => walk.log.filter((line) => line === 'apply VirtualMachine vm').length

describe('overrides of a machine', () => {
  it('are merged over what is rendered, once, and what they replace is a warning', () => {
    const walk = deployed(OVERRIDES)
    expect(walk.stand).toBe('Ready/Running')
    expect(has(walk, 'cpu')).toEqual({ sockets: 2, cores: 2, threads: 1, model: 'host-model' })
    expect(has(walk, 'features')).toEqual({ kvm: { hidden: true } })
    expect(has(walk, 'devices.disks')).toMatchObject([{ bootOrder: 1, cache: 'none' }, { name: 'cloudinit' }])
    expect([writes(walk), walk.plan().apply]).toEqual([1, []])
    expect(walk.condition('SpecWarning')).toMatchObject({
      reason: 'Overridden',
      message: 'spec.overrides replaces what the rest of the spec says: template.spec.domain.cpu.cores',
    })
    expect(JSON.stringify([walk.status, walk.events])).not.toContain(CANARY)
  })

  it('leave a machine without them as it is, and without an annotation', () => {
    const walk = deployed(undefined)
    expect(walk.world.machine?.metadata.annotations).not.toHaveProperty(ANNOTATIONS.overrides)
    expect(walk.world.machine?.spec).toEqual(deployed({}).world.machine?.spec)
  })

  it.each<[string, object, string]>([
    [
      'what the policy does not list',
      { dnsPolicy: CANARY },
      'dnsPolicy is not allowed: the policy key allowedOverrides',
    ],
    ['what is never allowed', { volumes: [CANARY] }, 'volumes cannot be overridden: spec.disks says that'],
    ['what nobody knows', { later: CANARY }, 'later is no field that can be overridden'],
  ])('that set %s keep the machine from being made, as a whole', (_what, more, why) => {
    const walk = walkOf(domain(OVERRIDES.template.spec.domain, more)).settle()
    expect(walk.stand).toBe('Failed/OverrideNotAllowed')
    expect(walk.message).toContain(`spec.overrides: template.spec.${why}`)
    expect([walk.world.machine, walk.world.clone]).toEqual([undefined, undefined])
    expect(JSON.stringify([walk.status, walk.events])).not.toContain(CANARY)
  })

  const HYPERV = { hyperv: { relaxed: {} }, hypervPassthrough: { enabled: true } }
  it.each<[string, object, string]>([
    [
      'domain.devices.video.type',
      domain({ devices: { video: { type: CANARY } } }),
      'is none that KubeVirt has: take vga, ',
    ],
    [
      'domain.devices.video.type',
      domain({ devices: { video: { type: 'vga' } } }, { architecture: 'arm64' }),
      'is none that KubeVirt has: take virtio or ramfb',
    ],
    [
      'domain.devices.watchdog',
      domain({ devices: { watchdog: { name: 'dog', diag288: { action: 'reset' } } } }),
      'must have i6300esb',
    ],
    ['domain.devices.watchdog', domain({ devices: { watchdog: { name: 'dog' } } }), 'must have i6300esb'],
    [
      'domain.devices.watchdog',
      domain({ devices: { watchdog: { name: 'dog', i6300esb: { action: 'reset' } } } }, { architecture: 'arm64' }),
      'is nothing that KubeVirt has for this architecture: remove it',
    ],
    ['domain.features.hypervPassthrough', domain({ features: HYPERV }), 'cannot be beside features.hyperv'],
    [
      'architecture',
      domain(
        {
          devices: { sound: { name: 'sound', model: 'ich9' }, disks: [{ name: 'rootdisk', disk: { bus: 'sata' } }] },
          firmware: { bootloader: { efi: {} } },
        },
        { architecture: 'arm64' },
      ),
      'is arm64, on which KubeVirt has no disk on bus sata, Secure Boot or sound device: remove it, or change these',
    ],
    [
      'architecture',
      { template: { spec: { architecture: 'ppc64le' } } },
      'is none that KubeVirt has machines of: take amd64, arm64 or s390x',
    ],
  ])('with which KubeVirt makes no instance are refused: %s of %j', (path, overrides, why) => {
    const policy = { allowedOverrides: ['vm:template.spec.domain', 'vm:template.spec.architecture'] }
    const walk = walkOf(overrides, { policy }).settle()
    expect(walk.stand).toBe('Failed/OverrideNotAllowed')
    expect(walk.message).toContain(`spec.overrides: template.spec.${path} ${why}`)
    expect(JSON.stringify([walk.world.machine, walk.status, walk.events])).not.toContain(CANARY)
  })

  it('with which KubeVirt makes instances are taken, on each architecture', () => {
    const policy = { allowedOverrides: ['vm:template.spec.domain', 'vm:template.spec.architecture'] }
    const devices = { video: { type: 'virtio' }, watchdog: { name: 'dog', diag288: { action: 'reset' } } }
    const overrides = domain({ devices, features: { hyperv: { relaxed: {} } } }, { architecture: 's390x' })
    expect(walkOf(overrides, { policy }).deploy().stand).toBe('Ready/Running')
  })

  it('of a disk that the machine does not have are refused, not added', () => {
    const walk = walkOf(domain({ devices: { disks: [{ name: 'data', cache: 'none' }] } })).settle()
    expect(walk.message).toBe(
      'spec.overrides: template.spec.domain.devices.disks[data] is not there: the machine has no item of that name',
    )
  })

  it('that the policy does not allow any more stay, and the rest of the spec still takes effect', () => {
    const walk = withPolicy(deployed(OVERRIDES), [])
    expect([walk.stand, writes(walk)]).toEqual(['Ready/Running', 1])
    walk.edit({ runStrategy: 'Halted' }).settle()
    expect([walk.world.machine?.runStrategy, has(walk, 'cpu.model')]).toEqual(['Halted', 'host-model'])
  })

  it('that are changed without the policy change nothing', () => {
    const walk = withPolicy(deployed(OVERRIDES), [])
    const before = walk.world.machine?.spec
    walk.edit({ runStrategy: 'Halted', overrides: domain({ cpu: { model: 'host-passthrough' } }) }).settle()
    expect(walk.stand).toBe('Failed/OverrideNotAllowed')
    expect(walk.world.machine?.spec).toEqual(before)
    withPolicy(walk, ['vm:template.spec.domain.cpu'])
    expect([has(walk, 'cpu.model'), has(walk, 'features'), has(walk, 'chassis')]).toEqual([
      'host-passthrough',
      undefined,
      undefined,
    ])
  })

  it('of an amount are changed by less than a whole, too', () => {
    const limit = (cpu: string) => domain({ resources: { limits: { cpu } } })
    const walk = deployed(limit('500m'))
    walk.edit({ overrides: limit('900m') }).settle()
    expect(has(walk, 'resources.limits.cpu')).toBe('900m')
    expect(
      withPolicy(walk, [])
        .edit({ overrides: limit('700m') })
        .settle().stand,
    ).toBe('Failed/OverrideNotAllowed')
  })

  it('that are the presence of an object leave its fields to others', () => {
    const walk = deployed(domain({ features: { acpi: {} } }))
    const spec = walk.world.machine?.spec as { template: { spec: { domain: object } } }
    walk.tamper({ template: { domain: { ...spec.template.spec.domain, features: { acpi: { enabled: true } } } } })
    expect(walk.plan().apply).toEqual([])
    walk.edit({ overrides: undefined })
    const [rendered] = walk.plan().apply
    const { machine } = walk.world
    const change = rendered && machine && changeTo(rendered, machine)
    expect(at(change as { spec: object }, 'features')).not.toBe(null)
  })

  it('of the clock of Windows leave the rest of it, and it is back without them', () => {
    const rendered = has(new MachineWalk({ spec: { os: 'windows' } }).deploy(), 'clock')
    const overrides = domain({ clock: { timer: { hpet: { present: true } } } })
    const walk = new MachineWalk({ spec: { os: 'windows', overrides }, policy: ALLOWED }).deploy()
    expect(has(walk, 'clock')).toEqual({
      ...(rendered as object),
      timer: expect.objectContaining({ hpet: { present: true } }),
    })
    walk.edit({ overrides: undefined }).settle()
    expect(has(walk, 'clock')).toEqual(rendered)
  })

  it('may be taken away whatever the policy says, and what was rendered is back', () => {
    const walk = withPolicy(deployed(OVERRIDES), []).edit({ overrides: undefined }).settle()
    expect(walk.world.machine?.spec).toEqual(deployed(undefined).world.machine?.spec)
    expect(walk.world.machine?.metadata.annotations?.[ANNOTATIONS.overrides]).toBe('')
    expect(walk.plan().apply).toEqual([])
  })

  it('are put right where others change them, and what others set beside them stays', () => {
    const walk = deployed(OVERRIDES)
    const spec = (walk.world.machine?.spec ?? {}) as { template: { spec: { domain: Record<string, object> } } }
    const theirs = {
      ...spec.template.spec.domain,
      cpu: { ...spec.template.spec.domain['cpu'], model: OTHER_CANARY, numa: {} },
      features: { kvm: { hidden: true }, pae: {} },
    }
    walk.tamper({ template: { domain: theirs } })
    const [wanted] = walk.plan().apply
    const { machine } = walk.world
    if (wanted === undefined || machine === undefined) throw new Error('nothing is put right')
    expect(changeTo(wanted, machine)).toMatchObject({
      spec: { template: { spec: { domain: { cpu: { model: 'host-model' }, features: { kvm: { hidden: true } } } } } },
    })
    walk.edit({ overrides: undefined })
    const [rendered] = walk.plan().apply
    const change = rendered && changeTo(rendered, machine)
    expect(at(change as { spec: object }, 'features')).toEqual({ kvm: null })
    expect(at(change as { spec: object }, 'chassis')).toBe(null)
    expect(at(change as { spec: object }, 'cpu')).toEqual({ sockets: 2, cores: 1, threads: 1, model: null })
  })

  it('that KubeVirt writes in other words, or leaves out, are not written again', () => {
    const overrides = domain({
      memory: { maxGuest: '8192Mi' },
      cpu: { isolateEmulatorThread: false },
      devices: { disks: [{ name: 'rootdisk', disk: { readonly: false } }] },
    })
    const walk = deployed(overrides)
    const spec = walk.world.machine?.spec as {
      template: { spec: { domain: { cpu: object; devices: { disks: { disk: object }[] } } } }
    }
    const { cpu, devices, ...rest } = spec.template.spec.domain
    const disks = devices.disks.map((disk) => ({ ...disk, disk: { bus: 'virtio' } }))
    const { isolateEmulatorThread: _, ...kept } = cpu as { readonly isolateEmulatorThread?: boolean }
    const stored = { ...rest, cpu: kept, devices: { ...devices, disks }, memory: { guest: '2Gi', maxGuest: '8Gi' } }
    walk.tamper({ template: { domain: stored } })
    expect(walk.plan().apply).toEqual([])
    expect(withPolicy(walk, []).stand).toBe('Ready/Running')
  })

  it.each<[string, object, readonly object[]]>([
    ['a field that its types demand', { type: 'tablet' }, [{ bus: '', name: '', type: 'tablet' }]],
    ['no field that is zero', { name: 'tablet', type: 'tablet', bus: 0 }, [{ name: 'tablet', type: 'tablet' }]],
  ])('of a list in which KubeVirt writes %s are not written again', (_what, input, stored) => {
    const walk = deployed(domain({ devices: { inputs: [input] } }))
    const spec = walk.world.machine?.spec as { template: { spec: { domain: { devices: object } } } } | undefined
    const before = spec?.template.spec.domain
    const write = (inputs: readonly object[]) =>
      walk.tamper({ template: { domain: { ...before, devices: { ...before?.devices, inputs } } } })
    write([{ ...stored[0], name: 'other' }])
    expect(walk.plan().apply).toHaveLength(1)
    write(stored)
    expect(walk.plan().apply).toEqual([])
    expect(withPolicy(walk, []).stand).toBe('Ready/Running')
  })

  it('are none of what the hardware of the spec takes from KubeVirt’s machine', () => {
    const walk = deployed(domain({ features: { smm: { enabled: true } }, firmware: { bootloader: { efi: {} } } }))
    expect(has(walk, 'firmware.bootloader')).toEqual({ efi: {} })
    walk.edit({ overrides: undefined }).settle()
    expect([has(walk, 'features'), has(walk, 'firmware.bootloader')]).toEqual([undefined, undefined])
    expect(walk.plan().apply).toEqual([])
  })

  it('wait for a restart where KubeVirt says so', () => {
    const walk = deployed(OVERRIDES).edit({ overrides: domain({ cpu: { model: 'host-passthrough' } }) })
    const required = { type: 'RestartRequired', status: 'True', message: 'a non-live-updatable field was changed' }
    walk.settle().kubevirt({ printableStatus: 'Running', conditions: [{ type: 'Ready', status: 'True' }, required] })
    expect(walk.condition('RestartRequired')).toMatchObject({ status: 'True' })
  })

  it('do not count without a policy that lists them', () => {
    expect(walkOf(OVERRIDES, NONE).settle().stand).toBe('Failed/OverrideNotAllowed')
  })
})
