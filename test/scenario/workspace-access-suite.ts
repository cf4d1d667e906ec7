import { beforeAll, describe, expect, it } from 'vitest'
import { readManifests } from '../../sandbox/demo/manifests.ts'
import { type AdmissionCluster, install } from '../harness/admission-cluster.ts'
import type { ApiUser } from '../harness/api-user.ts'

const WORKSPACES = '/apis/pelotech.ot/v1alpha1/workspaces'
const DRY_RUN = `${WORKSPACES}?dryRun=All`

const workspace = (name: string, spec: object = {}) => ({
  apiVersion: 'pelotech.ot/v1alpha1',
  kind: 'Workspace',
  metadata: { name },
  spec,
})
const vm = (image: string, more: object = {}) => ({
  vms: [{ name: 'one', backingVMDiskImage: image, resources: { cpu: '1', memory: '1Gi' }, ...more }],
})
const container = (mapping: object) => ({
  containerClusters: [
    { name: 'app', containers: [{ name: 'app', image: 'registry.example/app:1', portMappings: [mapping] }] },
  ],
})

/** @param cluster where this suite adds limits for some authors of Workspaces, users and namespaces */
export function workspaceAccessSuite(cluster: AdmissionCluster): void {
  describe('who may have a Secret copied', () => {
    const copies = (...names: readonly string[]) => ({
      secrets: names.map((name, at) => ({ name: `s${at}`, from: { namespace: 'logins', name } })),
    })
    const MAY_NOT = (name: string) =>
      new RegExp(`user "(reader|copier)" may not read Secret "${name}" of namespace "logins"`)
    let copier: ApiUser

    beforeAll(async () => {
      await cluster.addNamespace('logins')
      const secrets = { apiGroups: [''], resources: ['secrets'], verbs: ['get'] }
      await cluster.addClusterRole('read-two', [{ ...secrets, resourceNames: ['one', 'two'] }])
      copier = await cluster.addUser('copier', { logins: ['read-two'] })
      await cluster.bindEverywhere('copier', 'open-terrain-workspace-author')
      await copier.askUntil('granted', 'POST', DRY_RUN, workspace('copies', copies('one')))
      await copier.askUntil(MAY_NOT('three'), 'POST', DRY_RUN, workspace('copies', copies('three')))
    })

    it('who may read it', async () => {
      await copier.must('POST', WORKSPACES, workspace('copies', copies('one')))
      const patch = async (change: object) => {
        const { status, message } = await copier.ask('PATCH', `${WORKSPACES}/copies?dryRun=All`, change)
        return status === 200 ? 'granted' : `${status}: ${message}`
      }
      const to = (spec: object) => patch({ spec })
      expect(await to(copies('one', 'two'))).toBe('granted')
      expect(await to(copies('one', 'three'))).toMatch(MAY_NOT('three'))
      expect(await to({ secrets: [{ name: 's', from: { namespace: 'kube-system', name: 'one' } }] })).toMatch(
        /^403: .* may not read/,
      )
      expect(await to({ secrets: [{ name: 's', generate: [{ key: 'a' }] }] })).toBe('granted')
      // As many as there can be.
      const most = Array.from({ length: 16 }, () => 'one')
      expect(await to(copies(...most))).toBe('granted')
      expect(await to(copies(...most.slice(1), 'three'))).toMatch(MAY_NOT('three'))
      // What was there before is not judged again.
      await cluster.admin.must('PATCH', `${WORKSPACES}/copies`, { spec: copies('one', 'three') })
      expect(await to({ secrets: copies('three', 'one').secrets, names: 'hosts' })).toBe('granted')
      expect(await patch({ metadata: { labels: { a: 'b' } } })).toBe('granted')
      expect(await to(copies('three', 'four'))).toMatch(MAY_NOT('four'))
    })
  })

  describe('who may write Workspaces', () => {
    let editor: ApiUser
    let viewer: ApiUser
    let author: ApiUser

    beforeAll(async () => {
      await cluster.addNamespace('teachers')
      editor = await cluster.addUser('editor', { teachers: ['admin'] })
      viewer = await cluster.addUser('viewer', {})
      author = await cluster.addUser('author', {}, ['lab-authors'])
      await cluster.bindEverywhere('viewer', 'view')
      await install(cluster.admin, await readManifests('workspace-limits.yaml'))
      // A rule takes effect a moment after it is written.
      await author.askUntil(/begins with "lab-"/, 'POST', DRY_RUN, workspace('other'))
      await cluster.admin.must('POST', WORKSPACES, workspace('theirs'))
    })

    it('is not decided by what somebody may do in a namespace', async () => {
      await editor.askUntil(/cannot create resource "workspaces"/, 'POST', DRY_RUN, workspace('lab-1'))
      const { status } = await editor.ask('DELETE', `${WORKSPACES}/theirs`)
      expect(status).toBe(403)
    })

    it('who may view the whole cluster sees them, and cannot change them', async () => {
      await viewer.askUntil(/cannot create resource "workspaces"/, 'POST', DRY_RUN, workspace('lab-1'))
      await viewer.askUntil('granted', 'GET', `${WORKSPACES}/theirs`)
    })

    it('authors do, as far as the rules of the platform team let them', async () => {
      const ask = (wanted: RegExp | 'granted', body: object) => author.askUntil(wanted, 'POST', DRY_RUN, body)
      await ask('granted', workspace('lab-1', vm('lab-ubuntu')))
      await ask('granted', workspace('lab-1', container({ containerPort: 53, protocol: 'udp' })))
      await ask(/use images whose names begin with "lab-"/, workspace('lab-1', vm('golden')))
      const vmDiskImageTemplate = { url: 'https://images.example.com/a', sourceType: 'http', diskSize: '4Gi' }
      await ask(/bring no vmDiskImageTemplate/, workspace('lab-1', vm('lab-ubuntu', { vmDiskImageTemplate })))
      await ask(
        /no port of a node/,
        workspace('lab-1', container({ containerPort: 53, protocol: 'udp', hostPort: 53 })),
      )
      // The same for Workspaces of others, which they may write: the rules depend on who writes.
      await author.askUntil(/begins with "lab-"/, 'PATCH', `${WORKSPACES}/theirs?dryRun=All`, { spec: {} })
    })

    it('but get no right in the namespaces that Workspaces make', async () => {
      await cluster.addNamespace('lab-2')
      for (const plural of ['secrets', 'pods', 'configmaps']) {
        const { status } = await author.ask('GET', `/api/v1/namespaces/lab-2/${plural}`)
        expect(status, plural).toBe(403)
      }
    })
  })
}
