import { ANNOTATIONS, Operator, render } from '@open-terrain/constructs'
import { expect, it } from 'vitest'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import { useCluster } from '../harness/cluster.ts'
import { World } from '../harness/world.ts'

const cluster = useCluster()

const rbac = (kind: string, plural: string, namespaced: boolean): ResourceType => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind,
  plural,
  namespaced,
})
const TYPES = [
  rbac('ClusterRole', 'clusterroles', false),
  rbac('ClusterRoleBinding', 'clusterrolebindings', false),
  rbac('Role', 'roles', true),
  rbac('RoleBinding', 'rolebindings', true),
]

it('the operator needs no more than the rights that it is installed with', async () => {
  await using world = await World.start(cluster(), {
    policy: { concurrency: '1', retryLimit: '0' },
    idle: true,
  })
  const namespace = world.operatorNamespace
  const objects = render((chart) => new Operator(chart, 'Operator', { image: 'operator', namespace })) as KubeObject[]
  for (const type of TYPES) {
    for (const object of objects.filter(({ kind }) => kind === type.kind)) await world.client.create(type, object)
  }
  const account = `system:serviceaccount:${namespace}:open-terrain-operator`
  const user = await world.cluster.controlPlane.addUser(account, ['system:serviceaccounts'])
  const { requests } = world.startOperator(user.path)

  await world.createImage('good')
  await world.untilSynced('good')
  await world.annotate('good', { [ANNOTATIONS.syncRequestedAt]: '1' })
  await world.untilSynced('good')
  world.imageServer.set({ host: 'images.example.com', path: '/bad', fault: { status: 404 } })
  await world.createImage('bad', { url: 'https://images.example.com/bad' })
  await world.untilReason('bad', 'NotFound')
  await world.createImage('expiring', { reclaimPolicy: 'Delete', unreferencedTTL: '1s' })
  await world.untilGone('expiring')
  await world.finish({ isOrderChecked: false })
  expect(requests.length).toBeGreaterThan(20)
  expect(requests.filter(({ code }) => code === '403' || code === '401')).toEqual([])
})
