import { fullName } from '@open-terrain/constructs/infra'
import { ALERTS, type AlertName } from '@open-terrain/constructs/platform'
import { expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { PERSISTENT_VOLUME_CLAIM, SECRET, VOLUME_SNAPSHOT } from '../../operator/kube/resource-types.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import { DataSyncs } from '../harness/data-syncs.ts'
import { WORKSPACE } from '../harness/kinds.ts'
import { Machines } from '../harness/machines.ts'
import { refuse } from '../harness/refusal.ts'
import { ALERT_NAMES, SCRAPED_POLL, ScrapedOperator } from '../harness/scraped-operator.ts'
import { Workspaces } from '../harness/workspaces.ts'
import { World } from '../harness/world.ts'
import { resolvePrometheus } from '../monitoring/prometheus.ts'

/** Prometheus returns them in no order, their labels sorted. */
function sorted(alerts: readonly Readonly<Record<string, object>>[]): string[] {
  return alerts
    .flatMap((alert) =>
      Object.entries(alert).map(([name, labels]) => `${name} ${Object.values(labels).toSorted().join(' ')}`),
    )
    .toSorted()
}

/** A lab with something to lose, without a machine: its volume and the values of its Secret. */
const LAB = {
  secrets: [{ name: 'database', generate: [{ key: 'root' }] }],
  volumes: [{ name: 'data', size: '1Gi' }],
}
const OF_LOSSES = [
  ...(['DiskLost', 'ArtifactLost', 'VolumeLost', 'SecretLost', 'NeighbourAway'] as const),
  ...(['WorkspaceDeletion', 'WorkspaceOverdue'] as const),
] satisfies AlertName[]

const prometheus = await resolvePrometheus((line) => process.stderr.write(`${line}\n`))
// The default storage class makes this cluster unsuitable for other tests.
const cluster = useOwnCluster()

interface Stage {
  readonly world: World
  readonly labs: Workspaces
  readonly machines: Machines
  readonly scraped: ScrapedOperator
}

it.skipIf(prometheus === undefined)(
  'a Prometheus that scrapes the operator fires what is wrong, and nothing else; each loss, labs that go or outlive their end, and a neighbour that is away while nothing waits for it; and that nobody leads',
  async () => {
    if (prometheus === undefined) return
    const policy = { concurrency: '2', retryLimit: '0' }
    await using labs = new Workspaces(await World.start(cluster(), { policy, idle: true }))
    const { world } = labs
    await world.createStorageClass('usual', { 'storageclass.kubernetes.io/is-default-class': 'true' })
    await using scraped = await ScrapedOperator.start(prometheus, world)
    const stage = { world, labs, machines: new Machines(world), scraped }
    await doWrong(stage)
    await lose(stage)
    await scraped.operator.terminate()
    await expect.poll(() => firing(scraped), SCRAPED_POLL).toContainEqual('OpenTerrainNoLeader critical sync-operator')
  },
)

async function firing({ server }: ScrapedOperator): Promise<string[]> {
  const alerts = await server.firing()
  return sorted(
    alerts.map(({ labels: { alertname, namespace: _namespace, ...labels } }) => ({ [alertname ?? '']: labels })),
  )
}

/** Whatever fails, waits or is held, and nothing else. */
async function doWrong({ world, labs, machines, scraped }: Stage): Promise<void> {
  const until = async (what: string, ...alerts: readonly (readonly [AlertName, object])[]) => {
    const wanted = alerts.map(([name, labels]) => ({
      [fullName(name)]: { severity: ALERTS[name].severity, ...labels },
    }))
    await expect.poll(() => firing(scraped), { ...SCRAPED_POLL, message: what }).toEqual(sorted(wanted))
  }
  await world.syncImage('good')
  const unused = ['UnusedImageBytes', {}] as const
  await until('all is well, and an image that nothing refers to', unused)

  await world.setPolicy({ concurrency: 'many', retryLimit: '0' })
  world.imageServer.set({ path: `/${world.namespace}/missing.qcow2`, fault: { status: 404 } })
  await world.createImage('missing')
  await machines.create('broken', { vmDiskImageRef: { name: 'missing' }, vmDiskImageTemplate: undefined })
  await new DataSyncs(world).create('broken', ['missing'])
  await world.client.create(VOLUME_SNAPSHOT, {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshot',
    metadata: { name: 'forged', namespace: world.namespace, ownerReferences: [forgedOwner('good')] },
    spec: { source: { persistentVolumeClaimName: 'forged' } },
  } as KubeObject)
  await world.createImage('blocked', { secretRef: 'mistyped' })
  await world.syncImage('packed', { url: world.urlOf('packed.tar') })
  await world.createImage('held', { suspend: true })
  await machines.create('waiting', { vmDiskImageRef: { name: 'held' }, vmDiskImageTemplate: undefined })
  await machines.create('user', { vmDiskImageRef: { name: 'good' }, vmDiskImageTemplate: undefined })
  await machines.untilReady('user')
  await world.deleteImage('good')
  await labs.create(labs.name('waiting'))
  const wrong = [
    ['RetriesExhausted', { reason: 'NotFound' }],
    ['ObjectFailed', { kind: 'VirtualMachine', reason: 'ImageFailed' }],
    ['ObjectFailed', { kind: 'DataSync', reason: 'ImageFailed' }],
    ['LookAlikes', { kind: 'VolumeSnapshot' }],
    ['ObjectBlocked', { kind: 'VMDiskImage', reason: 'SecretMissing' }],
    ['ObjectWarned', { kind: 'VMDiskImage', reason: 'PackedSource' }],
    ['OnHold', { kind: 'VMDiskImage', reason: 'Suspended' }],
    ['MachineWaiting', {}],
    ['DeletionStuck', { kind: 'VMDiskImage', reason: 'InUse' }],
    ['ObjectBlocked', { kind: 'Workspace', reason: 'ImageMissing' }],
    ['WorkspaceWaiting', {}],
    unused,
  ] as const
  await until('all of that, and the policy', ...wrong, ['PolicyInvalid', {}])
  await world.setPolicy({ concurrency: '2', retryLimit: '0' })
  await until('the policy is valid again', ...wrong)

  for (const name of ALERT_NAMES) {
    const metrics = new Set(ALERTS[name].expr.match(/\b(ot_\w+|leader_election_master_status)/g))
    for (const metric of metrics)
      if (metric !== 'ot_vmdi_failed')
        expect(await scraped.server.count(`{__name__="${metric}"}`), metric).toBeGreaterThan(0)
  }
}

/** Losses, ends of labs, and a neighbour that is away. */
async function lose({ world, labs, machines, scraped }: Stage): Promise<void> {
  const fired = async () => {
    const names = new Set((await scraped.firing()).map(({ labels }) => labels['alertname']))
    return OF_LOSSES.filter((name) => names.has(fullName(name)))
  }
  const until = async (...alerts: readonly AlertName[]) => {
    await expect
      .poll(fired, { ...SCRAPED_POLL, message: alerts.join() })
      .toEqual(OF_LOSSES.filter((name) => alerts.includes(name)))
  }
  const { metadata } = await labs.deploy('losing', LAB)
  const namespace = metadata.name
  await machines.create('loser')
  const { status } = await machines.untilReady('loser')
  await until()

  await world.client.delete(SECRET, { namespace, name: 'database' })
  await until('SecretLost')
  await world.client.delete(PERSISTENT_VOLUME_CLAIM, { namespace, name: 'data' })
  await until('SecretLost', 'VolumeLost')
  const artifact = world.mirror.images.get(`${world.namespace}/golden`)?.status?.artifact
  await world.client.delete(VOLUME_SNAPSHOT, { namespace: world.namespace, name: artifact?.name ?? '' })
  await until('SecretLost', 'VolumeLost', 'ArtifactLost')
  await world.untilSynced('golden')

  // Nothing waits for KubeVirt: its Lease alone shows that it is away.
  const comeBack = world.simulators.kubevirt.stopController()
  await until('SecretLost', 'VolumeLost', 'ArtifactLost', 'NeighbourAway')
  expect(machines.get('loser')?.status).toMatchObject({ phase: status?.phase, reason: status?.reason })
  comeBack()
  await until('SecretLost', 'VolumeLost', 'ArtifactLost')

  await world.client.delete(PERSISTENT_VOLUME_CLAIM, { namespace: world.namespace, name: 'loser-root' })
  const losses = ['SecretLost', 'VolumeLost', 'ArtifactLost', 'DiskLost'] as const
  await until(...losses)

  const ending = await labs.deploy('ending', { volumes: [], lifetime: '1h', onExpiry: 'Delete' })
  await labs.untilWarned(ending.metadata.name)
  await until(...losses, 'WorkspaceDeletion')
  const { group, version, plural } = WORKSPACE
  const message = 'no lab goes today'
  const allow = await refuse(world.client, {
    ...{ name: 'no-lab-goes', namespace: ending.metadata.name, unless: 'false', message },
    rule: { apiGroups: [group], apiVersions: [version], operations: ['DELETE'], resources: [plural] },
  })
  const deletion = `/apis/${group}/${version}/${plural}/${ending.metadata.name}?dryRun=All`
  const answer = async () => (await world.cluster.controlPlane.request('DELETE', deletion)).text
  await expect.poll(answer, SCRAPED_POLL).toContain(message)
  await labs.letTwoHoursPass(ending.metadata.name)
  await until(...losses, 'WorkspaceDeletion', 'WorkspaceOverdue')
  await allow()
  await labs.untilGone(ending.metadata.name)
  await until(...losses)
}

function forgedOwner(name: string): object {
  return { apiVersion: 'pelotech.ot/v1alpha1', kind: 'VMDiskImage', name, uid: 'forged', controller: true }
}
