import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  isOverrideEntry,
  notAllowedOverride,
  OVERRIDE_VALUES_MAX,
  OVERRIDES_MAX,
  overridePath,
  overrideSteps,
  readOverrides,
  whyNotAllowed,
} from './overrides.ts'

const DOMAIN = 'template.spec.domain'

/** Overrides with one value at a path without lists. */
function at(path: string, value: unknown): Record<string, unknown> {
  return path.split('.').reduceRight<unknown>((below, name) => ({ [name]: below }), value) as Record<string, unknown>
}
const refusedIn = (overrides: object) => {
  const read = readOverrides('vm', overrides as Record<string, unknown>)
  return read.ok ? undefined : `${read.refused.path} ${read.refused.why}`
}
const disks = (...list: readonly unknown[]) => at(`${DOMAIN}.devices.disks`, list)

describe('overrides are refused', () => {
  it.each<[string, unknown, string]>([
    ['dataVolumeTemplates', [], 'cannot be overridden: images are only downloaded through the queue'],
    ['template.metadata', { annotations: { a: 'b' } }, 'cannot be overridden: labels and annotations decide'],
    ['template.spec.volumes', [{ name: 'x', hostDisk: {} }], 'cannot be overridden: spec.disks says that'],
    [`${DOMAIN}.devices.hostDevices`, [], 'cannot be overridden: it takes a device'],
    [`${DOMAIN}.devices.autoattachPodInterface`, true, 'cannot be overridden: it decides which networks'],
    [`${DOMAIN}.resources.requests`, { 'example.com/gpu': 1 }, 'cannot be overridden: it takes a device'],
    ['runStrategy', 'Halted', 'cannot be overridden: spec.runStrategy says that'],
    ['template.spec.serviceAccountName', 'admin', 'cannot be overridden: the machine would have the rights'],
    [`${DOMAIN}.newField`, 1, 'is no field that can be overridden'],
    ['__proto__', {}, 'is no field that can be overridden'],
    [`${DOMAIN}.cpu.model`, null, 'must be a text, a number, true or false'],
    [`${DOMAIN}.cpu.model`, { text: 'a' }, 'must be a text, a number, true or false'],
    [`${DOMAIN}.cpu`, 'host', 'must be an object with fields'],
    [`${DOMAIN}.cpu.features`, 'svm', 'must be a list'],
    [`${DOMAIN}.cpu.features`, [], 'is empty: remove it'],
    [`${DOMAIN}.cpu.model`, '', 'is empty: remove it'],
    [`${DOMAIN}.cpu.features`, [{ name: 'svm', more: 1 }], 'is no field that can be overridden'],
    ['template.spec', {}, 'sets nothing: remove it'],
    [DOMAIN, {}, 'sets nothing: remove it'],
    [`${DOMAIN}.resources.limits`, {}, 'sets nothing: remove it'],
    [`${DOMAIN}.cpu.features`, [{ name: 'svm', policy: '' }], 'is empty: remove it'],
    [`${DOMAIN}.cpu.cores`, 0, 'must be a whole number from 1 to 1024'],
    ['template.spec.terminationGracePeriodSeconds', 3_601, 'must be a whole number from 0 to 3600'],
    [`${DOMAIN}.resources.requests`, { memory: '1Mi' }, 'cannot be overridden: it takes from other machines'],
    [`${DOMAIN}.devices.disks`, {}, 'must be a list'],
    [`${DOMAIN}.devices.disks`, [{ cache: 'none' }], 'must have items with a name'],
    [`${DOMAIN}.devices.disks`, [{ name: 'rootdisk' }], 'sets nothing'],
    [`${DOMAIN}.devices.disks`, [{ name: 'a,b', cache: 'none' }], 'must have items with a name'],
    [`${DOMAIN}.devices.disks`, [{ name: 'rootdisk', lun: {} }], 'cannot be overridden: it takes a device'],
  ])('at %s: %j', (path, value, why) => {
    const refused = refusedIn(path === '__proto__' ? JSON.parse('{"__proto__":{}}') : at(path, value))
    expect(refused).toContain(why)
    expect(refused?.startsWith(path === '__proto__' ? '? ' : path)).toBe(true)
  })

  it('where an item is there twice', () => {
    const one = { name: 'rootdisk', cache: 'none' }
    expect(refusedIn(disks(one, one))).toBe(
      `${DOMAIN}.devices.disks[rootdisk] is there twice: give every item another name`,
    )
  })

  it('where they are longer than they may be, in one text or in many', () => {
    const long = (length: number) => at(`${DOMAIN}.chassis.asset`, 'a'.repeat(length))
    expect(refusedIn(long(OVERRIDES_MAX - 100))).toBeUndefined()
    expect(refusedIn(long(OVERRIDES_MAX))).toContain(`beyond the ${OVERRIDES_MAX} characters`)
    const many = Array.from({ length: OVERRIDES_MAX }, () => ({}))
    expect(refusedIn(at(`${DOMAIN}.devices.inputs`, many))).toContain('characters')
    const items = Array.from({ length: OVERRIDE_VALUES_MAX + 1 }, (_, index) => ({ name: `d${index}`, cache: 'none' }))
    expect(refusedIn(disks(...items))).toContain(`beyond the ${OVERRIDE_VALUES_MAX} values`)
  })

  it('and say nothing of any value', () => {
    const value = fc.oneof(
      fc.constant('canary'),
      fc.constant({ canary: 'canary' }),
      fc.constant(['canary']),
      fc.constant([{ name: 'canary canary', cache: 'canary' }]),
    )
    const path = fc.constantFrom(
      `${DOMAIN}.cpu`,
      `${DOMAIN}.cpu.model`,
      `${DOMAIN}.cpu.features`,
      `${DOMAIN}.devices.disks`,
      'template.spec.hostname',
      'nothing',
    )
    fc.assert(
      fc.property(path, value, (where, what) => {
        const said = (refusedIn(at(where, what)) ?? '').replace(/\.canary is no field/, '')
        expect(said).not.toContain('canary')
      }),
    )
  })
})

describe('overrides are read', () => {
  const OVERRIDES = {
    template: {
      spec: {
        terminationGracePeriodSeconds: 0,
        domain: {
          cpu: { model: 'host-model', features: [{ name: 'svm', policy: 'disable' }] },
          features: { acpi: {} },
          memory: { maxGuest: '8Gi' },
          devices: { disks: [{ name: 'rootdisk', cache: 'none', disk: { bus: 'sata' } }] },
        },
      },
    },
  }
  const read = readOverrides('vm', OVERRIDES)
  const values = read.ok ? read.values : []

  it('into values with paths that can be read again', () => {
    expect(values.map(({ steps, value }) => [overridePath(steps), value])).toEqual([
      ['template.spec.terminationGracePeriodSeconds', 0],
      [`${DOMAIN}.cpu.model`, 'host-model'],
      [`${DOMAIN}.cpu.features`, [{ name: 'svm', policy: 'disable' }]],
      [`${DOMAIN}.features.acpi`, {}],
      [`${DOMAIN}.memory.maxGuest`, '8Gi'],
      [`${DOMAIN}.devices.disks[rootdisk].cache`, 'none'],
      [`${DOMAIN}.devices.disks[rootdisk].disk.bus`, 'sata'],
    ])
    expect(values.map(({ steps }) => overrideSteps('vm', overridePath(steps)))).toEqual(
      values.map(({ steps }) => steps),
    )
  })

  it.each(['template.spec.volumes', 'a', '', '__proto__', `${DOMAIN}.cpu[a]`, `${DOMAIN}.devices.disks[`])(
    'not from the path %s, which names nothing that can be overridden',
    (path) => expect(overrideSteps('vm', path)).toBeUndefined(),
  )

  it('in a time that does not grow with the square of a path', () => {
    expect(overrideSteps('vm', `${'a'.repeat(4_000_000)}[`)).toBeUndefined()
  })

  it('and each needs an entry of the policy at it or above it', () => {
    expect(notAllowedOverride('vm', values, ['vm:template'])).toBeUndefined()
    const most = ['vm:template.spec.domain', 'vm:template.spec.termination']
    expect(notAllowedOverride('vm', values, most)?.steps).toEqual(['template', 'spec', 'terminationGracePeriodSeconds'])
    const disk = values.slice(-1)
    expect(notAllowedOverride('vm', disk, [`vm:${DOMAIN}.devices.disks.disk`])).toBeUndefined()
    const [refused] = disk
    expect(refused && whyNotAllowed('vm', refused)).toEqual({
      path: `${DOMAIN}.devices.disks[rootdisk].disk.bus`,
      why: `is not allowed: the policy key allowedOverrides does not list vm:${DOMAIN}.devices.disks.disk.bus; remove it, or have the policy allow it`,
    })
  })
})

it.each([
  ['vm:template', true],
  [`vm:${DOMAIN}.cpu.model`, true],
  [`vm:${DOMAIN}.devices.disks.cache`, true],
  ['vm:', false],
  ['template', false],
  ['vm:template.spec.volumes', false],
  ['vm:template.spec.volumes.hostDisk', false],
  [`vm:${DOMAIN}.cpu.modell`, false],
  [`vm:${DOMAIN}.cpu.features`, true],
  [`vm:${DOMAIN}.cpu.features.name`, false],
  [`vm:${DOMAIN}.devices.disks.name`, false],
  ['pod:spec.runtimeClassName', false],
  ['constructor:template', false],
])('the policy may list %s: %s', (entry, may) => expect(isOverrideEntry(entry)).toBe(may))
