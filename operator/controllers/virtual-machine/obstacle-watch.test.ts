import { LABELS } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { apiError } from '../../../test/prepared/kube/api-error.ts'
import { aLiveReadBench } from '../../../test/prepared/runtime/look-bench.ts'
import { SECOND } from '../../../test/prepared/runtime/times.ts'
import { aVM } from '../../../test/prepared/virtual-machine/machine-objects.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import { type Needs, ObstacleWatch } from './obstacle-watch.ts'

const ENOUGH = 30 * SECOND
const NETWORK = 'NetworkAttachmentDefinition'
const LOOK = [`list ${NETWORK} team`, 'list Pod team', 'list Event team']

function build() {
  const { client, clock, changed, basics, onChange, run } = aLiveReadBench()
  const watch = run(new ObstacleWatch({ ...basics, onChange }))
  const machine = (name = 'vm', namespace = 'team') => aVM({ name, namespace, uid: `uid of ${namespace}/${name}` })
  const note = (vm = machine(), more: Partial<Needs> = {}) =>
    watch.note(vm, {
      instanceUid: `instance of ${vm.metadata.name}`,
      networks: [],
      refusedUid: undefined,
      hasHung: false,
      ...more,
    })
  /** A launcher pod of a machine, with one warning. */
  const warn = (message: string, name = 'vm', owner: { readonly uid?: string } = {}) => {
    const metadata = { name: `virt-launcher-${name}`, namespace: 'team', uid: `pod of ${name}` }
    const labels = { [LABELS.vmUid]: `uid of team/${name}` }
    const instance = { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachineInstance' }
    const known = { name, uid: `instance of ${name}`, ...(owner.uid !== undefined && { uid: owner.uid }) }
    client.put({ ...instance, metadata: { ...known, namespace: 'team' } })
    const owned = { ...metadata, labels, ownerReferences: [{ ...instance, ...known, controller: true, ...owner }] }
    client.put({ apiVersion: 'v1', kind: 'Pod', metadata: owned, status: { phase: 'Pending' } } as KubeObject)
    return client.put({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: `event of ${name}`, namespace: 'team' },
      involvedObject: { kind: 'Pod', name: metadata.name, uid: metadata.uid },
      type: 'Warning',
      reason: 'FailedMount',
      message,
      lastTimestamp: new Date(clock.now()).toISOString(),
    } as KubeObject)
  }
  const network = (name: string) =>
    client.put({ apiVersion: 'k8s.cni.cncf.io/v1', kind: NETWORK, metadata: { name, namespace: 'team' } })
  return { client, clock, changed, watch, machine, note, warn, network }
}

describe('a machine that starts', () => {
  it('in time costs no request', async () => {
    const { client, clock, watch, machine, note } = build()
    expect(note()).toEqual(expect.objectContaining({ obstacle: undefined, isAwaited: false }))
    await clock.advance(ENOUGH - 1)
    watch.drop(machine())
    await clock.advance(10 * ENOUGH)
    expect(client.calls).toEqual([])
    expect(clock.pending).toBe(0)
  })

  it('for too long is looked at, with all others of its namespace, as long as one hangs', async () => {
    const { client, clock, changed, watch, machine, note, warn } = build()
    warn('no disk')
    note()
    note(machine('other'))
    await clock.advance(ENOUGH)
    expect(client.callsOf()).toEqual(LOOK)
    expect(changed).toEqual(['team/vm', 'team/other'])
    expect(note().obstacle).toEqual({ missingNetworks: [], hasMultus: true, warning: 'FailedMount: no disk' })
    expect(note(machine('other')).obstacle).toBeUndefined()
    watch.drop(machine())
    await clock.advance(ENOUGH)
    expect(client.callsOf()).toEqual([...LOOK, ...LOOK])
    watch.drop(machine('other'))
    await clock.advance(10 * ENOUGH)
    expect(client.callsOf()).toHaveLength(6)
  })

  it.each([{ uid: 'another' }, { kind: 'ReplicaSet' }, { apiVersion: 'nope.example/v1' }, { controller: false }])(
    'is not told of what is in the way of a pod that is not its own: %o',
    async (owner) => {
      const { clock, note, warn } = build()
      warn('no disk', 'vm', owner)
      note()
      await clock.advance(ENOUGH)
      expect(note().obstacle).toBeUndefined()
    },
  )

  it('is told of when something else is known, and not again for the same', async () => {
    const { client, clock, changed, note, warn } = build()
    warn('no disk')
    note()
    await clock.advance(ENOUGH)
    await clock.advance(3 * ENOUGH)
    expect(changed).toEqual(['team/vm'])
    warn('no Secret')
    await clock.advance(ENOUGH)
    expect(changed).toHaveLength(2)
    expect(note().obstacle?.warning).toBe('FailedMount: no Secret')
    client.drop('Event', 'team/event of vm')
    await clock.advance(ENOUGH)
    expect(changed).toHaveLength(3)
    expect(note().obstacle).toBeUndefined()
  })

  it('for a shorter time than its neighbour is not told of yet', async () => {
    const { clock, machine, note, warn } = build()
    warn('not yet', 'late')
    note()
    await clock.advance(ENOUGH - SECOND)
    note(machine('late'))
    await clock.advance(2 * SECOND)
    expect(note(machine('late')).obstacle).toBeUndefined()
    await clock.advance(ENOUGH)
    expect(note(machine('late')).obstacle?.warning).toBe('FailedMount: not yet')
  })

  it('that is new is not blamed for the pod of the instance before', async () => {
    const { clock, watch, machine, note, warn } = build()
    warn('no disk')
    note()
    await clock.advance(ENOUGH)
    const again = { instanceUid: 'another', networks: [], refusedUid: undefined, hasHung: false }
    expect(watch.note(machine(), again).obstacle).toBeUndefined()
    await clock.advance(ENOUGH)
    expect(watch.note(machine(), again).obstacle).toBeUndefined()
  })

  it('is not blamed for what is no warning, or about others', async () => {
    const { client, clock, note, warn } = build()
    const event = warn('theirs')
    client.put({ ...event, type: 'Normal', metadata: { ...event.metadata, name: 'normal' } } as KubeObject)
    client.drop('Event', 'team/event of vm')
    warn('theirs', 'another')
    note()
    await clock.advance(ENOUGH)
    expect(note().obstacle).toBeUndefined()
  })
})

describe('networks', () => {
  const needs = { networks: ['lan', 'wan'] }

  it('are missing until they are there', async () => {
    const { clock, changed, note, network } = build()
    network('lan')
    note(undefined, needs)
    await clock.advance(ENOUGH)
    expect(note(undefined, needs).obstacle).toEqual({ missingNetworks: ['wan'], hasMultus: true, warning: undefined })
    network('wan')
    await clock.advance(ENOUGH)
    expect(note(undefined, needs).obstacle).toBeUndefined()
    expect(changed).toHaveLength(2)
  })

  it('of other namespaces are looked for there', async () => {
    const { client, clock, note, network } = build()
    network('v-100')
    const elsewhere = { networks: ['vlans/v-100'] }
    note(undefined, elsewhere)
    await clock.advance(ENOUGH)
    expect(note(undefined, elsewhere).obstacle).toMatchObject({ missingNetworks: ['vlans/v-100'] })
    client.put({ ...network('v-100'), metadata: { name: 'v-100', namespace: 'vlans' } })
    await clock.advance(ENOUGH)
    expect(note(undefined, elsewhere).obstacle).toBeUndefined()
  })

  it('that are corrected count at once', async () => {
    const { client, clock, note, network } = build()
    network('lan')
    note(undefined, needs)
    await clock.advance(ENOUGH)
    const requests = client.calls.length
    expect(note(undefined, { networks: ['lan'] }).obstacle).toBeUndefined()
    expect(client.calls).toHaveLength(requests)
  })

  it('are all missing without Multus', async () => {
    const { client, clock, note } = build()
    client.before = ({ kind }) => {
      if (kind === NETWORK) throw apiError('NotFound')
    }
    note(undefined, needs)
    await clock.advance(ENOUGH)
    expect(note(undefined, needs).obstacle).toMatchObject({ missingNetworks: ['lan', 'wan'], hasMultus: false })
  })

  it('are of no matter to a machine that needs none', async () => {
    const { client, clock, note } = build()
    client.before = ({ kind }) => {
      if (kind === NETWORK) throw apiError('NotFound')
    }
    note()
    await clock.advance(ENOUGH)
    expect(note().obstacle).toBeUndefined()
  })
})

describe('a look', () => {
  it.each(['Unavailable', 'Rejected'] as const)('that fails is no reason for more of them: %s', async (reason) => {
    const { client, clock, changed, note, warn } = build()
    warn('no disk')
    note()
    client.before = () => {
      throw apiError(reason)
    }
    await clock.advance(ENOUGH)
    expect(note()).toMatchObject({ isAwaited: false, obstacle: undefined })
    await clock.advance(9 * ENOUGH)
    expect(client.calls.length).toBeLessThanOrEqual(10)
    expect(changed).toEqual(['team/vm'])
    client.before = undefined
    await clock.advance(2 * ENOUGH)
    expect(note().obstacle?.warning).toBe('FailedMount: no disk')
  })

  it('that fails leaves what is known', async () => {
    const { client, clock, changed, note, warn } = build()
    warn('no disk')
    note()
    await clock.advance(ENOUGH)
    client.before = () => {
      throw apiError('Unavailable')
    }
    await clock.advance(ENOUGH)
    expect(note().obstacle?.warning).toBe('FailedMount: no disk')
    expect(changed).toHaveLength(1)
  })

  it('at many namespaces is one a second for all of them', async () => {
    const { client, clock, machine, note } = build()
    const namespaces = Array.from({ length: 100 }, (_, number) => `team-${number}`)
    for (const namespace of namespaces) note(machine('vm', namespace))
    await clock.advance(ENOUGH)
    const first = client.calls.length
    expect(first).toBe(2 * namespaces.length)
    await clock.advance(100 * SECOND)
    expect(client.calls.length).toBe(2 * first)
  })
})

describe('a machine that hung before', () => {
  it('is looked at at once, and what was found serves all who come later', async () => {
    const { client, clock, note, machine, warn } = build()
    warn('no disk')
    warn('no lan', 'other')
    note(undefined, { hasHung: true })
    await clock.advance(0)
    expect(note()).toMatchObject({ isAwaited: false, obstacle: { warning: 'FailedMount: no disk' } })
    const other = note(machine('other'), { hasHung: true })
    expect(other).toMatchObject({ isAwaited: false, obstacle: { warning: 'FailedMount: no lan' } })
    await clock.advance(SECOND)
    expect(client.callsOf()).toEqual(LOOK)
  })

  it.each<[string, Partial<Needs>, Partial<Needs>]>([
    ['as the first one', {}, {}],
    ['and another object is refused', { refusedUid: 'one' }, { refusedUid: 'two' }],
    ['and its pod is in the way, not what is refused', { refusedUid: 'one' }, {}],
    ['and it is refused', {}, { refusedUid: 'two' }],
  ])('is served within a second though a look is under way: it hangs %s', async (_how, first, second) => {
    const { client, clock, changed, note, machine } = build()
    const answer = Promise.withResolvers<void>()
    client.before = () => answer.promise
    note(undefined, { hasHung: true, ...first })
    await clock.advance(10)
    expect(note(machine('other'), { hasHung: true, ...second }).isAwaited).toBe(true)
    client.before = undefined
    answer.resolve()
    await clock.advance(SECOND)
    expect(note(machine('other'), { hasHung: true, ...second }).isAwaited).toBe(false)
    expect(changed).toEqual(['team/vm', 'team/other'])
  })

  it('is not served by an earlier look at others, which did not ask for what it needs', async () => {
    const { clock, note, machine } = build()
    note(undefined, { hasHung: true, refusedUid: 'one' })
    await clock.advance(0)
    expect(note(machine('pod'), { hasHung: true }).isAwaited).toBe(true)
    expect(note(machine('other'), { hasHung: true, refusedUid: 'two' }).isAwaited).toBe(true)
    await clock.advance(SECOND)
    expect(note(machine('pod')).isAwaited).toBe(false)
  })
})
