import { describe, expect, it } from 'vitest'
import { IMAGE } from '../harness/kinds.ts'
import { inNamespaces } from '../harness/own-objects.ts'
import { refuse } from '../harness/refusal.ts'
import { hasScratch, importersOf, isRunning } from './importers.ts'
import { NodeStage } from './node-stage.ts'
import { useRealCluster } from './shared-cluster.ts'

type Moment = readonly [what: string, isNow: (stage: NodeStage) => boolean | undefined]

const WITH_SCRATCH: Moment = [
  'its importer runs with scratch space',
  (stage) => importersOf(stage).some((pod) => isRunning(pod) && hasScratch(pod)),
]
/** Moments in the life of an import that needs scratch space, in their order. */
const MOMENTS: readonly Moment[] = [
  ['its first importer is there', (stage) => importersOf(stage).length > 0],
  [
    'scratch space is claimed',
    (stage) =>
      inNamespaces(stage.mirror.claims, [stage.namespace]).some(({ metadata }) => metadata.name.endsWith('-scratch')),
  ],
  WITH_SCRATCH,
]

const cluster = useRealCluster()

describe('a download that is stopped', () => {
  const untilNow = (stage: NodeStage, [what, isNow]: (typeof MOMENTS)[number]) =>
    stage.mirror.until(
      what,
      () => isNow(stage) === true,
      () => '',
    )

  it.each(MOMENTS)(
    'by the deletion of its image when %s leaves nothing, and the name can be used again',
    async (...moment) => {
      await using stage = await NodeStage.start(cluster(), { concurrency: '1' })
      await stage.createImage('one', 'slow/disk.raw.xz')
      await untilNow(stage, moment)
      await stage.deleteImage('one')
      await stage.untilEmpty()
      await stage.createImage('one', 'disk.qcow2')
      expect(await stage.untilDecided('one')).toBe('Synced')
      await stage.finish()
    },
  )

  it('by suspend gives its slot to the next image, and goes on when it is resumed', async () => {
    await using stage = await NodeStage.start(cluster(), { concurrency: '1' })
    await stage.createImage('one', 'slow/disk.raw.xz')
    await untilNow(stage, WITH_SCRATCH)
    await cluster().client.mergePatch(IMAGE, stage.keyOf('one'), { spec: { suspend: true } })
    await stage.createImage('next', 'disk.qcow2')
    expect(await stage.untilDecided('next')).toBe('Synced')
    await cluster().client.mergePatch(IMAGE, stage.keyOf('one'), { spec: { suspend: false } })
    expect(await stage.untilDecided('one')).toBe('Synced')
    await stage.finish()
  })
})

it('an importer that CDI could not remove when its download was done goes, and what it keeps', async () => {
  await using stage = await NodeStage.start(cluster())
  const hasScratchSpace = 'v, has(v.persistentVolumeClaim) && v.persistentVolumeClaim.claimName.endsWith("-scratch")'
  const allow = await refuse(cluster().client, {
    name: `no-removal-${stage.namespace}`,
    namespace: stage.namespace,
    rule: { apiGroups: [''], apiVersions: ['v1'], operations: ['DELETE'], resources: ['pods'] },
    // The importer without it ends to get it.
    unless: `!(request.userInfo.username in ["cdi-controller", "system:serviceaccount:cdi:cdi-sa"]) || !oldObject.spec.volumes.exists(${hasScratchSpace})`,
    message: 'CDI may not remove this',
  })
  await stage.createImage('one', 'slow/disk.raw.xz')
  expect(await stage.untilDecided('one')).toBe('Synced')
  await allow()
  const isRemoved = () => stage.logs.lines.some((line) => line.includes('an importer was removed'))
  await stage.until('the operator removes the importer', isRemoved)
  const left = () => [importersOf(stage), inNamespaces(stage.mirror.claims, [stage.namespace])].flat()
  await stage.until('the artifact alone is left', () => left().length === 1)
  await stage.finish()
})
