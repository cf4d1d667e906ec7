import { ANNOTATIONS, LABELS, type WorkspaceSpecInput } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { DEPLOYED } from '../../../../../test/prepared/workspace/workspace-bench.ts'
import {
  NOW,
  type PlannedWorld,
  parsed,
  podOf,
  settledWorld,
} from '../../../../../test/prepared/workspace/workspace-world.ts'
import { toTime } from '../../../../base/time.ts'
import { viewClaim } from '../../../../cluster/views.ts'
import type { KubeObject } from '../../../../kube/kube-object.ts'
import { childId } from '../../../../runtime/child-refusals.ts'
import { viewContainerPod, viewDeployment, viewPersistentVolume } from '../../child-views.ts'
import { planWorkspace } from '../plan.ts'

/** Returns phase, reason and message of a component, after `change` was made to one child of a Ready workspace. */
function summary(
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

/** Returns the pod of demo-app in another state. */
function pod(status: object): KubeObject {
  const found = podOf(settledWorld(DEPLOYED).children.get('Deployment demo-app') as never)
  return { ...found, metadata: { ...found.metadata, uid: 'pod-uid' }, status } as KubeObject
}

describe('a container cluster', () => {
  const cluster = (deployment: object, pods: readonly object[] = [], more: object = {}) => {
    const views = new Map([['demo-app', pods.map((status) => viewContainerPod(pod(status)))]])
    const change = (child: KubeObject) =>
      viewDeployment({ ...child, status: { observedGeneration: 1, ...deployment } } as KubeObject)
    return summary('ContainerCluster', 'demo-app', 'Deployment demo-app', change, { pods: views, ...more })
  }
  const waiting = (reason: string, message = '', restartCount = 0) => ({
    phase: 'Pending',
    containerStatuses: [{ name: 'chef', restartCount, state: { waiting: { reason, message } } }],
  })
  /** Another container comes first. */
  const beside = (first: object, { containerStatuses, ...status }: ReturnType<typeof waiting>) => {
    return { ...status, containerStatuses: [{ ...first, name: 'first' }, ...containerStatuses] }
  }
  const ended = (state: object, more: object = {}) => ({
    phase: 'Running',
    containerStatuses: [{ name: 'chef', restartCount: 0, state, ...more }],
  })
  const COMPLETED =
    'container chef ends by itself with exit code 0, and is started again: the process that it starts has to keep running'
  /** The other containers wait for it. */
  const initial = (state: object, restartCount: number) => ({
    ...waiting('PodInitializing'),
    initContainerStatuses: [
      {
        name: 'first',
        restartCount,
        state,
        ...(restartCount > 0 && { lastState: { terminated: { reason: 'Error', exitCode: 1 } } }),
      },
    ],
  })
  const INITIALIZING = initial({ running: {} }, 0)
  const RUNS = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] }
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
      [RUNS],
      ['Ready', 'DefaultRouteLeftOut', /^the containers of demo-app run; because of its hostPort /],
    ],
    [
      'runs as its Deployment says, and nobody has seen its pod',
      { replicas: 1, updatedReplicas: 1, availableReplicas: 1 },
      [],
      ['Provisioning', 'ContainersPending', /started/],
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
      'whose container cannot be created, which its node reports with another id for each try',
      {},
      [
        waiting(
          'CreateContainerError',
          `failed to generate container "${'9e22'.repeat(16)}" spec: no command specified`,
        ),
      ],
      ['Provisioning', 'CreateContainerError', /failed to generate container "…" spec: no command specified$/],
    ],
    [
      'ended, and is not started again yet',
      {},
      [ended({ terminated: { reason: 'Error', exitCode: 3 } })],
      ['Provisioning', 'Error', 'container chef ended (Error): exit code 3; see its log'],
    ],
    [
      'had too little memory',
      {},
      [ended({ terminated: { reason: 'OOMKilled', exitCode: 137 } })],
      ['Provisioning', 'OOMKilled', /^container chef ran out of memory, its limit is 256Mi: give it more/],
    ],
    [
      'has too little memory again and again',
      {},
      [
        ended(
          { waiting: { reason: 'CrashLoopBackOff', message: 'back-off' } },
          { restartCount: 5, lastState: { terminated: { reason: 'OOMKilled', exitCode: 137 } } },
        ),
      ],
      ['Failed', 'OOMKilled', /its limit is 256Mi/],
    ],
    [
      'ended by itself, and is not started again yet',
      {},
      [ended({ terminated: { reason: 'Completed', exitCode: 0 } })],
      ['Provisioning', 'Completed', COMPLETED],
    ],
    [
      'ends by itself again and again',
      {},
      [
        ended(
          { waiting: { reason: 'CrashLoopBackOff', message: 'back-off' } },
          { restartCount: 5, lastState: { terminated: { reason: 'Completed', exitCode: 0 } } },
        ),
      ],
      ['Failed', 'Completed', COMPLETED],
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
      'finds no node with a device',
      {},
      [
        {
          phase: 'Pending',
          conditions: [
            {
              type: 'PodScheduled',
              status: 'False',
              reason: 'Unschedulable',
              message: '0/1 nodes are available: 1 Insufficient devices.kubevirt.io/tun.',
            },
          ],
        },
      ],
      [
        'Provisioning',
        'Unschedulable',
        /Insufficient devices.kubevirt.io\/tun.; nodes offer these devices where virt-/,
      ],
    ],
    [
      'is refused a pod',
      { conditions: [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'exceeded quota' }] },
      [],
      ['Provisioning', 'FailedCreate', /exceeded quota/],
    ],
    ['is late, and nothing says why', LATE, [], ['Failed', 'ContainersFailed', /not ready in time/]],
    [
      'has an init container that runs',
      {},
      [INITIALIZING],
      [
        'Provisioning',
        'ContainersPending',
        'init container first of demo-app runs: the others start when it has ended',
      ],
    ],
    [
      'has an init container that does not end',
      LATE,
      [INITIALIZING],
      ['Failed', 'ContainersFailed', /not ready in time: its init container first has not ended; see its log$/],
    ],
    [
      'has an init container that fails',
      {},
      [initial({ waiting: { reason: 'CrashLoopBackOff', message: 'back-off' } }, 1)],
      ['Provisioning', 'CrashLoopBackOff', /^init container first ends again and again: .*exit code 1; see its log$/],
    ],
    [
      'has an init container that fails for minutes',
      {},
      [initial({ waiting: { reason: 'CrashLoopBackOff', message: 'back-off' } }, 5)],
      ['Failed', 'CrashLoopBackOff', /^init container first ends again/],
    ],
    [
      'has an init container whose image cannot be pulled',
      {},
      [initial({ waiting: { reason: 'ErrImagePull', message: 'manifest unknown' } }, 0)],
      ['Provisioning', 'ImagePullBackOff', 'the image of init container first cannot be pulled: manifest unknown'],
    ],
  ])('%s', (_what, deployment, pods, [phase, reason, message]) => {
    const [isPhase, isReason, says] = cluster(deployment, pods)
    expect([isPhase, isReason]).toEqual([phase, reason])
    expect(says).toMatch(message)
  })

  it('has no secret of its variables in its message, whoever quotes them', () => {
    const env = [{ name: 'API_TOKEN', value: 'hunter2' }]
    const containerClusters = DEPLOYED.containerClusters.map((one) => ({
      ...one,
      containers: one.containers.map((container) => ({ ...container, env })),
    }))
    const message = 'admission webhook "any" denied the request: "hunter2" is too simple'
    const conditions = [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message }]
    const change = (child: KubeObject) =>
      viewDeployment({ ...child, status: { observedGeneration: 1, conditions } } as KubeObject)
    const spec = { ...DEPLOYED, containerClusters }
    const [, , says] = summary('ContainerCluster', 'demo-app', 'Deployment demo-app', change, {}, spec)
    expect(says).toContain('denied the request: "…" is too simple')
  })

  it('says what Events alone tell, and what was told before until somebody has looked', () => {
    const told = (text: string | undefined, isRead: boolean) => ({
      podWarnings: new Map([['pod-uid', { text, isRead }]]),
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
    summary(
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
    [
      'that has lost its disk',
      { phase: 'Failed', reason: 'DiskLost', message: 'the root disk is gone' },
      ['Failed', 'DiskLost', 'the root disk is gone'],
    ],
    ['that failed', { phase: 'Failed', reason: 'StartFailed', message: 'no' }, ['Failed', 'StartFailed', 'no']],
  ])('%s', (_what, status, expected) => {
    expect(machine(status)).toEqual(expected)
  })
})

describe('a volume', () => {
  const volume = (name: string, status: object) =>
    summary('Volume', name, `PersistentVolumeClaim ${name}`, (child) => {
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

  it('that the API server does not let grow stays as it is, is tried again, and says so like one that is to shrink', () => {
    const grown = { ...DEPLOYED, volumes: DEPLOYED.volumes?.map((one) => ({ ...one, size: '2Gi' })) }
    const world = settledWorld(DEPLOYED)
    for (const [id, child] of world.children) world.children.set(id, { ...child, requested: '1Gi' } as never)
    world.spec = parsed(grown)
    const refusal = {
      why: 'Refused',
      message:
        'persistentvolumeclaims "monitorconfigs" is forbidden: only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
    } as const
    const claims = world.world.components.flatMap(({ objects }) => objects).filter(({ kind }) => kind.endsWith('Claim'))
    const refusals = new Map(claims.map((claim) => [childId(claim), refusal]))
    const { status, apply } = planWorkspace({ ...world.world, refusals }, NOW)
    expect([status.phase, status.reason]).toEqual(['Ready', 'NotChangeable'])
    expect(status.components?.find(({ name }) => name === 'monitorconfigs')?.message).toContain(
      'its volume cannot grow: it stays at 1Gi, although the spec asks for 2Gi',
    )
    expect(apply.map(({ metadata }) => metadata.name)).toContain('monitorconfigs')
    const quota = { why: 'Refused', message: 'exceeded quota: small' } as const
    const other = new Map(claims.map((claim) => [childId(claim), quota]))
    expect(planWorkspace({ ...world.world, refusals: other }, NOW).status.reason).toBe('Refused')
  })

  describe('whose claim somebody deletes', () => {
    const ID = 'PersistentVolumeClaim dnsconfig'
    const claimOf = (planned: PlannedWorld, change: (claim: KubeObject) => KubeObject | undefined) => {
      const changed = change(planned.children.get(ID) as KubeObject)
      if (changed === undefined) planned.children.delete(ID)
      else planned.children.set(ID, changed)
    }
    const going = (claim: KubeObject): KubeObject => ({
      ...claim,
      metadata: { ...claim.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
    })
    const told = (planned: PlannedWorld) => {
      const plan = planWorkspace(planned.world, NOW)
      planned.status = plan.status
      const row = plan.status.components?.find(({ kind, name }) => kind === 'Volume' && name === 'dnsconfig')
      return {
        row: [row?.phase, row?.reason],
        condition: plan.status.conditions?.find(({ type }) => type === 'VolumeLost')?.message,
        events: plan.events.filter(({ type }) => type === 'Warning').map(({ reason }) => reason),
        // Machines are told of each request.
        made: plan.apply.flatMap(({ kind, metadata }) => (kind === 'VirtualMachine' ? [] : `${kind} ${metadata.name}`)),
      }
    }

    const ask = (planned: PlannedWorld, value: string) => {
      planned.rebuildRequestedAt = value
      return told(planned)
    }
    const LOST = { row: ['Failed', 'VolumeLost'], made: [] }

    it('says so while there is something to save, and when it is gone, and is made again once somebody asks', () => {
      const planned = settledWorld(DEPLOYED)
      const claim = planned.children.get(ID) as KubeObject
      ask(planned, 'before')
      claimOf(planned, going)
      expect(told(planned)).toEqual({
        ...LOST,
        condition: expect.stringContaining('Volume dnsconfig: '),
        events: ['VolumeLost'],
      })
      // Pods still have the data.
      expect(ask(planned, 'early')).toMatchObject(LOST)
      claimOf(planned, () => undefined)
      expect([told(planned), told(planned)]).toMatchObject([LOST, LOST])
      expect(ask(planned, 'now')).toMatchObject({ row: ['Provisioning', 'Provisioning'], made: [ID] })
      // The write may fail.
      expect(told(planned)).toMatchObject({ row: ['Provisioning', 'Provisioning'], made: [ID] })
      planned.children.set(ID, { ...claim, metadata: { ...claim.metadata, uid: 'new' } })
      expect(told(planned)).toMatchObject({ row: ['Ready', 'Ready'], condition: expect.stringContaining('is gone') })
      claimOf(planned, () => undefined)
      expect(told(planned)).toMatchObject(LOST)
    })

    describe('that was restored', () => {
      const RESTORED = 'dnsconfig-1a2b3c4d'
      /** @param claim that the volume has now, beside the one of before */
      const restored = (claim: object, requested = '4Gi') => {
        const planned = settledWorld(DEPLOYED)
        const before = planned.children.get(ID) as KubeObject
        const labels = { ...before.metadata.labels, [LABELS.volume]: 'dnsconfig' }
        const metadata = { ...before.metadata, name: RESTORED, uid: 'restored', labels, annotations: {} }
        const now = { ...before, metadata, phase: 'Pending', requested, ...claim }
        planned.children.set(`PersistentVolumeClaim ${RESTORED}`, now as KubeObject)
        planned.volumeClaims = JSON.stringify({
          dnsconfig: { claim: RESTORED, replaced: 'dnsconfig', at: toTime(NOW) },
        })
        return planned
      }

      it('is not made again empty where its claim went before anything used it, and says what is left', () => {
        const planned = restored({})
        expect(told(planned).made).toContain(`PersistentVolumeClaim ${RESTORED}`)
        expect(planned.status.irreplaceable).toContain('Volume dnsconfig')
        planned.children.delete(`PersistentVolumeClaim ${RESTORED}`)
        expect(told(planned)).toMatchObject({
          row: LOST.row,
          condition: expect.stringContaining(
            '(PersistentVolumeClaim dnsconfig, from before the restore, is still there)',
          ),
        })
        // Also where the operator has never seen it.
        planned.status = {}
        const [first, second] = [told(planned), told(planned)]
        expect([first.row, second.row]).toEqual([LOST.row, LOST.row])
        expect([...first.made, ...second.made].filter((one) => one.startsWith('Pers'))).toEqual([])
        expect(ask(planned, 'now').made).toContain(`PersistentVolumeClaim ${RESTORED}`)
      })

      it('is not lost as long as its claim is not seen to belong to the workspace', () => {
        const planned = restored({})
        const id = `PersistentVolumeClaim ${RESTORED}`
        planned.namesakes.set(id, planned.children.get(id) as KubeObject)
        planned.children.delete(id)
        expect(told(planned).row).toEqual(['Failed', 'NameConflict'])
        expect(planned.status.lost).toBeUndefined()
      })

      it('stays as large as it came from its snapshot, and gets its mark', () => {
        const planned = restored({ phase: 'Bound' }, '999Gi')
        const [claim] = planWorkspace(planned.world, NOW).apply.filter(({ kind }) => kind === 'PersistentVolumeClaim')
        expect(claim).toMatchObject({
          metadata: { name: RESTORED, annotations: { [ANNOTATIONS.rendered]: expect.any(String) } },
          spec: { resources: { requests: { storage: '999Gi' } } },
        })
        expect(told(planned).row).toEqual(['Ready', 'OldVolumeKept'])
      })
    })

    it('says so where nobody saw it go, and a request that came with the loss is none', () => {
      const planned = settledWorld(DEPLOYED)
      claimOf(planned, () => undefined)
      expect(ask(planned, 'for another one')).toMatchObject({ ...LOST, events: ['VolumeLost'] })
      expect(told(planned)).toMatchObject(LOST)
    })

    it('has the claim of a lost storage removed once somebody asks, and not before, whoever deletes it', () => {
      const planned = settledWorld(DEPLOYED)
      const removed = () => planWorkspace(planned.world, NOW).remove.map(({ name }) => name)
      claimOf(planned, (claim) => ({ ...claim, phase: 'Lost' }) as KubeObject)
      const lost = planned.children.get(ID) as KubeObject
      expect([told(planned), removed()]).toMatchObject([LOST, []])
      claimOf(planned, going)
      expect(told(planned)).toMatchObject(LOST)
      claimOf(planned, () => undefined)
      expect(told(planned)).toMatchObject(LOST)
      planned.children.set(ID, lost)
      expect(told(planned)).toMatchObject(LOST)
      planned.rebuildRequestedAt = 'now'
      expect(removed()).toEqual(['dnsconfig'])
      told(planned)
      claimOf(planned, () => undefined)
      expect(told(planned)).toMatchObject({ row: ['Provisioning', 'Provisioning'], made: [ID] })
    })

    it.each<[string, PlannedWorld, (claim: KubeObject) => KubeObject]>([
      ['had no storage yet', settledWorld(DEPLOYED), (claim) => going({ ...claim, phase: 'Pending' } as KubeObject)],
      ['is for a folder of a node, whose files stay', settledWorld(DEPLOYED, { localVolumeRoot: '/srv' }), going],
    ])('has lost nothing where it %s', (_what, planned, change) => {
      claimOf(planned, change)
      expect(told(planned)).toMatchObject({ row: ['Provisioning', 'Provisioning'], condition: undefined })
    })
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
