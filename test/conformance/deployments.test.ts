import { expect, vi } from 'vitest'
import { apiVersionOf, type ResourceType } from '../../operator/kube/kube-object.ts'
import { DEPLOYMENT, NAMESPACE, POD } from '../../operator/kube/resource-types.ts'
import { REPLICA_SET } from '../../sandbox/resource-types.ts'
import { type Full, HOLD } from './objects.ts'
import { conform, type Subject } from './subjects.ts'

const LABELS = { app: 'chef' }

/** A Deployment that runs one pod at a time: the old one is gone before the new one is created. */
function deployment({ namespace }: Subject, image: string): Full {
  const containers = [{ name: 'chef', image }]
  return {
    apiVersion: apiVersionOf(DEPLOYMENT),
    kind: DEPLOYMENT.kind,
    metadata: { namespace, name: 'chef' },
    spec: {
      replicas: 1,
      strategy: { type: 'Recreate' },
      selector: { matchLabels: LABELS },
      template: { metadata: { labels: LABELS }, spec: { automountServiceAccountToken: false, containers } },
    },
  }
}

async function until<T>(probe: () => Promise<T | undefined | false>): Promise<T> {
  return await vi.waitFor(
    async () => {
      const found = await probe()
      if (found === undefined || found === false) throw new Error('not yet')
      return found
    },
    { timeout: 300_000, interval: 20 },
  )
}

async function all({ client, namespace }: Subject, type: ResourceType): Promise<readonly Full[]> {
  return (await client.list<Full>(type, { namespace })).items
}

async function onlyPod(subject: Subject): Promise<Full> {
  return await until(async () => {
    const pods = await all(subject, POD)
    return pods.length === 1 && pods[0]
  })
}

/** Does what a kubelet does. */
async function makeReady(subject: Subject, pod: Full): Promise<void> {
  const fresh = await subject.client.get<Full>(POD, pod.metadata)
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }]
  await subject.client.replaceStatus<Full>(POD, { ...fresh, status: { ...fresh.status, phase: 'Running', conditions } })
}

/** Conditions as `type=status/reason/message`, ordered by type, without the parts of names that change from run to run. */
function told({ status }: Full): string[] {
  const conditions = (status?.['conditions'] ?? []) as readonly Readonly<Record<string, string>>[]
  const lines = conditions.map(({ type, status: holds, reason, message }) => `${type}=${holds}/${reason}/${message}`)
  return lines.map((line) => line.replaceAll(/chef-[0-9a-z]+(-[0-9a-z]{5})?/g, 'chef-HASH')).sort()
}

async function untilStatus(subject: Subject, lines: readonly string[]): Promise<Full> {
  return await vi.waitFor(
    async () => {
      const [found] = await all(subject, DEPLOYMENT)
      expect(found === undefined ? [] : told(found)).toEqual(lines)
      return found as Full
    },
    { timeout: 300_000, interval: 20 },
  )
}

const READY = [
  'Available=True/MinimumReplicasAvailable/Deployment has minimum availability.',
  'Progressing=True/NewReplicaSetAvailable/ReplicaSet "chef-HASH" has successfully progressed.',
]
const WAITING = [
  'Available=False/MinimumReplicasUnavailable/Deployment does not have minimum availability.',
  'Progressing=True/ReplicaSetUpdated/ReplicaSet "chef-HASH" is progressing.',
]

conform('a Deployment', {
  'has one pod by a ReplicaSet, and says when it is ready': async (subject) => {
    await subject.client.create<Full>(DEPLOYMENT, deployment(subject, 'example.com/chef:1'))
    const pod = await onlyPod(subject)
    const waiting = await untilStatus(subject, WAITING)
    expect(waiting.status).toMatchObject({ observedGeneration: 1, replicas: 1, unavailableReplicas: 1 })
    const [replicaSet] = await all(subject, REPLICA_SET)
    const hash = pod.metadata.labels?.['pod-template-hash']
    expect(replicaSet?.metadata).toMatchObject({
      name: `chef-${hash}`,
      labels: { ...LABELS, 'pod-template-hash': hash },
    })
    expect(pod.metadata.name).toMatch(new RegExp(`^chef-${hash}-[a-z0-9]{5}$`))
    expect(pod.metadata.ownerReferences).toEqual([
      {
        apiVersion: 'apps/v1',
        kind: 'ReplicaSet',
        name: replicaSet?.metadata.name,
        uid: replicaSet?.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ])
    await makeReady(subject, pod)
    const ready = await untilStatus(subject, READY)
    const counts = { observedGeneration: 1, replicas: 1, readyReplicas: 1, availableReplicas: 1, updatedReplicas: 1 }
    expect(ready.status).toMatchObject(counts)
    expect(ready.status).not.toHaveProperty('unavailableReplicas')
    expect(ready.metadata.annotations).toMatchObject({ 'deployment.kubernetes.io/revision': '1' })
  },

  'of strategy Recreate has no new pod before the old one is gone': async (subject) => {
    const { client } = subject
    await client.create<Full>(DEPLOYMENT, deployment(subject, 'example.com/chef:1'))
    const old = await onlyPod(subject)
    await makeReady(subject, old)
    await untilStatus(subject, READY)
    await client.mergePatch(POD, old.metadata, { metadata: { finalizers: [HOLD] } })
    const containers = [{ name: 'chef', image: 'example.com/chef:2' }]
    await client.mergePatch(DEPLOYMENT, old.metadata.namespace ? { ...old.metadata, name: 'chef' } : old.metadata, {
      spec: { template: { spec: { containers } } },
    })
    await until(async () => (await all(subject, DEPLOYMENT))[0]?.status?.['observedGeneration'] === 2)
    await until(async () => (await onlyPod(subject)).metadata.deletionTimestamp !== undefined)
    await until(async () =>
      told((await all(subject, DEPLOYMENT))[0] as Full).some((line) => line.startsWith('Available=False')),
    )
    expect(await all(subject, REPLICA_SET)).toHaveLength(1)
    expect((await onlyPod(subject)).metadata.uid).toBe(old.metadata.uid)
    await client.mergePatch(POD, old.metadata, { metadata: { finalizers: null } })
    const next = await until(async () => {
      const [pod] = await all(subject, POD)
      return pod !== undefined && pod.metadata.uid !== old.metadata.uid && pod
    })
    expect(next.spec).toMatchObject({ containers: [{ image: 'example.com/chef:2' }] })
    await makeReady(subject, next)
    const ready = await untilStatus(subject, READY)
    expect(ready.metadata.annotations).toMatchObject({ 'deployment.kubernetes.io/revision': '2' })
    expect(await all(subject, REPLICA_SET)).toHaveLength(2)
  },

  'makes another pod for one that went': async (subject) => {
    await subject.client.create<Full>(DEPLOYMENT, deployment(subject, 'example.com/chef:1'))
    const first = await onlyPod(subject)
    await subject.client.delete(POD, first.metadata)
    await until(async () => (await onlyPod(subject)).metadata.uid !== first.metadata.uid)
  },

  'says why its pod is refused, and has it when the refusal is over': async (subject) => {
    const { client, namespace } = subject
    const enforce = (level: string) =>
      client.mergePatch(
        NAMESPACE,
        { name: namespace },
        { metadata: { labels: { 'pod-security.kubernetes.io/enforce': level } } },
      )
    await enforce('baseline')
    const privileged = deployment(subject, 'example.com/chef:1')
    const ports = [{ containerPort: 53, hostPort: 53, protocol: 'UDP' }]
    const { spec = {} } = privileged
    const containers = [{ name: 'chef', image: 'example.com/chef:1', ports }]
    const template = { metadata: { labels: LABELS }, spec: { automountServiceAccountToken: false, containers } }
    await client.create<Full>(DEPLOYMENT, { ...privileged, spec: { ...spec, template } })
    await untilStatus(subject, [
      'Available=False/MinimumReplicasUnavailable/Deployment does not have minimum availability.',
      'Progressing=True/NewReplicaSetCreated/Created new replica set "chef-HASH"',
      'ReplicaFailure=True/FailedCreate/pods "chef-HASH" is forbidden: violates PodSecurity "baseline:latest": hostPort (container "chef" uses hostPort 53)',
    ])
    await enforce('privileged')
    await onlyPod(subject)
    await untilStatus(subject, WAITING)
  },

  'goes with its ReplicaSets and pods': async (subject) => {
    const { client, namespace } = subject
    await client.create<Full>(DEPLOYMENT, deployment(subject, 'example.com/chef:1'))
    await onlyPod(subject)
    await client.delete(DEPLOYMENT, { namespace, name: 'chef' }, { propagationPolicy: 'Foreground' })
    for (const type of [POD, REPLICA_SET, DEPLOYMENT]) {
      await until(async () => (await all(subject, type)).length === 0)
    }
  },
})
