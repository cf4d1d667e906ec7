import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import {
  INSTALLATION_PARTS,
  type InstallationPart,
  type InstallationProps,
  type Manifest,
} from '@open-terrain/constructs/platform'
import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { NAMESPACE } from '../../operator/kube/resource-types.ts'
import { EXAMPLES } from '../../sandbox/demo/manifests.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import { heldDownload } from '../harness/held-download.ts'
import { belongings, FIRST_RELEASE, Installation, NEXT_RELEASE } from '../harness/installation.ts'
import { HAS_KUBECTL } from '../harness/kubectl.ts'
import { Machines } from '../harness/machines.ts'
import { Workspaces } from '../harness/workspaces.ts'
import { World } from '../harness/world.ts'

const run = promisify(execFile)

/** As all files are deleted at once, with the operator first, and with what the operator may do deleted while it still runs. */
const ORDERS: readonly (readonly InstallationPart[])[] = [
  INSTALLATION_PARTS,
  ['operator', 'monitoring', 'policy', 'access', 'namespaces', 'crds'],
  ['access', 'policy', 'operator', 'monitoring', 'crds', 'namespaces'],
]

/** Rolls out the operator, and creates what people have: an image, and a guest with a disk of it. */
async function furnish(world: World, installation: Installation, props: Partial<InstallationProps> = {}) {
  const machines = new Machines(world)
  await installation.apply(props)
  await installation.untilRolledOut(FIRST_RELEASE, props.replicas)
  await machines.create('guest')
  await machines.untilReady('guest')
  await world.untilSynced('golden')
  return machines
}

const isKind = ({ kind }: KubeObject) => kind === 'CustomResourceDefinition'

/** What nobody deletes by mistake. */
function guardedOf(installation: Installation): readonly Manifest[] {
  const { crds, namespaces } = installation.render()
  return [...crds, ...namespaces].filter((object) => isKind(object) || object.metadata.name === 'vmdi-farm')
}

/** Kinds of which something is stored when they are replaced. */
const STORED = ['vmdiskimages.pelotech.ot', 'virtualmachines.pelotech.ot']

/** Replaces each kind by one with a column less. */
async function replaceKinds(installation: Installation): Promise<void> {
  for (const crd of installation.render().crds.filter(({ metadata }) => STORED.includes(metadata.name))) {
    const { spec, ...rest } = structuredClone(crd) as never as {
      spec: { versions: { additionalPrinterColumns: unknown[] }[] }
    }
    for (const version of spec.versions) version.additionalPrinterColumns.pop()
    await installation.applyObject({ ...rest, spec } as never)
  }
}

/** Deletes all manifests, one after the other, and waits for none. Returns the names of those whose deletion is refused. */
async function removeAll(installation: Installation, order: readonly InstallationPart[]): Promise<string[]> {
  const rendered = installation.render()
  const refused: string[] = []
  for (const object of order.flatMap((part) => rendered[part])) {
    const { status } = await installation.remove(object)
    if (status === 403) refused.push(object.metadata.name)
    else expect([200, 202, 404]).toContain(status)
  }
  return refused
}

describe('the life of an installation', () => {
  const cluster = useOwnCluster()

  it('is upgraded while images sync: none starts again, and the limit holds', async () => {
    await using world = await World.start(cluster(), { idle: true, mostDownloads: 2 })
    await using installation = await Installation.start(world)
    await installation.apply({ policy: { concurrency: 2 } })
    await installation.untilRolledOut(FIRST_RELEASE)
    const releases = [await heldDownload(world, 'one'), await heldDownload(world, 'two')]
    await world.createImage('three')
    await world.untilPhase('three', 'Queued')

    await installation.apply({ image: NEXT_RELEASE, policy: { concurrency: 2 } })
    await installation.untilRolledOut(NEXT_RELEASE)
    const present = installation.pods.map(({ metadata }) => metadata.name)
    await installation.untilLeading((pod) => present.includes(pod))
    expect(world.ledger?.holders.map(({ name }) => name).toSorted()).toEqual(['one', 'two'])
    for (const release of releases) release()
    for (const name of ['one', 'two', 'three']) {
      await world.untilSynced(name)
      expect(world.downloads(name)).toBe(1)
    }
    await world.finish()
  })

  it('loses nothing, and hangs nowhere, when its CRDs are replaced, and when its manifests are deleted in any order', async () => {
    await using world = await World.start(cluster(), { idle: true })
    await using installation = await Installation.start(world)
    const machines = await furnish(world, installation)
    const before = belongings(world)
    await replaceKinds(installation)
    await world.annotate('golden', { 'pelotech.ot/sync-requested-at': 'with the new kinds' })
    await world.until('the image is downloaded again', () => world.downloads('golden') === 2)
    await world.untilSynced('golden')
    expect(belongings(world)).toMatchObject(
      Object.fromEntries(Object.entries(before).filter(([key]) => /^(VM|VirtualM|Custom)/.test(key))),
    )

    for (const [at, order] of ORDERS.entries()) {
      const guarded = guardedOf(installation)
      for (const object of guarded) await installation.untilRefused(object)
      const kept = belongings(world)
      const refused = await removeAll(installation, order)
      expect(refused.toSorted()).toEqual(guarded.map(({ metadata }) => metadata.name).toSorted())
      await world.until('the namespace of the operator is gone', () => {
        return world.mirror.namespaces.get(world.operatorNamespace) === undefined
      })
      await world.until('no replica is left', () => installation.pods.length === 0)
      expect(belongings(world)).toEqual(kept)

      // Two replicas have been deleted at once: one is enough for the other orders.
      await installation.apply({ replicas: 1 })
      await installation.untilRolledOut(FIRST_RELEASE, 1)
      await installation.untilLeading()
      await world.syncImage(`later-${at}`)
      await machines.untilReady('guest')
      expect(belongings(world)).toMatchObject(kept)
      expect(world.downloads('golden')).toBe(2)
    }
    await machines.delete('guest')
    await world.finish({ isLedgerChecked: false, isOrderChecked: false })
  })

  it.skipIf(!HAS_KUBECTL)('lets go of everything by one command when the operator is gone', async () => {
    await using world = await World.start(cluster(), { idle: true })
    await using installation = await Installation.start(world)
    const machines = await furnish(world, installation, { replicas: 1, policy: { imageNamespace: world.namespace } })
    await world.syncImage('kept', {}, { finalizers: ['example.com/of-somebody-else'] })
    const labs = new Workspaces(world)
    const lab = labs.name('lab')
    await labs.create(lab, {
      vms: [{ name: 'vm', backingVMDiskImage: 'golden', resources: { cpu: 1, memory: '1Gi' } }],
    })
    await labs.untilReady(lab)
    const release = () => {
      const env = { ...process.env, KUBECONFIG: world.cluster.controlPlane.kubeconfigPath }
      return run(join(EXAMPLES, 'release.sh'), [], { env })
    }
    await expect(release()).rejects.toThrow('removes its finalizers itself')
    await installation.removeOperator()

    const before = belongings(world)
    await release()
    expect(belongings(world)).toEqual(before)
    expect(world.getImage('golden')?.metadata.finalizers).toEqual(['pelotech.ot/disk-image'])

    // The namespace for the images of workspaces, whose deletion is guarded.
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: world.namespace } }
    await installation.allowDeletion(namespace)
    await world.client.delete(NAMESPACE, namespace.metadata)
    const isGoing = (object: KubeObject | undefined) => object?.metadata.deletionTimestamp !== undefined
    await world.until('all of ours is being deleted', () => {
      return ['golden', 'kept'].every((name) => isGoing(world.getImage(name))) && isGoing(machines.get('guest'))
    })
    const kind = installation.render().crds.find(({ metadata }) => metadata.name === 'workspaces.pelotech.ot')
    if (kind === undefined) throw new Error('the installation has no CRD of workspaces')
    await installation.allowDeletion(kind)
    expect(await installation.remove(kind)).toMatchObject({ status: 200 })
    await world.until('the workspace is being deleted with its kind', () => isGoing(labs.get(lab)))
    await release()
    await world.untilDefinitionGone('workspaces.pelotech.ot')
    await world.until('its namespace is gone', () => world.mirror.namespaces.get(lab) === undefined)
    await world.untilGone('golden')
    await world.until('the machine is gone', () => machines.get('guest') === undefined)
    expect(world.getImage('kept')?.metadata.finalizers).toEqual(['example.com/of-somebody-else'])
    await world.patchImage('kept', { metadata: { finalizers: null } })
    await world.until('the namespace is gone', () => world.mirror.namespaces.get(world.namespace) === undefined)
  })
})
