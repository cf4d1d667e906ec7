import { fullName } from '@open-terrain/constructs/infra'
import { ALERTS, type AlertName } from '@open-terrain/constructs/platform'
import { expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { VOLUME_SNAPSHOT } from '../../operator/kube/resource-types.ts'
import { useCluster } from '../harness/cluster.ts'
import { DataSyncs } from '../harness/data-syncs.ts'
import { Machines } from '../harness/machines.ts'
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

const prometheus = await resolvePrometheus((line) => process.stderr.write(`${line}\n`))
const cluster = useCluster()

it.skipIf(prometheus === undefined)(
  'a Prometheus that scrapes the operator fires what is wrong, and nothing else',
  async () => {
    if (prometheus === undefined) return
    await using labs = new Workspaces(
      await World.start(cluster(), { policy: { concurrency: '2', retryLimit: '0' }, idle: true }),
    )
    const { world } = labs
    await using scraped = await ScrapedOperator.start(prometheus, world)
    const { server, operator } = scraped
    const firing = async () => {
      const alerts = await server.firing()
      return sorted(
        alerts.map(({ labels: { alertname, namespace: _namespace, ...labels } }) => ({ [alertname ?? '']: labels })),
      )
    }
    const until = async (what: string, ...alerts: readonly (readonly [AlertName, object])[]) => {
      const wanted = alerts.map(([name, labels]) => ({
        [fullName(name)]: { severity: ALERTS[name].severity, ...labels },
      }))
      await expect.poll(firing, { ...SCRAPED_POLL, message: what }).toEqual(sorted(wanted))
    }
    await world.syncImage('good')
    const unused = ['UnusedImageBytes', {}] as const
    await until('all is well, and an image that nothing refers to', unused)

    await world.setPolicy({ concurrency: 'many', retryLimit: '0' })
    await until('the policy is invalid', ['PolicyInvalid', {}], unused)
    await world.setPolicy({ concurrency: '2', retryLimit: '0' })
    await until('the policy is valid again', unused)

    world.imageServer.set({ path: `/${world.namespace}/missing.qcow2`, fault: { status: 404 } })
    await world.createImage('missing')
    const failed = ['RetriesExhausted', { reason: 'NotFound' }] as const
    await until('an image has failed', failed, unused)

    const owner = {
      apiVersion: 'pelotech.ot/v1alpha1',
      kind: 'VMDiskImage',
      name: 'good',
      uid: 'forged',
      controller: true,
    }
    await world.client.create(VOLUME_SNAPSHOT, {
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshot',
      metadata: { name: 'forged', namespace: world.namespace, ownerReferences: [owner] },
      spec: { source: { persistentVolumeClaimName: 'forged' } },
    } as KubeObject)
    const seen = ['LookAlikes', { kind: 'VolumeSnapshot' }] as const
    await until('somebody forges', failed, seen, unused)

    const before = [failed, seen] as const
    const machines = new Machines(world)
    await machines.create('broken', { vmDiskImageRef: { name: 'missing' }, vmDiskImageTemplate: undefined })
    const machine = ['ObjectFailed', { kind: 'VirtualMachine', reason: 'ImageFailed' }] as const
    await until('a machine has failed', ...before, machine, unused)
    await new DataSyncs(world).create('broken', ['missing'])
    const broken = [...before, ['ObjectFailed', { kind: 'DataSync', reason: 'ImageFailed' }]] as const
    await until('a DataSync has failed', ...broken, machine, unused)

    await world.createImage('blocked', { secretRef: 'mistyped' })
    const blocked = ['ObjectBlocked', { kind: 'VMDiskImage', reason: 'SecretMissing' }] as const
    await until('an image waits for a Secret', ...broken, machine, blocked, unused)
    await world.syncImage('packed', { url: world.urlOf('packed.tar') })
    const warned = ['ObjectWarned', { kind: 'VMDiskImage', reason: 'PackedSource' }] as const
    await until('an image is of no use', ...broken, machine, blocked, warned, unused)
    await world.createImage('held', { suspend: true })
    const held = ['OnHold', { kind: 'VMDiskImage', reason: 'Suspended' }] as const
    const all = [machine, blocked, warned] as const
    await until('an image is suspended', ...broken, ...all, held, unused)

    await machines.create('waiting', { vmDiskImageRef: { name: 'held' }, vmDiskImageTemplate: undefined })
    const waiting = ['MachineWaiting', {}] as const
    await until('a machine waits', ...broken, ...all, held, waiting, unused)
    await machines.create('user', { vmDiskImageRef: { name: 'good' }, vmDiskImageTemplate: undefined })
    await machines.untilReady('user')
    await world.deleteImage('good')
    const stuck = ['DeletionStuck', { kind: 'VMDiskImage', reason: 'InUse' }] as const
    const rest = [machine, blocked, stuck, warned, held, waiting] as const
    await until('an image that is in use is deleted', ...broken, ...rest, unused)
    await labs.create(labs.name('waiting'))
    const lab = ['ObjectBlocked', { kind: 'Workspace', reason: 'ImageMissing' }] as const
    await until('a workspace waits', ...broken, ...rest, lab, ['WorkspaceWaiting', {}], unused)

    for (const name of ALERT_NAMES) {
      const metrics = new Set(ALERTS[name].expr.match(/\b(ot_\w+|leader_election_master_status)/g))
      for (const metric of metrics)
        if (metric !== 'ot_vmdi_failed') expect(await server.count(`{__name__="${metric}"}`), metric).toBeGreaterThan(0)
    }

    await operator.terminate()
    await expect.poll(firing, SCRAPED_POLL).toContainEqual('OpenTerrainNoLeader critical sync-operator')
  },
)
