import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { viewClaim } from '../../../../cluster/views.ts'
import { viewContainerPod, viewDeployment, viewPersistentVolume } from '../../../../cluster/workspace-views.ts'
import type { KubeObject } from '../../../../kube/kube-object.ts'
import { DEPLOYED } from '../../workspace-bench.fixtures.ts'
import { NOW, settledWorld } from '../../workspace-world.fixtures.ts'
import { planWorkspace } from '../plan.ts'

/** Returns phase, reason and message of a component, after `change` was made to one child of a Ready workspace. */
function standing(
  kind: string,
  name: string,
  id: string,
  change: (child: KubeObject) => KubeObject,
  more: object = {},
  spec: WorkspaceSpecInput = DEPLOYED,
) {
  const planned = settledWorld(spec)
  const child = planned.children.get(id)
  if (child === undefined) throw new Error(`there is no ${id}`)
  planned.children.set(id, change(child))
  const { status } = planWorkspace({ ...planned.world, ...more }, NOW)
  const found = status.components?.find((one) => one.kind === kind && one.name === name)
  return [found?.phase, found?.reason, found?.message]
}

function pod(status: object): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'lab', name: 'demo-app-x', uid: 'pod-uid' },
    status,
  } as KubeObject
}

describe('a container cluster', () => {
  const cluster = (deployment: object, pods: readonly object[] = [], more: object = {}) => {
    const views = new Map([['demo-app', pods.map((status) => viewContainerPod(pod(status)))]])
    const change = (child: KubeObject) =>
      viewDeployment({ ...child, status: { observedGeneration: 1, ...deployment } } as KubeObject)
    return standing('ContainerCluster', 'demo-app', 'Deployment demo-app', change, { pods: views, ...more })
  }
  const waiting = (reason: string, message = '', restartCount = 0) => ({
    phase: 'Pending',
    containerStatuses: [{ name: 'chef', restartCount, state: { waiting: { reason, message } } }],
  })
  /** Another container comes first. */
  const beside = (first: object, { containerStatuses, ...status }: ReturnType<typeof waiting>) => {
    return { ...status, containerStatuses: [{ ...first, name: 'first' }, ...containerStatuses] }
  }
  const LATE = {
    conditions: [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', message: 'late' }],
  }

  it.each<
    [what: string, deployment: object, pods: readonly object[], expected: readonly [string, string, string | RegExp]]
  >([
    ['has no pod yet', {}, [], ['Provisioning', 'ContainersPending', 'the containers of demo-app are being started']],
    [
      'has a pod of before alone',
      { replicas: 1, availableReplicas: 1 },
      [],
      ['Provisioning', 'ContainersPending', /started/],
    ],
    [
      'runs',
      { replicas: 1, updatedReplicas: 1, availableReplicas: 1 },
      [],
      ['Ready', 'Ready', 'the containers of demo-app run'],
    ],
    [
      'was changed, and nobody has looked',
      { observedGeneration: 0, replicas: 1, updatedReplicas: 1, availableReplicas: 1 },
      [],
      ['Provisioning', 'ContainersPending', /started/],
    ],
    [
      'cannot pull its image',
      {},
      [waiting('ErrImagePull', 'manifest unknown')],
      ['Provisioning', 'ImagePullBackOff', 'the image of container chef cannot be pulled: manifest unknown'],
    ],
    [
      'waits to pull again',
      {},
      [waiting('ImagePullBackOff', 'Back-off pulling image "x": ErrImagePull: manifest unknown')],
      ['Provisioning', 'ImagePullBackOff', 'the image of container chef cannot be pulled: manifest unknown'],
    ],
    [
      'cannot pull its image in time',
      LATE,
      [waiting('ErrImagePull')],
      ['Failed', 'ImagePullBackOff', /cannot be pulled/],
    ],
    [
      'has an image name that is none',
      {},
      [waiting('InvalidImageName')],
      ['Failed', 'InvalidImageName', /container chef does not start/],
    ],
    [
      'lacks something to start with',
      {},
      [waiting('CreateContainerConfigError', 'configmap "x" not found')],
      ['Provisioning', 'CreateContainerConfigError', /configmap "x" not found/],
    ],
    [
      'ended, and is not started again yet',
      {},
      [
        {
          phase: 'Running',
          containerStatuses: [
            { name: 'chef', restartCount: 0, state: { terminated: { reason: 'OOMKilled', exitCode: 137 } } },
          ],
        },
      ],
      ['Provisioning', 'OOMKilled', /^container chef ended \(OOMKilled\): .*; see its log$/],
    ],
    [
      'crashed once',
      {},
      [waiting('CrashLoopBackOff', 'back-off 10s restarting failed container=chef pod=p_lab(uid)', 1)],
      ['Provisioning', 'CrashLoopBackOff', 'container chef ends again and again; see its log'],
    ],
    [
      'crashes for minutes',
      {},
      [waiting('CrashLoopBackOff', 'back-off 5m0s restarting failed container=chef pod=p_lab(uid)', 5)],
      ['Failed', 'CrashLoopBackOff', 'container chef ends again and again; see its log'],
    ],
    [
      'crashes beside a container that has never started',
      {},
      [beside({ restartCount: 9, state: { running: {} } }, waiting('CreateContainerConfigError', 'no configmap'))],
      ['Provisioning', 'CreateContainerConfigError', /container chef does not start .*: no configmap/],
    ],
    [
      'has an image name that is none, beside a container that crashed',
      {},
      [beside({ restartCount: 1, state: { running: {} } }, waiting('InvalidImageName'))],
      ['Failed', 'InvalidImageName', /container chef does not start/],
    ],
    [
      'crashed once, beside a container that crashed for minutes',
      {},
      [beside({ restartCount: 9, state: { running: {} } }, waiting('CrashLoopBackOff', '', 1))],
      ['Provisioning', 'CrashLoopBackOff', /container chef ends again/],
    ],
    [
      'crashed a few times in each of two containers',
      {},
      [beside(waiting('CrashLoopBackOff', '', 2).containerStatuses[0] ?? {}, waiting('CrashLoopBackOff', '', 4))],
      ['Provisioning', 'CrashLoopBackOff', /container first ends again/],
    ],
    [
      'finds no node',
      {},
      [
        {
          phase: 'Pending',
          conditions: [
            { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/1 nodes are available' },
          ],
        },
      ],
      ['Provisioning', 'Unschedulable', 'no node takes the pod: 0/1 nodes are available'],
    ],
    [
      'is refused a pod',
      { conditions: [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'exceeded quota' }] },
      [],
      ['Provisioning', 'FailedCreate', /exceeded quota/],
    ],
    ['is late, and nothing says why', LATE, [], ['Failed', 'ContainersFailed', /not ready in time/]],
  ])('%s', (_what, deployment, pods, [phase, reason, message]) => {
    const [isPhase, isReason, says] = cluster(deployment, pods)
    expect([isPhase, isReason]).toEqual([phase, reason])
    expect(says).toMatch(message)
  })

  it('says what Events alone tell, and what was told before until somebody has looked', () => {
    const told = (text: string | undefined, isLookedAt: boolean) => ({
      podWarnings: new Map([['pod-uid', { text, isLookedAt }]]),
    })
    const starting = [{ phase: 'Pending' }]
    expect(cluster({}, starting, told('FailedCreatePodSandBox: no such network', true))).toEqual([
      'Provisioning',
      'PodNotStarting',
      'the pod does not start: FailedCreatePodSandBox: no such network',
    ])
    expect(cluster({}, starting, told(undefined, true))[1]).toBe('ContainersPending')
    expect(cluster({}, starting, told(undefined, false))[1]).toBe('ContainersPending')
  })
})

describe('a machine', () => {
  const machine = (status: object) =>
    standing(
      'VirtualMachine',
      'demo-vm',
      'VirtualMachine demo-vm',
      (child) => ({ ...child, status: { observedGeneration: 1, ...status } }) as KubeObject,
    )

  it.each<[what: string, status: object, expected: readonly [string, string, string]]>([
    [
      'that nobody has looked at',
      { observedGeneration: 0, phase: 'Ready' },
      ['Provisioning', 'VirtualMachinePending', 'VirtualMachine demo-vm has not been looked at yet'],
    ],
    ['that runs', { phase: 'Ready', reason: 'Running', message: 'it runs' }, ['Ready', 'Running', 'it runs']],
    [
      'that waits for a restart',
      { phase: 'Ready', reason: 'RestartRequired', message: 'restart it' },
      ['Ready', 'RestartRequired', 'restart it'],
    ],
    [
      'whose disk is being cloned',
      { phase: 'Provisioning', reason: 'Cloning', message: '42.0%' },
      ['Provisioning', 'Cloning', 'the machine is Provisioning: Cloning'],
    ],
    [
      'that starts',
      { phase: 'Provisioning', reason: 'Starting', message: 'KubeVirt starts it' },
      ['Provisioning', 'Starting', 'KubeVirt starts it'],
    ],
    ['that failed', { phase: 'Failed', reason: 'StartFailed', message: 'no' }, ['Failed', 'StartFailed', 'no']],
  ])('%s', (_what, status, expected) => {
    expect(machine(status)).toEqual(expected)
  })
})

describe('a volume', () => {
  const volume = (name: string, status: object) =>
    standing('Volume', name, `PersistentVolumeClaim ${name}`, (child) => {
      const requests = { requests: { storage: '1Gi' } }
      return {
        ...viewClaim({ ...child, spec: { resources: requests }, status } as KubeObject),
        metadata: child.metadata,
        requested: '1Gi',
      } as KubeObject
    })

  it.each([
    ['that waits for storage', 'dnsconfig', { phase: 'Pending' }, 'Provisioning'],
    ['that nothing mounts, and is not bound', 'monitorconfigs', { phase: 'Pending' }, 'Ready'],
    ['that lost its storage', 'dnsconfig', { phase: 'Lost' }, 'Failed'],
    ['that is bound', 'dnsconfig', { phase: 'Bound' }, 'Ready'],
  ])('%s', (_what, name, status, phase) => {
    expect(volume(name, status)[0]).toBe(phase)
  })

  it('of a node that was bound to an earlier claim is made again', () => {
    const planned = settledWorld(DEPLOYED, { localVolumeRoot: '/srv' })
    const [id, local] = [...planned.children].find(([, { kind }]) => kind === 'PersistentVolume') ?? []
    const claimRef = { namespace: 'lab', name: 'monitorconfigs', uid: 'earlier' }
    planned.children.set(
      id ?? '',
      viewPersistentVolume({ ...local, spec: { claimRef }, status: { phase: 'Released' } } as never),
    )
    const { remove } = planWorkspace(planned.world, NOW)
    expect(remove.map(({ kind, name }) => `${kind} ${name}`)).toEqual([id])
  })
})
