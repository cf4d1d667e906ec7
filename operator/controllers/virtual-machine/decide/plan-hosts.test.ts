import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { guestHostsHash } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import { anInstance, KUBEVIRT } from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import { NO_PASSWORD } from '../../../../test/prepared/virtual-machine/machine-world.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'

const WEB = [{ ip: '10.10.0.2', hostnames: ['web'] }]
const DB = [{ ip: '10.10.0.3', hostnames: ['db'] }]

/** Its guest was started with these names. */
function started(hostAliases: typeof WEB | undefined): MachineWalk {
  const hash = guestHostsHash(hostAliases)
  const walk = new MachineWalk().edit({ hostAliases }).settle().disk(DISK.succeeded)
  return walk
    .set({ instance: anInstance({}, hash === undefined ? {} : { labels: { [LABELS.hosts]: hash } }) })
    .kubevirt(KUBEVIRT.running)
}
/** An empty annotation stands for none. */
const hostsOf = (object: KubeObject | undefined) => object?.metadata.annotations?.[ANNOTATIONS.hosts] || undefined
const nextOf = ({ world: { machine } }: MachineWalk): unknown => {
  const spec = machine?.spec as { template: { metadata: { labels: Record<string, string> } } } | undefined
  return spec?.template.metadata.labels[LABELS.hosts]
}

describe('the host names of a guest', () => {
  it.each([
    ['none', undefined],
    ['some', WEB],
  ])('that it started with are no news: %s', (_what, hostAliases) => {
    const walk = started(hostAliases)
    expect([walk.stand, walk.condition('NamesNotCurrent')]).toEqual(['Ready/Running', undefined])
    const hash = guestHostsHash(hostAliases)
    expect([hostsOf(walk.world.secret), nextOf(walk)]).toEqual([hash, hash])
  })

  it.each([
    ['the first', undefined, WEB],
    ['others', WEB, DB],
    ['none any more', WEB, undefined],
  ])(
    'that are new restart nothing, are on its drive at its next start, and are told until then: %s',
    (_what, before, after) => {
      const walk = started(before)
      const { specHash } = walk.status
      const from = walk.log.length
      walk.edit({ hostAliases: after }).settle()
      expect(walk.log.slice(from).filter((line) => line.startsWith('delete'))).toEqual([])
      const hash = guestHostsHash(after)
      expect([hostsOf(walk.world.secret), nextOf(walk), walk.status.specHash]).toEqual([hash, hash, specHash])
      expect([walk.stand, walk.message]).toEqual([
        'Ready/NamesNotCurrent',
        expect.stringMatching(/virtctl restart -n team vm\)$/),
      ])
      expect(walk.condition('RestartRequired') ?? walk.condition('RebuildRequired')).toBeUndefined()
      expect(walk.events.at(-1)).toBe('Normal NamesNotCurrent')
      const labels = hash === undefined ? {} : { labels: { [LABELS.hosts]: hash } }
      walk.set({ instance: anInstance({}, { uid: 'instance-2', ...labels }) }).settle()
      expect([walk.stand, walk.condition('NamesNotCurrent')]).toEqual(['Ready/Running', undefined])
    },
  )

  it('that are taken away and put back are written each time, and once', () => {
    const walk = started(WEB)
    for (const hostAliases of [undefined, WEB, undefined]) {
      const from = walk.log.length
      walk.edit({ hostAliases }).settle()
      const written = walk.log.slice(from).filter((line) => line.startsWith('apply Secret'))
      expect(written).toHaveLength(1)
      expect([hostsOf(walk.world.secret), nextOf(walk)]).toEqual(Array(2).fill(guestHostsHash(hostAliases)))
    }
    const { annotations } = new MachineWalk().settle().disk(DISK.succeeded).world.secret?.metadata ?? {}
    expect(annotations).not.toHaveProperty([ANNOTATIONS.hosts])
  })

  it('that cannot be written yet are told with the cause, and no restart is asked for that would not help', () => {
    const walk = started(undefined).edit({ hostAliases: WEB })
    const { cloudInit } = walk.world
    walk.set({ cloudInit: NO_PASSWORD }).settle()
    expect(walk.stand).toBe('Ready/NamesNotCurrent')
    expect(walk.message).toContain(NO_PASSWORD.message)
    expect(walk.condition('NamesNotCurrent')?.message).toContain(`cannot be written yet: ${NO_PASSWORD.message}`)
    expect(walk.message).not.toContain('virtctl restart')
    walk.set({ cloudInit }).settle()
    expect(walk.message).toContain('virtctl restart -n team vm')
  })

  it('are no news where the machine of KubeVirt cannot be changed any more', () => {
    const tolerations = Array.from({ length: 2_000 }, (_, at) => ({ key: `key-${at}-${'x'.repeat(40)}` }))
    const walk = started(undefined).tamper({ template: { tolerations } }).edit({ hostAliases: WEB }).settle()
    expect(walk.condition('AddedByOthers')?.message).toContain('it is so large')
    expect([walk.stand, walk.condition('NamesNotCurrent')]).toEqual(['Ready/Running', undefined])
  })

  it('do not reach Windows, which is said', () => {
    const walk = new MachineWalk().edit({ os: 'windows', users: [], hostAliases: WEB }).settle().disk(DISK.succeeded)
    expect([hostsOf(walk.world.secret), nextOf(walk)]).toEqual([undefined, undefined])
    expect(walk.condition('SpecWarning')?.message).toContain('hostAliases do not reach Windows')
    walk.instance({}).kubevirt(KUBEVIRT.running)
    expect(walk.condition('NamesNotCurrent')).toBeUndefined()
  })
})
