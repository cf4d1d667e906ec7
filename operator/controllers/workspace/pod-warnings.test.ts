import { expect, it } from 'vitest'
import { apiError } from '../../../test/prepared/kube/api-error.ts'
import { aLiveReadBench } from '../../../test/prepared/runtime/look-bench.ts'
import { SECOND } from '../../../test/prepared/runtime/times.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import { PodWarnings } from './pod-warnings.ts'

function build() {
  const { client, clock, changed, basics, onChange, run } = aLiveReadBench()
  const warnings = run(new PodWarnings({ ...basics, onChange }))
  const look = (...pods: readonly string[]) =>
    Object.fromEntries(
      [
        ...warnings.look(
          'lab',
          'lab',
          pods.map((uid) => ({ uid, hasHung: false })),
        ),
      ].map(([uid, { text }]) => [uid, text]),
    )
  const warn = (about: string, message: string, type = 'Warning') =>
    client.put({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: {
        name: `${type} of ${about}`,
        namespace: 'lab',
        creationTimestamp: new Date(clock.now()).toISOString(),
      },
      involvedObject: { kind: 'Pod', name: about, uid: about },
      type,
      reason: 'FailedCreatePodSandBox',
      message,
    } as KubeObject)
  return { client, clock, changed, warnings, look, warn }
}

it('a pod that starts within half a minute costs no request', async () => {
  const { client, clock, look } = build()
  look('web')
  await clock.advance(29 * SECOND)
  look()
  await clock.advance(90 * SECOND)
  expect(client.calls).toEqual([])
  expect(clock.pending).toBe(0)
})

it('a pod that hangs is told what the Warning events about it say, and when that changes', async () => {
  const { client, clock, changed, look, warn } = build()
  warn('web', 'cannot find network lab/inside')
  warn('web', 'pulled', 'Normal')
  warn('db', 'of another pod')
  expect(look('web')).toEqual({ web: undefined })
  await clock.advance(30 * SECOND)
  expect([changed, look('web')]).toEqual([['lab'], { web: 'FailedCreatePodSandBox: cannot find network lab/inside' }])
  await clock.advance(30 * SECOND)
  expect([changed, client.callsOf()]).toEqual([['lab'], ['list Event lab', 'list Event lab']])
  warn('web', 'the bridge is down')
  await clock.advance(30 * SECOND)
  expect(look('web')).toEqual({ web: 'FailedCreatePodSandBox: the bridge is down' })
})

it('one that hung before this process led is looked at soon, and until then it is not known whether anything is wrong', async () => {
  const { clock, warnings, changed } = build()
  const look = () => warnings.look('lab', 'lab', [{ uid: 'web', hasHung: true }]).get('web')
  expect(look()).toEqual({ text: undefined, isRead: false })
  await clock.advance(SECOND)
  expect([look(), changed]).toEqual([{ text: undefined, isRead: true }, ['lab']])
})

it('many pods are looked at one after the other, a second apart; one that cannot be read counts as looked at', async () => {
  const { client, clock, warnings } = build()
  client.before = () => {
    throw apiError('Rejected')
  }
  const pods = ['a', 'b', 'c'].map((uid) => ({ uid, hasHung: true }))
  warnings.look('lab', 'lab', pods)
  await clock.advance(SECOND)
  expect(client.calls.length).toBeLessThanOrEqual(2)
  await clock.advance(5 * SECOND)
  expect([...warnings.look('lab', 'lab', pods).values()].every(({ isRead }) => isRead)).toBe(true)
  warnings.forget('lab')
  client.calls.length = 0
  await clock.advance(300 * SECOND)
  expect(client.calls).toEqual([])
})
