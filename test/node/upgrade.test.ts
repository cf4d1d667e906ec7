import { rm } from 'node:fs/promises'
import { ANNOTATIONS, type WorkspaceSpecInput } from '@open-terrain/constructs'
import { INSTALLATION_PARTS, type Installation, renderInstallation } from '@open-terrain/constructs/platform'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { STORAGE_CLASS } from '../../operator/kube/resource-types.ts'
import { DEFAULT_CLASS } from '../../sandbox/simulators/annotations.ts'
import { buildCommit, EARLIER, hasCommit, renderCommit } from '../harness/earlier-release.ts'
import { ignoreNotFound } from '../harness/grounds.ts'
import { InstalledOperator } from '../harness/installed-operator.ts'
import { IMAGE } from '../harness/kinds.ts'
import { runningObjects } from '../harness/running-objects.ts'
import { Lab } from './lab.ts'
import { NodeStage } from './node-stage.ts'
import { useRealCluster } from './shared-cluster.ts'

// A copy without history has nothing to upgrade from.
describe.runIf(await hasCommit(EARLIER))('an upgrade on nodes', () => {
  const cluster = useRealCluster()

  it(`from ${EARLIER}, the way back and another one leave the pods, claims and volumes of a lab and the disk of an image as they are`, async ({
    skip,
  }) => {
    const images = cluster().operatorImages
    if (images === undefined) return skip('NODE_REGISTRY names no registry that nodes of this cluster pull from')
    const { folder, bundle } = await buildCommit(EARLIER)
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const policy = {
      allowedSourceUrls: [`${cluster().sourceUrl}/`],
      defaultStorageClass: cluster().storageClass,
      concurrency: 1,
      retryLimit: 0,
    }
    const propsOf = async (path: string, tag: string) => ({ image: await images.of(path, tag), policy })
    const earlier = await renderCommit(folder, await propsOf(bundle, 'earlier'))
    const today = renderInstallation(await propsOf(inject('operatorBundle'), 'today'))
    await using stage = await NodeStage.startIdle(cluster())
    await using operator = new InstalledOperator(stage)
    // Volumes of labs are of the default class.
    const { items: classes } = await stage.client.list(STORAGE_CLASS)
    const isMissing = !classes.some(({ metadata }) => metadata.annotations?.[DEFAULT_CLASS] === 'true')
    const setDefault = (value: 'true' | null) =>
      stage.client.mergePatch(
        STORAGE_CLASS,
        { name: cluster().storageClass },
        { metadata: { annotations: { [DEFAULT_CLASS]: value } } },
      )
    if (isMissing) await setDefault('true')
    try {
      await play(stage, operator, earlier, today)
    } finally {
      if (isMissing) await setDefault(null)
      await operator.removeOperator().catch(ignoreNotFound)
      for (const { access, policy, operator: own } of [today, earlier]) {
        for (const object of [...access, ...policy, ...own]) await operator.remove(object)
      }
    }
  })
})

async function play(
  stage: NodeStage,
  operator: InstalledOperator,
  earlier: Installation,
  today: Installation,
): Promise<void> {
  await install(operator, earlier)
  // It takes an importer that asks for scratch space for one that was lost.
  await stage.createImage('golden', 'disk.raw')
  expect(await stage.untilDecided('golden')).toBe('RetryLimitExceeded')
  const lab = await Lab.create(stage, labOf(stage.cluster.podImage))
  await lab.untilReady()
  const runs = () => runningObjects(stage.client, [lab.name, stage.namespace])
  let before = await runs()
  expect(Object.keys(before).map((name) => name.split(' ')[0])).toEqual(
    expect.arrayContaining(['Pod', 'PersistentVolumeClaim', 'Deployment', 'NetworkPolicy']),
  )

  for (const [name, installation] of [
    ['upgraded', today],
    ['back', earlier],
    ['again', today],
  ] as const) {
    await install(operator, installation)
    // The leader has served all that was there when it has served what is new.
    const next = await Lab.create(stage, { containerClusters: [] })
    await next.untilReady()
    await lab.untilReady()
    expect(await runs(), name).toMatchObject(before)
    await next.remove()
    if (name !== 'upgraded') continue
    await stage.client.mergePatch(IMAGE, stage.keyOf('golden'), { metadata: { annotations: RETRY } })
    await stage.untilImage('golden', 'Synced', ({ status }) => status?.phase === 'Succeeded')
    before = await runs()
  }
  await lab.remove()
  await stage.finish()
}

const RETRY = { [ANNOTATIONS.retryRequestedAt]: '2026-01-01T00:00:00Z' }

/** Two pods on a network of their own, one of which has a volume. */
function labOf(image: string): WorkspaceSpecInput {
  const volumeMounts = [{ name: 'data', containerPath: '/data' }]
  const member = (name: string, address: string, further = {}) => ({
    name,
    interfaces: [{ network: 'inside', ipAddress: `${address}/24` }],
    containers: [{ name, image, ...further }],
  })
  return {
    networks: [{ name: 'inside', cidr: '10.77.0.0/24' }],
    volumes: [{ name: 'data', size: '16Mi' }],
    containerClusters: [member('web', '10.77.0.2'), member('store', '10.77.0.3', { volumeMounts })],
  }
}

async function install(operator: InstalledOperator, installation: Installation): Promise<void> {
  const before = operator.pods.map(({ metadata }) => metadata.name)
  for (const part of INSTALLATION_PARTS) for (const object of installation[part]) await operator.applyObject(object)
  await operator.untilLeading((pod) => !before.includes(pod))
  await operator.untilRolledOut(imageOf(installation))
}

function imageOf({ operator }: Installation): string {
  const deployment = operator.find(({ kind }) => kind === 'Deployment') as unknown as {
    readonly spec: {
      readonly template: { readonly spec: { readonly containers: readonly { readonly image: string }[] } }
    }
  }
  return deployment.spec.template.spec.containers[0]?.image ?? ''
}
