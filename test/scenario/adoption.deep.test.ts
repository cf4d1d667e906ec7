import { ANNOTATIONS } from '@open-terrain/constructs'
import { ADOPTION_POLICY, ADOPTION_RULE } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { type KubeObject, keyOf, type Raw } from '../../operator/kube/kube-object.ts'
import {
  ADMISSION_POLICY,
  ADMISSION_POLICY_BINDING,
  DATA_SOURCE,
  DATA_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
} from '../../operator/kube/resource-types.ts'
import { untilAdoptionIsChecked } from '../harness/adoption-rule.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import { conditionOf, IMAGE } from '../harness/kinds.ts'
import { installOlderCrd, OLDER_IMAGE, syncAsOlder } from '../harness/older-operator.ts'
import { otHere } from '../harness/ot-here.ts'
import { STORAGE, World } from '../harness/world.ts'

const cluster = useOwnCluster()
const S3 = 'https://s3.eu-west-1.amazonaws.com/bucket/kali.qcow2'

/** Installs again the rule that asks who may have a disk adopted, as an installation has it. */
async function installRule({ client }: World): Promise<void> {
  const apiVersion = 'admissionregistration.k8s.io/v1'
  const metadata = { name: ADOPTION_RULE }
  const binding = { policyName: ADOPTION_RULE, validationActions: ['Deny'] }
  await client.create(ADMISSION_POLICY, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicy',
    metadata,
    spec: ADOPTION_POLICY,
  } as KubeObject)
  await client.create(ADMISSION_POLICY_BINDING, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata,
    spec: binding,
  } as KubeObject)
}

async function removeRule({ client }: World): Promise<void> {
  for (const type of [ADMISSION_POLICY_BINDING, ADMISSION_POLICY]) await client.delete(type, { name: ADOPTION_RULE })
}

async function importByHand(world: World, name: string): Promise<void> {
  const { client, namespace } = world
  await client.create(DATA_VOLUME, {
    apiVersion: 'cdi.kubevirt.io/v1beta1',
    kind: 'DataVolume',
    metadata: { namespace, name, annotations: { 'cdi.kubevirt.io/storage.bind.immediate.requested': 'true' } },
    spec: {
      source: { http: { url: world.urlOf(name) } },
      storage: { resources: { requests: { storage: '16Mi' } }, storageClassName: STORAGE },
    },
  } as KubeObject)
}

/** CDI tells `Succeeded` before the claim has its volume. Until then nothing can be adopted. */
const untilImported = (world: World, name: string) =>
  world.until(`DataVolume ${name} is filled`, () => {
    const { dataVolumes, claims } = world.mirror
    const key = `${world.namespace}/${name}`
    return dataVolumes.get(key)?.status?.phase === 'Succeeded' && claims.get(key)?.status?.phase === 'Bound'
  })

const adopt = (name: string) => ({ annotations: { [ANNOTATIONS.adopt]: `datavolume/${name}` } })

async function uidsOf({ client, namespace }: World, name: string): Promise<readonly unknown[]> {
  const key = { namespace, name }
  const objects = [await client.get(DATA_VOLUME, key), await client.get(PERSISTENT_VOLUME_CLAIM, key)]
  return objects.map(({ metadata }: Raw) => [metadata.uid, metadata.deletionTimestamp])
}

describe('adoption', () => {
  it('takes nothing until the rule is there that asks who may, and what people have synced after that', async () => {
    await using world = await World.start(cluster())
    await removeRule(world)
    await importByHand(world, 'kali')
    await untilImported(world, 'kali')
    await world.createImage('kali', { snapshotClass: undefined }, adopt('kali'))
    const refused = await world.untilReason('kali', 'AdoptionUnchecked')
    expect(refused.status?.message).toContain(`ValidatingAdmissionPolicy ${ADOPTION_RULE} is not there`)
    await world.deleteImage('kali')
    await world.untilGone('kali')

    const before = await uidsOf(world, 'kali')
    await installRule(world)
    await world.createImage('kali', { snapshotClass: undefined }, adopt('kali'))
    // It is about as old as the rule, so that nobody can say which was first.
    const unsure = await world.untilReason('kali', 'AdoptionUnchecked')
    expect(unsure.status?.message).toContain('to dv/kali, which means the same')
    await world.annotate('kali', { [ANNOTATIONS.adopt]: 'dv/kali' })
    const image = await world.untilSynced('kali')
    expect(image.status?.artifact).toMatchObject({ kind: 'PersistentVolumeClaim', name: 'kali' })
    expect(conditionOf(image, 'Adopted')).toMatchObject({ status: 'True', reason: 'SourceMatches' })
    expect(await world.sourceOf('kali')).toEqual({
      pvc: { namespace: world.namespace, name: 'kali' },
    })
    expect([world.downloads('kali'), image.status?.attempts]).toEqual([1, undefined])

    await world.deleteImage('kali')
    await world.untilGone('kali')
    expect(await uidsOf(world, 'kali')).toEqual(before)

    // The image may delete what it adopts, but not if it is deleted with --cascade=orphan, which the garbage collector can have ended before an operator looks.
    await untilAdoptionIsChecked(world.client)
    await world.createImage('kali', { snapshotClass: undefined, reclaimPolicy: 'Delete' }, adopt('kali'))
    await world.untilSynced('kali')
    await world.operator?.stop()
    const key = { namespace: world.namespace, name: 'kali' }
    await world.client.delete(IMAGE, key, { propagationPolicy: 'Orphan' })
    await world.until('the garbage collector has ended its part', () => {
      const alias = world.mirror.dataSources.get(keyOf(key))
      const { deletionTimestamp, finalizers } = world.getImage('kali')?.metadata ?? {}
      const isOver = deletionTimestamp !== undefined && finalizers?.includes('orphan') === false
      return isOver && alias !== undefined && alias.metadata.ownerReferences === undefined
    })
    world.startOperator()
    await world.untilGone('kali')
    expect(await uidsOf(world, 'kali')).toEqual(before)
    for (const type of [DATA_SOURCE, DATA_VOLUME]) await world.client.delete(type, key)
    await world.finish()
  })

  it('of what an older operator has synced: ot adopt shows the steps, does them, and goes on after a break', async () => {
    await using world = await World.start(cluster())
    const { client, namespace } = world
    const ot = (...argv: readonly string[]) => otHere(client, argv)
    await installOlderCrd(client)
    await untilAdoptionIsChecked(world.client)
    await world.createSecret('credentials')
    await syncAsOlder(client, { namespace, name: 'kali', url: S3, storageClass: STORAGE })
    await untilImported(world, 'kali')
    await importByHand(world, 'hand')
    await untilImported(world, 'hand')
    const before = await uidsOf(world, 'kali')

    const shown = await ot('adopt', '-n', namespace)
    expect(shown.code).toBe(0)
    expect(shown.printed).toMatch(/kali +older operator +VMDiskImage kali of crd\.pelotech\.ot +ready +SourceMatches/)
    expect(shown.printed).toMatch(/hand +people +- +ready +SourceMatches/)
    expect(shown.printed).toContain(`kubectl -n ${namespace} patch dv kali --type=merge -p`)
    expect(shown.printed).toContain('pelotech.ot/adopt: datavolume/kali')
    expect(world.getImage('kali')).toBeUndefined()

    // Without its release it is refused, and the older operator keeps it.
    await world.createImage('kali', { url: S3, sourceType: 's3', snapshotClass: undefined }, adopt('kali'))
    const refused = await world.untilReason('kali', 'AdoptionOwned')
    expect(refused.status?.message).toContain('owned by VMDiskImage kali of crd.pelotech.ot')
    await world.deleteImage('kali')
    await world.untilGone('kali')

    const release = { metadata: { ownerReferences: [], labels: { owner: null } } }
    await client.mergePatch(DATA_VOLUME, { namespace, name: 'kali' }, release)
    const done = await ot('adopt', '-n', namespace, '--yes', '-o', 'json')
    expect([done.code, done.told]).toEqual([0, ''])
    const steps = JSON.parse(done.printed).map((one: Raw) => [one.name, one.done])
    expect(Object.fromEntries(steps)).toMatchObject({ hand: ['create'], kali: expect.arrayContaining(['create']) })
    for (const name of ['kali', 'hand']) await world.untilSynced(name)
    expect([world.downloadsOf(S3), world.downloads('hand')]).toEqual([1, 1])
    expect(await uidsOf(world, 'kali')).toEqual(before)
    expect((await ot('adopt', '-n', namespace, '--yes')).printed).toContain('adopts it already')

    // The older object goes with its finalizer, as its operator takes it away: nothing of ours is its child any more.
    await client.mergePatch(OLDER_IMAGE, { namespace, name: 'kali' }, { metadata: { finalizers: [] } })
    await client.delete(OLDER_IMAGE, { namespace, name: 'kali' })
    const labelled = await client.list(DATA_VOLUME, { namespace, labelSelector: 'owner=kali' })
    const claims = await client.list(PERSISTENT_VOLUME_CLAIM, { namespace, labelSelector: 'owner=kali' })
    expect([...labelled.items, ...claims.items]).toEqual([])
    await world.untilRenewed(2)
    expect(await uidsOf(world, 'kali')).toEqual(before)

    await world.annotate('kali', { [ANNOTATIONS.syncRequestedAt]: 'now' })
    await world.untilImage('kali', 'downloaded once', ({ status }) => status?.artifact?.adoptedUID === undefined)
    await world.untilSynced('kali')
    expect(world.downloadsOf(S3)).toBe(2)
    expect(await uidsOf(world, 'kali')).toEqual(before)
    for (const name of ['kali', 'hand']) await client.delete(DATA_VOLUME, { namespace, name })
    await world.finish()
  })
})
