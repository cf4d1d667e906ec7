import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { find } from '../../operator/kube/find.ts'
import { NAMESPACE, SECRET } from '../../operator/kube/resource-types.ts'
import { EXAMPLES, readManifests } from '../../sandbox/demo/manifests.ts'
import { useCluster } from '../harness/cluster.ts'
import { Workspaces } from '../harness/workspaces.ts'

const cluster = useCluster()

it('the labs of the examples become Ready as they are, with the Secrets that they name', async () => {
  const files = await readdir(join(EXAMPLES, 'labs'))
  expect(files.length).toBeGreaterThan(2)
  await using workspaces = await Workspaces.start(cluster(), { allowedCapabilities: 'NET_ADMIN,NET_RAW,SYS_ADMIN' })
  const { world } = workspaces
  for (const file of files) {
    const [lab] = await readManifests(`labs/${file}`)
    if (lab === undefined) throw new Error(`${file} has no manifest`)
    const { metadata } = await workspaces.create(workspaces.name(lab.metadata.name), lab.spec as never)
    const { name } = metadata
    await expect.poll(() => find(world.client, NAMESPACE, { name }), { timeout: 60_000 }).toBeDefined()
    const secrets = new Set(
      JSON.stringify(lab.spec)
        .matchAll(/"secretKeyRef":{"name":"([^"]+)"/g)
        .map(([, one]) => one),
    )
    for (const secret of secrets)
      await world.client.create(SECRET, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { namespace: name, name: secret ?? '' },
      })
    const { status } = await workspaces.untilReady(name)
    expect([file, status?.reason]).toEqual([file, 'Ready'])
    await workspaces.delete(name)
  }
})
