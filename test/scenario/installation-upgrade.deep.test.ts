import { renderInstallation } from '@open-terrain/constructs/platform'
import { describe, expect, it } from 'vitest'
import { ApiUser } from '../harness/api-user.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import { DataSyncs } from '../harness/data-syncs.ts'
import { belongings, FIRST_RELEASE, Installation } from '../harness/installation.ts'
import { pathOf } from '../harness/installed-operator.ts'
import { IMAGE, type Image } from '../harness/kinds.ts'
import { Machines } from '../harness/machines.ts'
import { restoreStoredObjects, STORED_NAMES } from '../harness/stored-objects.ts'
import { ONE_AT_A_TIME, World } from '../harness/world.ts'

const POLICY = { concurrency: 1, retryLimit: 2, retryBackoffDuration: '1s' }

/** Kinds of objects that no upgrade may recreate. */
const KEPT =
  /^(VMDiskImage|VirtualMachine|VirtualMachineInstance|DataVolume|PersistentVolumeClaim|VolumeSnapshot|DataSource)$/

describe('an upgrade', () => {
  const cluster = useOwnCluster()

  it('from the release before goes on with what that has stored, and begins nothing again', async () => {
    await using world = await World.start(cluster(), { idle: true, names: STORED_NAMES, mostDownloads: 1 })
    const release = world.gate.hold(world.urlOf('running'))
    await world.simulators.stop()
    const stored = await restoreStoredObjects(cluster())
    await world.restartSimulators()
    const machines = new Machines(world)
    const syncs = new DataSyncs(world)
    const kept = stored.filter(({ kind, metadata }) => KEPT.test(kind) && !metadata.name.startsWith('prime-'))
    const uids = kept.map(({ metadata }) => metadata.uid)
    const areThere = () => {
      const present = Object.values(belongings(world))
      return uids.every((uid) => present.includes(uid))
    }
    await world.until('what is stored is there', areThere)

    await using installation = await Installation.start(world)
    await installation.apply({ replicas: 1, policy: POLICY })
    await installation.untilRolledOut(FIRST_RELEASE, 1)
    await installation.untilLeading()
    await world.createImage('later')
    await world.untilPhase('later', 'Queued')
    expect(areThere()).toBe(true)
    expect(world.ledger?.holders.map(({ name }) => name)).toEqual(['running'])
    const phases = ['035-attacker', 'running', 'waiting', 'flaky', 'missing'].map(
      (name) => world.getImage(name)?.status?.phase,
    )
    expect(phases).toEqual(['Succeeded', 'Syncing', 'Queued', 'Queued', 'Failed'])

    release()
    for (const name of ['running', 'waiting', 'flaky', 'later']) await world.untilSynced(name)
    const { status } = await world.untilSynced('flaky')
    expect(status?.attempts?.map(({ outcome }) => outcome)).toEqual(['Failed', 'Succeeded'])
    const downloads = ['035-attacker', 'missing', 'running', 'waiting', 'flaky'].map((name) => world.downloads(name))
    expect(downloads).toEqual([0, 0, 1, 1, 1])
    expect(areThere()).toBe(true)
    await machines.untilReady('guest')
    await machines.untilReady('early')

    await syncs.delete('release')
    await machines.delete('guest', 'early')
    await world.finish()
  })

  it('to a kind with other fields serves what is stored, also what it would refuse today', async () => {
    await using world = await World.start(cluster(), ONE_AT_A_TIME)
    await using admin = new ApiUser(cluster().controlPlane.kubeconfigPath)
    const crd = renderInstallation({ image: FIRST_RELEASE }).crds.find(
      ({ metadata }) => metadata.name === 'vmdiskimages.pelotech.ot',
    )
    if (crd === undefined) throw new Error('the installation has no CRD of images')
    const { versions } = (crd as unknown as { spec: { versions: Version[] } }).spec
    const replace = (next: readonly Version[]) => admin.must('PATCH', pathOf(crd), { spec: { versions: next } })
    // Watches that are older than a schema continue with the previous one.
    const stored = async () => (await world.client.get<Image>(IMAGE, { namespace: world.namespace, name: 'more' })).spec
    await replace(versions.map(before))
    await world.createWhenTaken('refused', { storageClass: 'Gp3' })
    await world.syncImage('more', { mirrors: ['https://example.com'] } as object)
    expect(await stored()).toHaveProperty('mirrors')
    await world.untilPhase('refused', 'Failed')

    await replace(versions)
    const other = world.image('other', { storageClass: 'Gp3' })
    const path = `/apis/${other.apiVersion}/namespaces/${world.namespace}/vmdiskimages?dryRun=All`
    await admin.askUntil(/must be the name of a Kubernetes object/, 'POST', path, other)
    await world.annotate('more', { 'pelotech.ot/sync-requested-at': 'with the new kind' })
    await world.until('the image is downloaded again', () => world.downloads('more') === 2)
    await world.untilSynced('more')
    expect(await stored()).not.toHaveProperty('mirrors')
    await world.patchImage('refused', { spec: { suspend: true } })
    const { status } = await world.untilImage(
      'refused',
      'looked at again',
      ({ status }) => status?.observedGeneration === 2,
    )
    expect(status?.message).toContain('storageClass')
    await world.finish()
  })
})

interface Version {
  readonly schema: { readonly openAPIV3Schema: Schema }
}

interface Schema {
  readonly properties: Readonly<Record<string, Schema>>
}

/** The version as an earlier release could have it: without rules and the field `suspend`, and with a field that was removed since. */
function before(version: Version): Version {
  const text = JSON.stringify(version, (key, value) => (key === 'x-kubernetes-validations' ? undefined : value))
  const copy = JSON.parse(text) as {
    schema: { openAPIV3Schema: { properties: { spec: { properties: Record<string, object> } } } }
  }
  const { properties } = copy.schema.openAPIV3Schema.properties.spec
  delete properties['suspend']
  properties['mirrors'] = { type: 'array', items: { type: 'string' } }
  return copy as unknown as Version
}
