import { LABELS } from '@open-terrain/constructs'
import { FINALIZERS } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import type { SeenEvent } from './etcd-history.ts'
import { checkLedger, checkOrder } from './ledger-check.ts'

const NAMESPACE = 'operator'

/** A made-up history: each event is the next revision. */
class Story {
  readonly events: SeenEvent[] = []

  /** An image that could start at once; its ticket is this revision. */
  queues(name: string): this {
    const ticket = this.#next
    const reconciling = { type: 'Reconciling', status: 'True', reason: 'Queued' }
    const status = { phase: 'Queued', ticket, observedGeneration: 1, conditions: [reconciling] }
    return this.#add(
      'VMDiskImage',
      'MODIFIED',
      { name, uid: name, generation: 1, finalizers: [FINALIZERS.vmDiskImage] },
      { status },
    )
  }

  /** The spec changes. The status does not reflect it yet. */
  changes(name: string): this {
    return this.#add(
      'VMDiskImage',
      'MODIFIED',
      { name, uid: name, generation: 2 },
      { status: { observedGeneration: 1 } },
    )
  }

  ledger(limit: number, ...names: readonly string[]): this {
    const holders = names.map((name) => ({ uid: name, namespace: 'images', name, revision: 'r', attempt: 1 }))
    const data = { limit: String(limit), holders: JSON.stringify(holders) }
    return this.#add('ConfigMap', 'MODIFIED', { name: 'sync-operator-slots', namespace: NAMESPACE }, { data })
  }

  downloads(name: string): this {
    const ownerReferences = [
      { apiVersion: 'pelotech.ot/v1alpha1', kind: 'VMDiskImage', name, uid: name, controller: true },
    ]
    return this.#download('ADDED', name, { ownerReferences })
  }

  /** Its download goes on without an owner. */
  orphans(name: string): this {
    return this.#download('MODIFIED', name)
  }

  /** Its download, which has no owner any more, is gone. */
  loses(name: string): this {
    return this.#download('DELETED', name)
  }

  #download(type: SeenEvent['type'], name: string, more: object = {}): this {
    const metadata = { name: `${name}-r`, uid: `${name}-r`, labels: { [LABELS.revision]: 'r' }, ...more }
    return this.#add('DataVolume', type, metadata, {})
  }

  get #next(): string {
    return String(this.events.length + 1)
  }

  #add(kind: string, type: SeenEvent['type'], metadata: object, rest: object): this {
    const object = { apiVersion: 'v1', kind, metadata: { ...metadata, resourceVersion: this.#next }, ...rest }
    this.events.push({ kind, type, object: object as SeenEvent['object'], at: 0 })
    return this
  }
}

/** Three images wait, and two slots are free. */
const begun = () => new Story().ledger(2).queues('a').queues('b').queues('c')

const order = (story: Story) => () => checkOrder(story.events, NAMESPACE)
const ledger = (story: Story) => () => checkLedger(story.events, NAMESPACE)

describe('the DataVolumes of one batch', () => {
  it('come in the order of their tickets', () => {
    expect(order(begun().ledger(2, 'a', 'b').downloads('a').downloads('b'))).not.toThrow()
    // The order inside the ledger does not matter.
    expect(order(begun().ledger(2, 'b', 'a').downloads('a').downloads('b'))).not.toThrow()
    expect(order(begun().ledger(2, 'a', 'b').downloads('b').downloads('a'))).toThrow(
      'revision 7: the DataVolume of a (ticket 2) came after that of b (ticket 3) of the same batch',
    )
    expect(order(begun().ledger(3, 'a', 'b', 'c').downloads('a').downloads('c').downloads('b'))).toThrow(
      'the DataVolume of b (ticket 3) came after that of c (ticket 4)',
    )
  })

  it('are looked at whatever kind of watch told first', () => {
    const { events } = begun().ledger(2, 'a', 'b').downloads('b').downloads('a')
    expect(() => checkOrder(events.toReversed(), NAMESPACE)).toThrow('of the same batch')
  })

  it('are left out where API errors are injected', () => {
    const { events } = begun().ledger(2, 'a', 'b').downloads('b').downloads('a')
    expect(() => checkOrder(events, NAMESPACE, { areBatchesChecked: false })).not.toThrow()
  })

  it('are those of one ledger write alone', () => {
    expect(order(begun().ledger(2, 'a').ledger(2, 'a', 'b').downloads('b').downloads('a'))).not.toThrow()
  })

  it('may be missing: of an image that was refused, changed, or lost its slot', () => {
    expect(order(begun().ledger(2, 'a', 'b').downloads('b'))).not.toThrow()
    expect(order(begun().ledger(2, 'a', 'b').changes('a').downloads('b').downloads('a'))).not.toThrow()
    const lost = begun().ledger(2, 'a', 'b').downloads('b').ledger(2, 'b').ledger(2, 'b', 'a').downloads('a')
    expect(order(lost)).not.toThrow()
  })
})

describe('the claims', () => {
  it('go to the one that has waited longest', () => {
    const waited = () => new Story().ledger(1).queues('a').queues('b').ledger(1).ledger(1)
    expect(order(waited().ledger(1, 'a'))).not.toThrow()
    expect(order(waited().ledger(1, 'b'))).toThrow('image b (ticket 3) got a slot before a (ticket 2)')
  })

  it('stay within the limit of the same write', () => {
    expect(ledger(begun().ledger(2, 'a', 'b'))).not.toThrow()
    expect(ledger(begun().ledger(2, 'a', 'b', 'c'))).toThrow('revision 5: 3 slots are held, the limit is 2')
    expect(ledger(new Story().ledger(1, 'a', 'b'))).toThrow('revision 1: 2 slots are held, the limit is 1')
    // A lower limit releases no slot.
    expect(ledger(begun().ledger(2, 'a', 'b').ledger(1, 'a', 'b'))).not.toThrow()
  })

  it('come before their DataVolumes', () => {
    expect(ledger(begun().ledger(2, 'a').downloads('a'))).not.toThrow()
    expect(ledger(begun().downloads('a'))).toThrow('DataVolume a-r was created without a slot at revision 5')
    expect(ledger(new Story().downloads('a'))).toThrow('DataVolume a-r was created without a slot at revision 1')
    const freedTooEarly = begun().ledger(2, 'a').downloads('a').ledger(2, 'b').downloads('b')
    expect(ledger(freedTooEarly)).toThrow('2 DataVolumes are unfinished at revision 8, 1 slots are held')
  })

  it('are in force for what the same transaction of etcd writes, whichever was seen first', () => {
    const { events } = new Story().downloads('a').ledger(1, 'a')
    const asOne = events.map((event) => {
      const metadata = { ...event.object.metadata, resourceVersion: '1' }
      return { ...event, object: { ...event.object, metadata } }
    })
    for (const seen of [asOne, asOne.toReversed()]) expect(() => checkLedger(seen, NAMESPACE)).not.toThrow()
  })

  it('last as long as their DataVolumes may download, with or without an owner', () => {
    const orphaned = () => begun().ledger(1, 'a').downloads('a').orphans('a')
    expect(ledger(orphaned().ledger(1, 'b').downloads('b'))).toThrow('2 DataVolumes are unfinished')
    expect(ledger(orphaned().loses('a').ledger(1, 'b').downloads('b'))).not.toThrow()
  })
})
