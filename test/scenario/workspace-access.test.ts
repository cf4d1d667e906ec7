import { beforeAll, describe, expect, it } from 'vitest'
import { readManifests } from '../../sandbox/demo/manifests.ts'
import { install, useAdmissionCluster } from '../harness/admission-cluster.ts'
import type { ApiUser } from '../harness/api-user.ts'

const WORKSPACES = '/apis/pelotech.ot/v1alpha1/workspaces'
const DRY_RUN = `${WORKSPACES}?dryRun=All`

const cluster = useAdmissionCluster()

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

describe('who may write Workspaces', () => {
  let editor: ApiUser
  let viewer: ApiUser
  let author: ApiUser

  beforeAll(async () => {
    await cluster.addNamespace('team')
    editor = await cluster.addUser('editor', { team: ['admin'] })
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
    await ask(/no port of a node/, workspace('lab-1', container({ containerPort: 53, protocol: 'udp', hostPort: 53 })))
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
