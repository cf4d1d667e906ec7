import { ANNOTATIONS } from '@open-terrain/constructs'
import { shortHash, type VirtualMachineStatus } from '@open-terrain/constructs/operator'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parsed } from '../../../../test/prepared/workspace/workspace-world.ts'
import type { ImageView } from '../../../images/image-view.ts'
import type { MachineFacts } from '../world.ts'
import type { Rollout } from './component.ts'
import { type RolloutFacts, rebuildsDue, rolloutRequest } from './rebuilds.ts'

const PUBLISHED = {
  phase: 'Succeeded',
  revision: 'r2',
  artifact: { kind: 'VolumeSnapshot', name: 's', revision: 'r2' },
}
const GENERATION = 2
const SIZE = { resources: { cpu: 1, memory: '1Gi' } }

function anImageOf(status: object = PUBLISHED, metadata: object = {}): ImageView {
  const meta = { name: 'v2', namespace: 'farm', uid: 'v2', generation: 1, ...metadata }
  return { apiVersion: 'pelotech.ot/v1alpha1', kind: 'VMDiskImage', metadata: meta, spec: {}, status } as ImageView
}

interface Member {
  readonly phase?: 'Ready' | 'Failed' | 'Provisioning'
  readonly age?:
    | 'True/UpToDate'
    | 'False/SpecChanged'
    | 'False/ImageRefreshed'
    | 'False/RestartRequired'
    | 'Unknown/NotRecorded'
  /** The value of its annotation. */
  readonly value?: string
  readonly hasSeen?: boolean
  /** Its guest runs on while the new disk is made. */
  readonly isReplacing?: boolean
  readonly observedGeneration?: number
  readonly generation?: number
  readonly deletionTimestamp?: string
}

const DUE: Member = { age: 'False/SpecChanged' }

function aMember(name: string, member: Member): MachineFacts {
  const { phase = 'Ready', age = 'True/UpToDate', value, hasSeen = true, generation = GENERATION } = member
  const { observedGeneration = generation, deletionTimestamp } = member
  const [holds, reason] = age.split('/')
  return {
    apiVersion: 'pelotech.ot/v1alpha1',
    kind: 'VirtualMachine',
    metadata: {
      name,
      uid: `uid of ${name}`,
      generation,
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      ...(value !== undefined && { annotations: { [ANNOTATIONS.rebuildRequestedAt]: value } }),
    },
    spec: {},
    status: {
      phase,
      observedGeneration,
      conditions: [{ type: 'UpToDate', status: holds, reason, message: 'why' }] as VirtualMachineStatus['conditions'],
      ...(member.isReplacing && { replacement: { asked: 'Rebuild', disk: { name: `${name}-2` } } }),
      ...(value !== undefined && hasSeen && { rebuildRequest: shortHash([value]) }),
    },
  }
}

/** The mark of the present generation. */
const markOf = (name: string, generation = GENERATION) => shortHash([`uid of ${name}`, String(generation)])
const asked = (name: string, generation = GENERATION) => `rollout-${markOf(name, generation)}`

/** @param members undefined: the machine is not there */
function facts(
  members: Readonly<Record<string, Member | undefined>>,
  updateStrategy: object | undefined = { type: 'Recreate' },
  more: { readonly lab?: object; readonly vm?: object; readonly image?: ImageView | undefined } = {
    image: anImageOf(),
  },
): RolloutFacts {
  const vms = Object.keys(members).map((name) => ({ name, backingVMDiskImage: 'v2', ...SIZE, ...more.vm }))
  const children = Object.entries(members).flatMap(([name, member]) =>
    member === undefined ? [] : [[`VirtualMachine ${name}`, aMember(name, member)] as const],
  )
  return {
    spec: parsed({ vms, ...(updateStrategy && { updateStrategy }), ...more.lab }),
    children: new Map(children),
    images: new Map([['v2', 'image' in more ? more.image : anImageOf()]]),
  }
}
const names = ({ asked: those }: Rollout) => [...those.keys()]

describe('a rollout', () => {
  it.each<[string, RolloutFacts, string[]]>([
    ['takes one machine', facts({ a: DUE, b: DUE }), ['a']],
    ['takes as many as it may', facts({ a: DUE, b: DUE, c: DUE }, { type: 'Recreate', maxUnavailable: 2 }), ['a', 'b']],
    ['leaves those that are up to date', facts({ a: {}, b: DUE }), ['b']],
    ['leaves those whose image was refreshed', facts({ a: { age: 'False/ImageRefreshed' } }), []],
    ['leaves those that wait for a restart', facts({ a: { age: 'False/RestartRequired' } }), []],
    ['leaves those of which nothing is known', facts({ a: { age: 'Unknown/NotRecorded' } }), []],
    ['does nothing under OnRequest', facts({ a: DUE }, { type: 'OnRequest', maxUnavailable: 5 }), []],
    ['does nothing where nobody wants it', facts({ a: DUE }, {}), []],
    ['waits for one that is not Ready', facts({ a: DUE, b: { phase: 'Provisioning' } }), []],
    ['waits for one that has failed', facts({ a: DUE, b: { phase: 'Failed' } }), []],
    ['waits for one that is not there', facts({ a: DUE, b: undefined }), []],
    ['waits for one that has not answered', facts({ a: DUE, b: { observedGeneration: 1 } }), []],
    ['waits for one that is being deleted', facts({ a: DUE, b: { deletionTimestamp: '2026-01-01T00:00:00Z' } }), []],
    ['takes the one that is not Ready before the others', facts({ a: DUE, b: { ...DUE, phase: 'Failed' } }), ['b']],
    ['leaves one that is under way', facts({ a: { ...DUE, phase: 'Provisioning' } }), []],
    ['waits for one that was asked', facts({ a: { ...DUE, value: asked('a') }, b: DUE }), []],
    [
      'waits for one that was asked, and has not seen it',
      facts({ a: { value: asked('a', 1), hasSeen: false }, b: DUE }),
      [],
    ],
    [
      'waits for one that makes its new disk beside the old one, also after another edit',
      facts({ a: { ...DUE, value: asked('a', 1), isReplacing: true }, b: DUE }),
      [],
    ],
    ['asks again for another spec', facts({ a: { ...DUE, value: asked('a', 1) } }), ['a']],
    ['goes on after one that has its new disk', facts({ a: { value: asked('a') }, b: DUE }), ['b']],
    [
      'does nothing while the lab is off',
      facts({ a: DUE }, { type: 'Recreate' }, { lab: { powerState: 'Halted' } }),
      [],
    ],
    ['leaves what is not deployed', facts({ a: DUE }, { type: 'Recreate' }, { vm: { ignoreOnDeploy: true } }), []],
  ])('%s', (_what, of, expected) => {
    expect(names(rebuildsDue(of))).toEqual(expected)
  })

  it.each<[string, ImageView | undefined]>([
    ['is not there', undefined],
    ['is Failed', anImageOf({ ...PUBLISHED, phase: 'Failed' })],
    ['is not yet synced', anImageOf({ phase: 'Syncing', revision: 'r2' })],
    ['has an artifact of before', anImageOf({ ...PUBLISHED, phase: 'Syncing', revision: 'r3' })],
    ['has not been looked at', anImageOf({ ...PUBLISHED, observedGeneration: 1 }, { generation: 2 })],
    ['is being deleted', anImageOf(PUBLISHED, { deletionTimestamp: '2026-01-01T00:00:00Z' })],
  ])('destroys nothing for an image that %s', (_what, image) => {
    expect(rebuildsDue(facts({ a: DUE }, { type: 'Recreate' }, { image }))).toEqual({
      asked: new Map(),
      waitsFor: 'VMDiskImage v2',
    })
  })

  it('says what it waits for', () => {
    expect(rebuildsDue(facts({ a: DUE, b: { phase: 'Failed' } })).waitsFor).toBe('VirtualMachine b')
    expect(rebuildsDue(facts({ a: DUE, b: DUE })).waitsFor).toBe('VirtualMachine a')
    expect(rebuildsDue(facts({ a: DUE })).waitsFor).toBeUndefined()
  })
})

const NAMES = ['a', 'b', 'c', 'd']

/** Four machines that do what they are asked, each at its own pace. */
class Course {
  readonly asks: string[] = []
  readonly #members = new Map<string, Member & { readonly isRebuilding?: boolean }>(NAMES.map((name) => [name, {}]))
  readonly #strategy: object

  constructor(strategy: object) {
    this.#strategy = strategy
  }

  /** Machines that are without their old disk, and not Ready with their new one. */
  get rebuilding(): number {
    return [...this.#members.values()].filter(({ isRebuilding }) => isRebuilding === true).length
  }

  readonly steps = {
    edit: (name: string) => {
      this.#change(name, { ...DUE, generation: (this.#of(name).generation ?? GENERATION) + 1 })
    },
    see: (name: string) => {
      const { value, hasSeen, age } = this.#of(name)
      if (value === undefined || hasSeen !== false) return
      this.#change(name, { hasSeen: true, ...(age === DUE.age && { isReplacing: true }) })
    },
    swap: (name: string) => {
      if (this.#of(name).isReplacing) this.#change(name, { phase: 'Provisioning', isRebuilding: true })
    },
    done: (name: string) => {
      const over = { phase: 'Ready', age: 'True/UpToDate', isReplacing: false, isRebuilding: false }
      if (this.#of(name).isRebuilding) this.#change(name, over)
    },
    break: (name: string) => {
      if (!this.#of(name).isRebuilding) this.#change(name, { phase: 'Failed' })
    },
    heal: (name: string) => {
      if (!this.#of(name).isRebuilding) this.#change(name, { phase: 'Ready' })
    },
  }

  /** The lab plans, and writes. */
  plan(): void {
    const of = facts(Object.fromEntries(this.#members), this.#strategy)
    const rollout = rebuildsDue(of)
    for (const [name, mark] of rollout.asked) {
      this.asks.push(`${name} ${mark}`)
      this.#change(name, { value: rolloutRequest(mark), hasSeen: false })
    }
  }

  #of(name: string) {
    return this.#members.get(name) ?? {}
  }

  #change(name: string, more: object): void {
    this.#members.set(name, { ...this.#of(name), ...more })
  }
}

type Happening = readonly [keyof Course['steps'], string]

describe('through any course of things', () => {
  const happenings = fc.array(
    fc.tuple(
      fc.constantFrom('edit', 'see', 'see', 'swap', 'swap', 'done', 'done', 'break', 'heal'),
      fc.constantFrom(...NAMES),
    ),
    { minLength: 20, maxLength: 100, size: 'max' },
  ) as fc.Arbitrary<Happening[]>
  const play = (steps: readonly Happening[], strategy: object, holds: (course: Course) => void) => {
    const course = new Course(strategy)
    for (const [is, name] of steps) {
      course.steps[is](name)
      course.plan()
      holds(course)
    }
    return course.asks
  }

  it('no more than maxUnavailable machines are without their disks, and none is asked twice for a spec', () => {
    let some = 0
    fc.assert(
      fc.property(happenings, fc.constantFrom(1, 2, 3), (steps, maxUnavailable) => {
        const asks = play(steps, { type: 'Recreate', maxUnavailable }, ({ rebuilding }) => {
          expect(rebuilding).toBeLessThanOrEqual(maxUnavailable)
        })
        expect(new Set(asks).size).toBe(asks.length)
        some += asks.length
      }),
      { numRuns: 300 },
    )
    expect(some).toBeGreaterThan(100)
  })

  it('nothing is asked under OnRequest', () => {
    fc.assert(
      fc.property(happenings, (steps) => {
        expect(play(steps, { type: 'OnRequest', maxUnavailable: 3 }, () => undefined)).toEqual([])
      }),
      { numRuns: 50 },
    )
  })
})
