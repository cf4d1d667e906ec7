import { fullName } from '@open-terrain/constructs/infra'
import type { AlertName } from '@open-terrain/constructs/platform'
import { expect, it } from 'vitest'
import { PERSISTENT_VOLUME_CLAIM, SECRET, VOLUME_SNAPSHOT } from '../../operator/kube/resource-types.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import { WORKSPACE } from '../harness/kinds.ts'
import { Machines } from '../harness/machines.ts'
import { refuse } from '../harness/refusal.ts'
import { SCRAPED_POLL, ScrapedOperator } from '../harness/scraped-operator.ts'
import { Workspaces } from '../harness/workspaces.ts'
import { resolvePrometheus } from '../monitoring/prometheus.ts'

const prometheus = await resolvePrometheus((line) => process.stderr.write(`${line}\n`))
// The default storage class makes this cluster unsuitable for other tests.
const cluster = useOwnCluster()

/** A lab with something to lose, without a machine: its volume and the values of its Secret. */
const LAB = {
  secrets: [{ name: 'database', generate: [{ key: 'root' }] }],
  volumes: [{ name: 'data', size: '1Gi' }],
}
const WATCHED = [
  ...(['DiskLost', 'ArtifactLost', 'VolumeLost', 'SecretLost', 'NeighbourAway'] as const),
  ...(['WorkspaceDeletion', 'WorkspaceOverdue'] as const),
] satisfies AlertName[]

it.skipIf(prometheus === undefined)(
  'a Prometheus that scrapes the operator fires each loss, labs that go or outlive their end, and a neighbour that is away while nothing waits for it',
  async () => {
    if (prometheus === undefined) return
    await using labs = await Workspaces.start(cluster(), {}, { idle: true })
    const { world } = labs
    await using scraped = await ScrapedOperator.start(prometheus, world)
    const fired = async () => {
      const names = new Set((await scraped.firing()).map(({ labels }) => labels['alertname']))
      return WATCHED.filter((name) => names.has(fullName(name)))
    }
    const until = async (...alerts: readonly AlertName[]) => {
      await expect
        .poll(fired, { ...SCRAPED_POLL, message: alerts.join() })
        .toEqual(WATCHED.filter((name) => alerts.includes(name)))
    }
    const { metadata } = await labs.deploy('losing', LAB)
    const namespace = metadata.name
    const machines = new Machines(world)
    await machines.create('user')
    const { status } = await machines.untilReady('user')
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
    expect(world.mirror.machines.get(`${world.namespace}/user`)?.status).toMatchObject({
      phase: status?.phase,
      reason: status?.reason,
    })
    comeBack()
    await until('SecretLost', 'VolumeLost', 'ArtifactLost')

    await world.client.delete(PERSISTENT_VOLUME_CLAIM, { namespace: world.namespace, name: 'user-root' })
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
  },
)
