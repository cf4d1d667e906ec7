import { expect, it } from 'vitest'
import type { Explanation } from '../../cli/why/why-text.ts'
import { useCluster } from '../harness/cluster.ts'
import { heldDownload } from '../harness/held-download.ts'
import { otHere } from '../harness/ot-here.ts'
import { Workspaces } from '../harness/workspaces.ts'

const cluster = useCluster()

it('a lab that is broken in four ways says each cause, and one after another is mended by what ot why says', async () => {
  await using workspaces = await Workspaces.start(cluster(), { concurrency: '1', retryLimit: '0' })
  const { world } = workspaces
  const ot = async (...args: readonly string[]): Promise<string> => {
    const { code, printed, told } = await otHere(world.client, args)
    expect(code, told).toBe(0)
    return printed + told
  }
  const place = ['--operator-namespace', world.operatorNamespace]
  const name = workspaces.name('lab')
  // Classes are of the cluster, which other tests share.
  const later = workspaces.name('later')
  const causes = async () => {
    const { causes: found } = JSON.parse(await ot('why', name, '-o', 'json', ...place)) as Explanation
    return found.map(({ about, reason }) => [about.kind, reason ?? about.name].join(' ')).toSorted()
  }

  world.imageServer.set({ path: `/${world.namespace}/failed.qcow2`, fault: { status: 404 } })
  await world.createImage('failed')
  await world.untilPhase('failed', 'Failed')
  const release = await heldDownload(world, 'running')
  await world.createImage('secret', { sourceType: 's3', secretRef: 'later' })
  await world.createImage('class', { storageClass: later })
  await world.createImage('queued')
  await world.untilReason('queued', 'Queued')
  const images = ['secret', 'class', 'failed', 'queued']
  const resources = { cpu: '1', memory: '1Gi' }
  await workspaces.create(name, { vms: images.map((one) => ({ name: one, backingVMDiskImage: one, resources })) })
  await workspaces.until(name, 'about its images', ({ status }) => {
    const told = status?.components?.filter(({ kind, phase }) => kind === 'Image' && phase !== 'Ready')
    return told?.length === images.length
  })
  expect(await causes()).toEqual(['Attempt NotFound', 'Queue of downloads', 'Secret later', `StorageClass ${later}`])
  const text = await ot('why', name, ...place)
  expect(text).toContain(`kubectl -n ${world.namespace} create secret generic later`)
  expect(text).toContain(`pelotech.ot/retry-requested-at="$(date -u +%FT%TZ)"`)
  expect(await ot('queue', ...place)).toMatch(new RegExp(`^1 +${world.namespace}/queued`, 'm'))
  expect(await ot('tree', name)).toContain(`Namespace ${name}`)

  await world.createSecret('later')
  await world.untilReason('secret', 'Queued')
  expect(await causes()).toEqual(['Attempt NotFound', 'Queue of downloads', `StorageClass ${later}`])
  await world.createStorageClass(later)
  await world.untilReason('class', 'Queued')
  expect(await causes()).toEqual(['Attempt NotFound', 'Queue of downloads'])
  release()
  for (const image of ['secret', 'class', 'queued']) await world.untilSynced(image)
  await workspaces.until(name, 'about the last image', ({ status }) => {
    return status?.components?.filter(({ kind, phase }) => kind === 'Image' && phase !== 'Ready').length === 1
  })
  expect(await causes()).toEqual(['Attempt NotFound'])
  world.imageServer.set({ path: `/${world.namespace}/failed.qcow2`, fault: {} })
  await world.annotate('failed', { 'pelotech.ot/retry-requested-at': 'now' })
  await workspaces.untilReady(name)
  expect(await ot('why', name, ...place)).toMatch(new RegExp(`^Workspace ${name} is well: `))
  await workspaces.delete(name)
  await world.finish()
})
