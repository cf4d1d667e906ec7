import { expect, it } from 'vitest'
import { pathOf, useAdmissionCluster } from '../harness/admission-cluster.ts'
import type { ApiUser } from '../harness/api-user.ts'

const FARM = 'vmdi-farm'
const cluster = useAdmissionCluster()

const image = (name: string, adopt?: string, spec: object = {}) => ({
  apiVersion: 'pelotech.ot/v1alpha1',
  kind: 'VMDiskImage',
  metadata: { name, ...(adopt !== undefined && { annotations: { 'pelotech.ot/adopt': adopt } }) },
  spec: { url: 'https://images.example.com/a.qcow2', sourceType: 'http', diskSize: '4Gi', ...spec },
})

const MAY_NOT = /user "carol" may not delete datavolumes "kali" in namespace "vmdi-farm".*needs the verb "delete"/

it('lets only those adopt something who may delete it, and asks again before it may be deleted with the image', async () => {
  await cluster.addNamespace(FARM)
  const images = { apiGroups: ['pelotech.ot'], resources: ['vmdiskimages'], verbs: ['create', 'patch', 'get'] }
  const named = {
    apiGroups: ['cdi.kubevirt.io'],
    resources: ['datavolumes'],
    resourceNames: ['mine'],
    verbs: ['delete'],
  }
  await cluster.addClusterRole('pipeline', [images, named])
  await cluster.addClusterRole('keeper', [
    images,
    { apiGroups: ['cdi.kubevirt.io'], resources: ['datavolumes'], verbs: ['delete'] },
    { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['delete'] },
    { apiGroups: ['snapshot.storage.k8s.io'], resources: ['volumesnapshots'], verbs: ['delete'] },
  ])
  const carol = await cluster.addUser('carol', { [FARM]: ['pipeline'] })
  const dave = await cluster.addUser('dave', { [FARM]: ['keeper'] })
  const create = (user: ApiUser, name: string, adopt?: string, spec?: object) =>
    user.ask('POST', pathOf(FARM, 'vmdiskimages'), image(name, adopt, spec))

  await carol.askUntil(MAY_NOT, 'POST', `${pathOf(FARM, 'vmdiskimages')}?dryRun=All`, image('a', 'datavolume/kali'))
  expect(await create(carol, 'plain')).toMatchObject({ status: 201 })
  expect(await create(carol, 'mine', 'dv/mine')).toMatchObject({ status: 201 })
  expect((await create(carol, 'b', 'pvc/mine')).message).toMatch(/may not delete persistentvolumeclaims "mine"/)
  expect((await create(carol, 'b', 'vs/mine')).message).toMatch(/may not delete volumesnapshots "mine"/)
  for (const value of ['kali', 'pod/kali', 'dv/', 'dv/a/b', 'dv/Kali'])
    expect((await create(dave, 'b', value)).message, value).toMatch(/must be datavolume\/NAME/)
  for (const [name, value] of [
    ['one', 'datavolume/kali-1.0'],
    ['two', 'PersistentVolumeClaim/kali'],
    ['three', 'vs/kali'],
  ] as const)
    expect(await create(dave, name, value), value).toMatchObject({ status: 201 })

  const patch = (user: ApiUser, name: string, body: object) =>
    user.ask('PATCH', pathOf(FARM, 'vmdiskimages', name), body)
  const annotated = { metadata: { annotations: { 'pelotech.ot/adopt': 'datavolume/kali' } } }
  expect((await patch(carol, 'plain', annotated)).message).toMatch(MAY_NOT)
  // What is as before is not asked again.
  expect(await patch(carol, 'one', { spec: { diskSize: '5Gi' } })).toMatchObject({ status: 200 })
  expect((await patch(carol, 'one', { spec: { reclaimPolicy: 'Delete' } })).message).toMatch(/may not delete/)
  expect(await patch(dave, 'one', { spec: { reclaimPolicy: 'Delete' } })).toMatchObject({ status: 200 })
  expect(await patch(carol, 'one', { metadata: { annotations: { 'pelotech.ot/adopt': null } } })).toMatchObject({
    status: 200,
  })
})
