import { describe, expect, it } from 'vitest'
import { useOwnCluster } from '../harness/cluster.ts'
import { Installation } from '../harness/installation.ts'
import { World } from '../harness/world.ts'

describe('an installation from its manifests', () => {
  const cluster = useOwnCluster()

  it('runs two replicas that are ready, one of which leads until it is stopped, and then the other one', async () => {
    await using world = await World.start(cluster(), { idle: true })
    await using installation = await Installation.start(world)
    await installation.apply({ policy: { concurrency: 4 } })
    await installation.untilRolledOut()
    const first = await installation.untilLeading()
    await world.syncImage('before')

    await installation.deletePod(first)
    await installation.untilLeading((pod) => pod !== first)
    await world.until('the first leader is gone', () => !installation.pods.some((pod) => pod.metadata.name === first))
    const last = installation.logLines.filter(({ pod }) => pod === first).at(-1)
    expect(last?.line).toContain('"msg":"stopped"')
    await world.syncImage('after')
    await installation.untilRolledOut()
    await world.finish()
  })

  it('lets nobody delete what holds the data by mistake, and says how it is done on purpose', async () => {
    await using world = await World.start(cluster(), { idle: true })
    await using installation = await Installation.start(world)
    await installation.apply()
    const { crds, namespaces } = installation.render()
    const kept = [
      ...crds.filter(({ kind }) => kind === 'CustomResourceDefinition'),
      ...namespaces.filter(({ metadata }) => metadata.name === 'vmdi-farm'),
    ]
    expect(kept).toHaveLength(6)
    for (const object of kept) {
      await installation.untilRefused(object)
      const { message } = await installation.remove(object)
      expect(message).toMatch(
        new RegExp(`if that is meant: kubectl annotate \\S+ ${object.metadata.name} pelotech.ot/allow-deletion=true$`),
      )
    }
    const [workspaces] = crds.filter(({ metadata }) => metadata.name === 'workspaces.pelotech.ot')
    if (workspaces === undefined) throw new Error('the installation has no CRD of workspaces')
    await installation.allowDeletion(workspaces)
    expect(await installation.remove(workspaces)).toMatchObject({ status: 200 })
    await world.untilDefinitionGone('workspaces.pelotech.ot')
  })
})
