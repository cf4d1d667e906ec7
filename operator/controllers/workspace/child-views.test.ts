import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { raw } from '../../../test/prepared/cluster/raw-object.ts'
import { viewQuota } from '../../cluster/quotas.ts'
import { viewClaim, viewNamespace } from '../../cluster/views.ts'
import {
  fingerprints,
  makesPrivileged,
  viewConfigMap,
  viewContainerPod,
  viewDeployment,
  viewPersistentVolume,
  viewService,
  viewWithSpec,
} from './child-views.ts'

const RAN = { name: 'ran', restartCount: 7, state: { running: {} } }
const BROKEN = { name: 'broken', restartCount: 2, state: { waiting: { reason: 'InvalidImageName' } } }
const ours = { labels: { [LABELS.workspaceUid]: 'w' } }

describe('a view', () => {
  it.each([
    viewWithSpec,
    viewDeployment,
    viewContainerPod,
    viewPersistentVolume,
    viewConfigMap,
    viewService,
    viewNamespace,
    viewQuota,
  ])('is made of an object that has nothing but a name: %o', (view) => {
    const bare = { apiVersion: 'v1', kind: 'Any', metadata: { name: 'a' } }
    expect(view(bare)).toMatchObject(bare)
  })

  it('of a Deployment has all nodes on which the workspace was tried, however long their names are', () => {
    const nodes = Array.from({ length: 20 }, (_, at) => `ip-10-0-0-${at}.eu-central-1.compute.internal`).join(',')
    const kept = viewDeployment(raw({}, { annotations: { [ANNOTATIONS.avoidedNodes]: nodes } }))
    expect(kept.metadata.annotations?.[ANNOTATIONS.avoidedNodes]).toBe(nodes)
  })

  it('of a claim or quota has its spec where it is of a workspace alone', () => {
    const claim = { spec: { resources: { requests: { storage: '1Gi' } } } }
    expect([raw(claim), raw(claim, ours)].map((one) => viewClaim(one).requested)).toEqual([undefined, '1Gi'])
    const quota = { spec: { hard: { pods: '1' } } }
    expect([raw(quota), raw(quota, ours)].map((one) => viewQuota(one).spec)).toEqual([undefined, quota.spec])
  })

  it('of a Service has what people decide on, and where its load balancer is', () => {
    const ports = Array.from({ length: 99 }, (_, port) => ({ port }))
    const ingress = [{ ip: '192.0.2.1', ports: [] }, { hostname: 'lb.example' }, {}]
    const service = raw({
      spec: { type: 'LoadBalancer', clusterIP: '10.96.0.1', selector: { a: '1' }, ports, externalIPs: [] },
      status: { loadBalancer: { ingress } },
    })
    expect(viewService(service)).toMatchObject({ ingress: ['192.0.2.1', 'lb.example'] })
    expect(viewService(service).spec).toEqual({
      type: 'LoadBalancer',
      selector: { a: '1' },
      externalIPs: [],
      ports: ports.slice(0, 32),
    })
  })

  it('of a namespace has what its pods may do, and no label of others', () => {
    const labels = { 'pod-security.kubernetes.io/enforce': 'baseline', team: 'a', ...ours.labels }
    const { team: _theirs, ...kept } = labels
    expect(viewNamespace(raw({}, { labels })).metadata.labels).toEqual(kept)
  })

  it('of a Deployment says how far it is, and why its pods are refused', () => {
    const conditions = [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'exceeded quota' }]
    const status = { observedGeneration: 2, updatedReplicas: 1, replicas: 2, conditions }
    expect(viewDeployment(raw({ spec: { replicas: 1 }, status }))).toMatchObject({
      spec: { replicas: 1 },
      observedGeneration: 2,
      updated: 1,
      available: 0,
      replicas: 2,
      progressing: { status: '' },
      replicaFailure: { status: 'True', message: 'exceeded quota' },
    })
  })

  const value = 'x'.repeat(4_096)
  it.each([
    [
      'a few long texts',
      { containers: [{ env: Array.from({ length: 160 }, (_, at) => ({ name: `e${at}`, value })) }] },
    ],
    ['very many texts', { containers: [{ args: Array.from({ length: 200_000 }, () => '') }] }],
    ['very many lists', { volumes: Array.from({ length: 100_000 }, () => ({})) }],
    ['lists in lists', Array.from({ length: 5_000 }).reduce((inner) => [inner], [])],
  ])('of a Deployment with %s, which anybody may write with our label, has only what places its pod', (_what, pod) => {
    const networks = JSON.stringify([{ name: 'net', namespace: 'lab' }])
    const own = { [LABELS.nodeGroup]: 'g', [LABELS.workspaceUid]: 'w' }
    const metadata = {
      labels: { ...own, theirs: value },
      annotations: { 'k8s.v1.cni.cncf.io/networks': networks, theirs: value },
    }
    const spec = { replicas: 1, template: { metadata, spec: pod } }
    const kept = viewDeployment(raw({ spec, status: { replicas: 2 } }, ours))
    const annotations = { 'k8s.v1.cni.cncf.io/networks': networks }
    expect(kept).toMatchObject({
      metadata: ours,
      replicas: 2,
      isAside: true,
      spec: { template: { metadata: { labels: own, annotations } } },
    })
    expect(JSON.stringify(kept).length).toBeLessThan(1_000)
  })

  it('of a ConfigMap has no word of its data', () => {
    const { data } = viewConfigMap(raw({ data: { play: 'secret text' } }))
    expect(data).toEqual(fingerprints({ play: 'secret text' }))
    expect(JSON.stringify(data)).not.toContain('secret')
    expect(data).not.toEqual(fingerprints({ play: 'other text' }))
  })

  it('of a local volume says whose it is', () => {
    const claimRef = { namespace: 'lab', name: 'data', uid: 'c' }
    const view = viewPersistentVolume(raw({ spec: { claimRef }, status: { phase: 'Bound' } }))
    expect(view).toMatchObject({ phase: 'Bound', claim: 'lab/data', claimUid: 'c' })
  })
})

describe('a pod', () => {
  const waiting = (reason: string, message?: string) => ({ name: 'web', state: { waiting: { reason, message } } })
  const ended = { terminated: { exitCode: 3, reason: 'Error' } }
  it.each<[string, object, object | undefined]>([
    ['that is being started', waiting('ContainerCreating'), undefined],
    ['that runs', { name: 'web', state: { running: {} }, lastState: ended }, undefined],
    [
      'without an image',
      waiting('ImagePullBackOff', 'not found'),
      { reason: 'ImagePullBackOff', message: 'not found' },
    ],
    ['that ended', { name: 'web', state: ended }, { reason: 'Error', message: 'exit code 3', exitCode: 3 }],
    [
      'that ends again and again',
      { ...waiting('CrashLoopBackOff', 'back-off'), lastState: ended },
      { reason: 'CrashLoopBackOff', message: 'back-off: exit code 3', exitCode: 3 },
    ],
    [
      'that ended well',
      { name: 'web', state: { terminated: { exitCode: 0, reason: 'Completed' } } },
      { reason: 'Completed', message: 'exit code 0', exitCode: 0 },
    ],
    [
      'that had no more memory',
      { ...waiting('CrashLoopBackOff'), lastState: { terminated: { exitCode: 137, reason: 'OOMKilled' } } },
      { reason: 'CrashLoopBackOff', message: 'exit code 137', exitCode: 137, memoryLimit: '64Mi' },
    ],
  ])('has a container %s', (_what, container, trouble) => {
    const spec = { containers: [{ name: 'web', resources: { limits: { memory: '64Mi' } } }] }
    const view = viewContainerPod(raw({ spec, status: { phase: 'Running', containerStatuses: [container] } }))
    expect(view.trouble).toEqual(trouble && { container: 'web', restarts: 0, ...trouble })
  })

  it.each(['containers', 'initContainers'])('is privileged if one of its %s is, and so is its Deployment', (list) => {
    const spec = (privileged: boolean, more: object = {}) => ({
      [list]: [{ name: 'a' }, { name: 'b', securityContext: { privileged }, ...more }],
    })
    const deployment = (one: object) => makesPrivileged(viewDeployment(raw({ spec: { template: { spec: one } } })))
    const large = { args: ['x'.repeat(20_000)] }
    expect([true, false].map((one) => viewContainerPod(raw({ spec: spec(one) })).isPrivileged)).toEqual([true, false])
    expect([spec(true), spec(true, large), spec(false), spec(false, large)].map(deployment)).toEqual([
      true,
      true,
      false,
      false,
    ])
  })

  it('has done with an init container that ended well, and names the one that runs', () => {
    const done = { name: 'first', state: { terminated: { exitCode: 0, reason: 'Completed' } } }
    const view = (...all: object[]) => viewContainerPod(raw({ status: { initContainerStatuses: all } }))
    expect(view(done)).toMatchObject({ trouble: undefined, initializing: '' })
    expect(view(done, RAN)).toMatchObject({ trouble: undefined, initializing: 'ran' })
  })

  it('tells how an init container failed, before the others, which wait for it', () => {
    const last = { terminated: { exitCode: 137, reason: 'OOMKilled' } }
    const failed = {
      name: 'first',
      restartCount: 3,
      state: { waiting: { reason: 'CrashLoopBackOff' } },
      lastState: last,
    }
    const waits = { name: 'web', state: { waiting: { reason: 'PodInitializing' } } }
    const spec = { initContainers: [{ name: 'first', resources: { limits: { memory: '8Mi' } } }] }
    const view = viewContainerPod(
      raw({ spec, status: { initContainerStatuses: [failed], containerStatuses: [waits] } }),
    )
    expect(view.trouble).toMatchObject({ container: 'first', isInit: true, restarts: 3, memoryLimit: '8Mi' })
  })

  it.each<[string, string | undefined, unknown]>([
    ['nothing', undefined, undefined],
    ['no JSON', '[', undefined],
    ['no list', '{}', undefined],
    ['more than Multus writes', JSON.stringify('x'.repeat(30_000)), undefined],
    ['nothing of use', '[1, {}]', Array(2).fill({ name: '', interface: '', ips: [], mac: '', isDefault: false })],
    [
      'interfaces',
      '[{"name":"lab/net","interface":"net1","ips":["10.0.0.7"],"mac":"02:0A","dns":{},"default":true}]',
      [{ name: 'lab/net', interface: 'net1', ips: ['10.0.0.7'], mac: '02:0A', isDefault: true }],
    ],
  ])('tells of its networks where %s is reported', (_what, status, attached) => {
    const annotations = status === undefined ? {} : { 'k8s.v1.cni.cncf.io/network-status': status }
    expect(viewContainerPod(raw({}, { annotations })).attached).toEqual(attached)
  })

  it('that no node takes says why', () => {
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/1 nodes' }]
    const view = viewContainerPod(raw({ status: { conditions } }))
    expect(view).toMatchObject({ unschedulable: '0/1 nodes', trouble: undefined, isReady: false })
  })

  it.each<[string, object]>([
    ['regular', { containerStatuses: [RAN, BROKEN] }],
    ['first', { containerStatuses: [BROKEN, RAN] }],
    ['init', { initContainerStatuses: [BROKEN], containerStatuses: [RAN] }],
  ])('counts the restarts of its %s container in trouble alone', (_which, status) => {
    expect(viewContainerPod(raw({ status })).trouble).toMatchObject({ container: 'broken', restarts: 2 })
  })
})
