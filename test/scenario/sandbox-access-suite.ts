import { afterAll, beforeAll, describe, it } from 'vitest'
import type { Cluster } from '../../sandbox/control-plane/cluster.ts'
import { pathOf } from '../harness/admission-cluster.ts'
import { ApiUser } from '../harness/api-user.ts'

const TEAM = 'team'

/**
 * The rules themselves are tested in admission-policies.test.ts.
 * @param cluster that of `npm run sandbox` and `npm run demo`: with the access and the policy of an installation
 */
export function sandboxAccessSuite(cluster: () => Cluster): void {
  describe('a cluster with the access of an installation', () => {
    let admin: ApiUser
    let member: ApiUser

    beforeAll(async () => {
      const { controlPlane } = cluster()
      admin = new ApiUser(controlPlane.kubeconfigPath)
      member = new ApiUser((await controlPlane.addUser('member')).path)
      await admin.must('POST', '/api/v1/namespaces', { metadata: { name: TEAM } })
      await admin.must('POST', `/apis/rbac.authorization.k8s.io/v1/namespaces/${TEAM}/rolebindings`, {
        metadata: { name: 'member' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'edit' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'member' }],
      })
    })

    afterAll(async () => {
      await admin[Symbol.asyncDispose]()
      await member[Symbol.asyncDispose]()
    })

    const machine = (spec: object) => ({
      apiVersion: 'pelotech.ot/v1alpha1',
      kind: 'VirtualMachine',
      metadata: { name: 'desk' },
      spec: { resources: { cpu: 2, memory: '2Gi' }, ...spec },
    })
    const path = `${pathOf(TEAM, 'virtualmachines')}?dryRun=All`

    it('lets who may edit a namespace have machines in it', async () => {
      await member.askUntil('granted', 'POST', path, machine({ vmDiskImageRef: { name: 'golden' } }))
    })

    it('asks for the right to use an image elsewhere', async () => {
      const elsewhere = machine({ vmDiskImageRef: { name: 'golden', namespace: 'default' } })
      await member.askUntil(/may not use VMDiskImage "golden" of namespace "default"/, 'POST', path, elsewhere)
    })

    it('enforces a ResourceQuota, for claims and for pods', async () => {
      const quotas = `/api/v1/namespaces/${TEAM}/resourcequotas`
      await admin.must('POST', quotas, {
        metadata: { name: 'small' },
        spec: { hard: { persistentvolumeclaims: '0', pods: '0' } },
      })
      const resources = { requests: { storage: '1Gi' } }
      const claim = { metadata: { name: 'one' }, spec: { accessModes: ['ReadWriteOnce'], resources } }
      const pod = { metadata: { name: 'one' }, spec: { containers: [{ name: 'one', image: 'one' }] } }
      const pathTo = (plural: string) => `/api/v1/namespaces/${TEAM}/${plural}?dryRun=All`
      await admin.askUntil(/exceeded quota: small/, 'POST', pathTo('persistentvolumeclaims'), claim)
      await admin.askUntil(/exceeded quota: small/, 'POST', pathTo('pods'), pod)
    })

    it('refuses a private address', async () => {
      const vmDiskImageTemplate = { url: 'http://10.0.0.8/a.qcow2', sourceType: 'http', diskSize: '4Gi' }
      const spec = { vmDiskImageRef: { name: 'golden' }, vmDiskImageTemplate }
      await member.askUntil(/names a private address/, 'POST', path, machine(spec))
    })
  })
}
