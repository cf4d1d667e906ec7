import { ANNOTATIONS, type WorkspaceSpecInput } from '@open-terrain/constructs'
import { expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { JOB, SECRET } from '../../operator/kube/resource-types.ts'
import { readManifests } from '../../sandbox/demo/manifests.ts'
import { useCluster } from '../harness/cluster.ts'
import { WORKSPACE } from '../harness/kinds.ts'
import { Workspaces } from '../harness/workspaces.ts'

const cluster = useCluster()

const decoded = (value = '') => Buffer.from(value, 'base64').toString()

it('a lab whose roles fail says which task and no password, and is Ready once somebody has them played again', async () => {
  await using workspaces = await Workspaces.start(cluster())
  const { world } = workspaces
  const told = new Set<string>()
  for (const store of [world.mirror.workspaces, world.mirror.machines, world.mirror.events])
    store.onChange(({ after }) => told.add(JSON.stringify(after ?? '')))
  const [lab] = await readManifests('labs/played-router.yaml')
  const name = workspaces.name('played')
  const message =
    '{"what":"failed","play":"build router","task":"router : Forward","host":"router","message":"<secret> is wrong"}'
  const mend = world.simulators.workloads.script({ namespace: name }, { type: 'exit', exitCode: 2, message })
  await workspaces.create(name, lab?.spec as WorkspaceSpecInput)
  const failed = await workspaces.untilComponent(name, 'Ansible', `${name}-ansible`, ({ phase }) => phase === 'Failed')
  expect(failed).toMatchObject({ reason: 'PlayFailed' })
  expect(failed.message).toMatch(/^build of router failed: task "router : Forward" failed on router: .*is wrong/)
  const plays = () => workspaces.get(name)?.status?.plays ?? []
  expect(plays().map(({ play, phase }) => `${play} ${phase}`)).toEqual(['build Failed', 'deploy Pending'])

  // Another process leads: it plays nothing again.
  await world.operator?.stop()
  const requests = world.startOperator().requests
  mend()
  await workspaces.patch(name, { names: 'hosts' })
  await workspaces.untilComponent(name, 'ContainerCluster', 'host', ({ phase }) => phase === 'Ready')
  expect(requests.filter(({ verb, resource }) => resource === 'jobs' && verb === 'create')).toEqual([])

  const annotations = { [ANNOTATIONS.playRequestedAt]: 'now' }
  await world.client.mergePatch(WORKSPACE, { name }, { metadata: { annotations } })
  await workspaces.untilReady(name)
  expect(plays().map(({ play, phase }) => `${play} ${phase}`)).toEqual(['build Succeeded', 'deploy Succeeded'])
  const jobs = (await world.client.list<KubeObject>(JOB, { namespace: name })).items
  expect(jobs.map(({ metadata }) => metadata.name).toSorted()).toEqual(plays().map(({ job }) => job))

  const { data = {} } = await world.client.get<KubeObject & { readonly data?: Record<string, string> }>(SECRET, {
    namespace: name,
    name: 'logins',
  })
  const [password = ''] = Object.values(data).map(decoded)
  expect(password.length).toBeGreaterThan(20)
  for (const text of [...told, ...world.logs.lines]) expect(text.includes(password)).toBe(false)
  await workspaces.delete(name)
  await world.finish()
})
