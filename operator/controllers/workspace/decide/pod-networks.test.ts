import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import { WORKSPACE_CONDITIONS } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { NOW, podOf, settledWorld } from '../../../../test/prepared/workspace/workspace-world.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { viewContainerPod } from '../child-views.ts'
import { planWorkspace } from './plan.ts'

const SPEC: WorkspaceSpecInput = {
  networks: [
    { name: 'inside', cidr: '10.10.0.0/24' },
    { name: 'sixes', cidr: 'fd00:10::/64' },
  ],
  containerClusters: [
    {
      name: 'web',
      interfaces: [
        { network: 'inside', ipAddress: '10.10.0.7/24' },
        { network: 'sixes', ipAddress: 'fd00:10::7/64' },
      ],
      containers: [{ name: 'web', image: 'registry.example.com/web:1' }],
    },
  ],
}
const STATUS = 'k8s.v1.cni.cncf.io/network-status'
const SECOND = 1_000
const MINUTE = 60 * SECOND

type Entry = Readonly<Record<string, unknown>>

interface Change {
  /** What Multus reports, given what it would report. `undefined`: nothing. */
  readonly reported?: (entries: readonly Entry[]) => unknown
  readonly podIP?: string
  readonly driver?: 'bridge' | 'ovn-layer2'
  /** When the pod was created, and when the workspace stopped being ready, in milliseconds before now. Default: just now, and never. */
  readonly ageMs?: number
  readonly troubledMs?: number
  readonly areNetworksReported?: boolean
  /** Whether the status tells of the trouble already. */
  readonly isTold?: boolean
}

/** Plans for a workspace that was Ready, and whose pod has changed. */
function planned({
  reported,
  podIP,
  driver = 'bridge',
  ageMs = 0,
  troubledMs,
  areNetworksReported = true,
  isTold = true,
}: Change) {
  const settled = settledWorld(SPEC, { networkDriver: driver })
  const pod = podOf(settled.children.get('Deployment web') as never) as KubeObject & { readonly status: object }
  const { [STATUS]: text = '[]', ...asked } = pod.metadata.annotations ?? {}
  const entries = [
    { name: '', interface: 'eth0', ips: ['10.244.0.9'], mac: '02:ff', default: true },
    ...JSON.parse(text),
  ]
  const after = reported === undefined ? entries : reported(entries)
  const annotations = { ...asked, ...(after !== undefined && { [STATUS]: JSON.stringify(after) }) }
  const creationTimestamp = new Date(NOW - ageMs).toISOString()
  const metadata = { ...pod.metadata, annotations, creationTimestamp, resourceVersion: '7' }
  const view = viewContainerPod({ ...pod, metadata, status: { ...pod.status, podIP } } as KubeObject)
  const { workspace, ...world } = settled.world
  const unready = {
    type: WORKSPACE_CONDITIONS.Ready,
    status: 'False' as const,
    reason: 'ContainersFailed',
    message: '',
    lastTransitionTime: new Date(NOW - (troubledMs ?? 0)).toISOString(),
  }
  const told = { kind: 'ContainerCluster', name: 'web', phase: 'Provisioning' as const, reason: 'NetworksMissing' }
  const status = {
    ...(troubledMs !== undefined && { conditions: [unready] }),
    ...(isTold && { components: [told] }),
  }
  const plan = planWorkspace(
    { ...world, workspace: { ...workspace, status }, pods: new Map([['web', [view]]]), areNetworksReported },
    NOW,
  )
  const web = plan.status.components?.find(({ name }) => name === 'web')
  return { plan, web }
}

const without = (name: string) => (entries: readonly Entry[]) => entries.filter((one) => one['interface'] !== name)
const changed = (change: Entry) => (entries: readonly Entry[]) =>
  entries.map((one) => (one['interface'] === 'net1' ? { ...one, ...change } : one))

describe('the pod of a container cluster', () => {
  it.each<[what: string, Change]>([
    ['has what the spec says', {}],
    [
      'has a report with capital letters',
      { reported: (entries) => JSON.parse(JSON.stringify(entries).replace('fd00:10::7', 'FD00:10:0::7')) },
    ],
    [
      'has a report of an old version, which names networks in another way',
      { reported: changed({ name: 'inside-pod' }) },
    ],
    ['is at the address that Multus has reported', { podIP: '10.244.0.9' }],
    [
      'has an address on an overlay, which reports none',
      { driver: 'ovn-layer2', reported: changed({ ips: undefined }) },
    ],
  ])('that %s is Ready', (_what, change) => {
    expect(planned(change).web).toMatchObject({ phase: 'Ready', message: 'the containers of web run' })
  })

  it.each<[what: string, Change, RegExp]>([
    [
      'of which nothing was reported',
      { reported: () => undefined },
      /no interface net1, as Multus has reported nothing/,
    ],
    [
      'that is on the network of all pods alone',
      { reported: (entries) => entries.slice(0, 1) },
      /interface net1 of network inside-pod does not exist/,
    ],
    [
      'that lacks its second network',
      { reported: without('net2') },
      /interface net2 of network sixes-pod does not exist/,
    ],
    [
      'with another address',
      { reported: changed({ ips: ['10.10.0.8'] }) },
      /net1 of network inside-pod has 10.10.0.8 instead of 10.10.0.7/,
    ],
    ['without an address', { reported: changed({ ips: [] }) }, /has no address instead of 10.10.0.7/],
    [
      'with another MAC address',
      { reported: changed({ mac: '02:00:00:00:00:01' }) },
      /has the MAC address 02:00:00:00:00:01 instead of 02:/,
    ],
    [
      'on a network of somebody else',
      { reported: changed({ name: 'other/inside-pod' }) },
      /is of other\/inside-pod instead/,
    ],
    ['whose node was restarted without Multus', { podIP: '10.244.0.10' }, /was started again without its interfaces/],
  ])('%s is not ready, and says so in one sentence', (_what, change, message) => {
    const { web, plan } = planned(change)
    expect(web).toMatchObject({ phase: 'Provisioning', reason: 'NetworksMissing' })
    expect(web?.message).toMatch(/^pod web-pod runs without its networks: /)
    expect(web?.message).toMatch(message)
    expect(plan.status).toMatchObject({ phase: 'Provisioning', reason: 'ContainersFailed' })
  })
})

describe('a pod without its networks', () => {
  const NONE = { reported: () => undefined }

  it('is deleted after half a minute, and only after that was told', () => {
    const early = planned({ ...NONE, ageMs: 20 * SECOND, troubledMs: 25 * SECOND })
    expect([early.plan.remove, early.plan.requeue?.afterMs]).toEqual([[], 10 * SECOND])
    const due = { ...NONE, ageMs: 30 * SECOND, troubledMs: 35 * SECOND }
    expect(planned({ ...due, isTold: false }).plan.remove).toEqual([])
    expect(planned(due).plan.remove).toEqual([
      { apiVersion: 'v1', kind: 'Pod', namespace: 'lab', name: 'web-pod', uid: 'web-pod', resourceVersion: '7' },
    ])
  })

  it('is replaced at growing intervals, and is Failed when these are longest', () => {
    const pod = (lastedMs: number, ageMs: number) => planned({ ...NONE, ageMs, troubledMs: lastedMs + ageMs })
    const left = (lastedMs: number) => pod(lastedMs, SECOND).plan.requeue?.afterMs
    expect([0, MINUTE, 4 * MINUTE, 60 * MINUTE].map(left)).toEqual(
      [30 * SECOND, MINUTE, 4 * MINUTE, 10 * MINUTE].map((ms) => ms - SECOND),
    )
    expect([pod(4 * MINUTE, SECOND), pod(10 * MINUTE, SECOND)].map(({ web }) => web?.phase)).toEqual([
      'Provisioning',
      'Failed',
    ])
  })

  it.each<[what: string, Change, isReplaced: boolean]>([
    ['stays where nothing reports networks and the workspace was Ready', { troubledMs: MINUTE }, false],
    [
      'is replaced where nothing reports networks and the workspace has not been Ready with it',
      { troubledMs: 61 * MINUTE },
      true,
    ],
    ['is replaced where the networks of others are reported', { troubledMs: MINUTE, areNetworksReported: true }, true],
    [
      'is replaced if something was reported of it',
      { troubledMs: MINUTE, reported: (entries) => entries.slice(0, 1) },
      true,
    ],
  ])('%s', (_what, change, isReplaced) => {
    const { plan, web } = planned({ ...NONE, areNetworksReported: false, ageMs: 60 * MINUTE, ...change })
    expect(plan.remove.length > 0).toBe(isReplaced)
    expect(web?.message?.endsWith('it is replaced')).toBe(isReplaced)
    expect(web?.message?.endsWith('kubectl delete pod -n lab web-pod')).toBe(!isReplaced)
  })
})
