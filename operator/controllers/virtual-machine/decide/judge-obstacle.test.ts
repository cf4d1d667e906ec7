import { describe, expect, it } from 'vitest'
import { MINUTE, SECOND, START } from '../../../../test/prepared/runtime/times.ts'
import { type PodEvent, warningOf } from '../../../cluster/pod-events.ts'
import type { ObjectMeta } from '../../../kube/kube-object.ts'
import { refusalOf } from './judge.ts'

const POD = { name: 'virt-launcher-vm-x7k2p', uid: '0a1b2c3d-1111-4222-8333-444455556666' }
const NOW = START + 20 * MINUTE
const at = (agoMs: number) => new Date(NOW - agoMs).toISOString()

/** An Event last seen `agoMs` ago, and first seen a minute before that. */
function event(reason: string, message: string, agoMs = 0, more: Partial<PodEvent> = {}): PodEvent {
  const metadata: ObjectMeta = { name: 'event', namespace: 'team', creationTimestamp: at(agoMs + MINUTE) }
  const times = { firstTimestamp: at(agoMs + MINUTE), lastTimestamp: at(agoMs) }
  return { apiVersion: 'v1', kind: 'Event', metadata, involvedObject: POD, reason, message, ...times, ...more }
}

const SANDBOX = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'

describe('what was refused', () => {
  const involvedObject = { name: 'vm', uid: 'uid of vm' }
  const refused = (message: string, agoMs: number) => event('FailedCreate', message, agoMs, { involvedObject })
  it.each([
    ['Error creating virtual machine instance: no', 'Failure while starting VMI: no'],
    ['Error creating pod: no', 'failed to create virtual machine pod: no'],
    [
      'Error creating pod: pods "virt-launcher-vm-x7k2p" is forbidden',
      'failed to create virtual machine pod: pods "virt-launcher-vm-…" is forbidden',
    ],
    [
      'Error creating pod: pods "virt-launcher-my-linux-" is forbidden',
      'failed to create virtual machine pod: pods "virt-launcher-my-linux-" is forbidden',
    ],
    ['something new', 'something new'],
  ])('is told as KubeVirt’s condition would: %s', (message, text) => {
    expect(refusalOf([refused(message, 0)])?.text).toBe(text)
  })

  it('is what was said last', () => {
    expect(refusalOf([refused('first', 2 * SECOND), refused('last', 0), refused('second', SECOND)])?.text).toBe('last')
    expect(refusalOf([])).toBeUndefined()
  })
})

describe('what tells most of why a pod does not start', () => {
  it.each<[string, PodEvent[], string | undefined]>([
    ['nothing, where nothing is said', [], undefined],
    ['the only warning', [event('FailedMount', 'no such volume')], 'FailedMount: no such volume'],
    ['one of a kind that we do not know', [event('Odd', 'what')], 'Odd: what'],
    [
      'the last step that was reached',
      [event('FailedMount', 'mount', 0), event('Failed', 'image', SECOND), event('FailedCreatePodSandBox', 'net', 0)],
      'Failed: image',
    ],
    [
      'a step, before what is none',
      [event('Odd', 'what', 5 * MINUTE), event('FailedAttachVolume', 'attach')],
      'FailedAttachVolume: attach',
    ],
    [
      'the first of one step: the others are its consequences',
      [event('FailedMount', 'no device'), event('FailedAttachVolume', 'another node has it', MINUTE)],
      'FailedAttachVolume: another node has it',
    ],
    [
      'the longer of two at once',
      [event('FailedMount', 'no disk'), event('FailedMount', 'no such disk')],
      'FailedMount: no such disk',
    ],
    [
      'what the last try of a volume said, and not what one before its longest back-off did',
      [event('FailedMount', 'over', 3 * MINUTE), event('FailedMount', 'still')],
      'FailedMount: still',
    ],
    [
      'what the last try of a sandbox said, and not what that before it did',
      [event('FailedCreatePodSandBox', 'no lan', 30 * SECOND), event('FailedCreatePodSandBox', 'no bridge')],
      'FailedCreatePodSandBox: no bridge',
    ],
    [
      'a cause, and not its consequence, though that is told later',
      [event('Failed', 'Error: ImagePullBackOff'), event('Failed', 'Failed to pull image "a"', 4 * MINUTE)],
      'Failed: Failed to pull image "a"',
    ],
    [
      'a consequence, where there is nothing else',
      [event('FailedMount', 'Unable to attach or mount volumes: unmounted volumes=[root]: timed out')],
      'FailedMount: Unable to attach or mount volumes: unmounted volumes=[root]: timed out',
    ],
    ['nothing, where all has passed', [event('FailedMount', 'over', 11 * MINUTE)], undefined],
    ['nothing of the scheduler, whom KubeVirt quotes', [event('FailedScheduling', '0/3 nodes')], undefined],
    [
      'the newest time that there is',
      [event('FailedMount', 'series', 15 * MINUTE, { series: { lastObservedTime: at(MINUTE) } })],
      'FailedMount: series',
    ],
    [
      'an event of the newer API, with a time of its own',
      [
        event('FailedMount', 'new', 0, {
          firstTimestamp: null,
          lastTimestamp: null,
          eventTime: at(MINUTE),
          series: null,
        }),
      ],
      'FailedMount: new',
    ],
    [
      'an event without any time',
      [event('FailedMount', 'bare', 0, { firstTimestamp: null, lastTimestamp: null })],
      'FailedMount: bare',
    ],
  ])('is %s', (_what, events, expected) => {
    expect(warningOf(events, NOW)).toBe(expected)
    expect(warningOf(events.toReversed(), NOW)).toBe(expected)
  })

  it.each<[string, string, string]>([
    [
      'sandbox',
      `failed to setup network for sandbox "${SANDBOX}": no lan`,
      'failed to setup network for sandbox "…": no lan',
    ],
    ['pod', `Multus: [team/${POD.name}/${POD.uid}]: no lan`, 'Multus: [team/<pod>/<pod>]: no lan'],
    [
      'network namespace',
      'netns "/var/run/netns/cni-5e0b2c3d-1111-4222-8333-444455556666"',
      'netns "/var/run/netns/cni-…"',
    ],
    ['duration', 'back-off 2m40s restarting, after 1.5s', 'back-off … restarting, after …'],
    [
      'time',
      'certificate has expired: current time 2026-01-01T00:00:00Z is after it',
      'certificate has expired: current time … is after it',
    ],
    [
      'port of ours',
      'read udp 10.244.1.5:48291->10.96.0.10:53: i/o timeout',
      'read udp 10.244.1.5:…->10.96.0.10:53: i/o timeout',
    ],
    ['summary', '(combined from similar events): no lan', 'no lan'],
    ['line', 'no\n  lan\t', 'no lan'],
    [
      'volume, which stays',
      'Multi-Attach error for volume "pvc-5e0b2c3d-1111-4222-8333-444455556666"',
      'Multi-Attach error for volume "pvc-5e0b2c3d-1111-4222-8333-444455556666"',
    ],
    ['number that tells something', '1 Insufficient memory, 512 of 1024', '1 Insufficient memory, 512 of 1024'],
    ['secret in a URL', 'GET https://me:pw@a.example/b?token=t failed', 'GET https://a.example/b?… failed'],
  ])('is without what is another in each try, and without what is secret: a %s', (_what, message, expected) => {
    expect(warningOf([event('Failed', message)], NOW)).toBe(`Failed: ${expected}`)
  })

  it('is the same however often it is told, and not too long', () => {
    const tries = (count: number) =>
      Array.from({ length: count }, (_, number) => {
        const sandbox = String(number).padStart(64, 'a')
        return event('FailedCreatePodSandBox', `sandbox "${sandbox}": ${'x'.repeat(2_000)}`, number * 10 * SECOND, {
          count: number + 1,
        } as Partial<PodEvent>)
      })
    const first = warningOf(tries(1), NOW)
    expect(first?.length).toBeLessThan(1_100)
    for (const count of [2, 30]) expect(warningOf(tries(count), NOW)).toBe(first)
  })
})
