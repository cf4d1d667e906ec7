import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { LABELS } from '@open-terrain/constructs'
import {
  POLICY_DEFAULTS,
  POLICY_KEYS,
  parsePolicy,
  policyDefaultText,
  SOURCE_TYPES,
} from '@open-terrain/constructs/operator'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { Connection } from '../../operator/kube/connection.ts'
import { EXAMPLES, type Manifest, readManifests, resourceTypeOf } from '../../sandbox/demo/manifests.ts'
import { useCluster } from '../harness/cluster.ts'
import { PROPOSED_WORKSPACE } from '../prepared/api/proposed-workspace.ts'
import { PROPOSED_VIRTUAL_MACHINE } from '../prepared/api/virtual-machine.ts'
import { PROPOSED_IMAGE } from '../prepared/api/vm-disk-image.ts'

describe('the examples', () => {
  const cluster = useCluster()
  let connection: Connection

  const LAB = 'lab-of-examples'

  beforeAll(async () => {
    connection = Connection.fromEnvironment(2, cluster().controlPlane.kubeconfigPath)
    const metadata = { name: LAB, labels: { [LABELS.workspaceUid]: 'uid' } }
    const { status } = await post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata })
    expect(status).toBe(201)
  })

  afterAll(() => connection.close())

  /** Creates it by dry run. Unknown fields, of which `kubectl` only warns, are errors. */
  async function dryRun(manifest: Manifest): Promise<{ status: number; text: string }> {
    const { group, version, plural, namespaced } = resourceTypeOf(manifest)
    const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
    const scope = namespaced ? `/namespaces/${manifest.metadata.namespace ?? 'default'}` : ''
    return await post(`${root}${scope}/${plural}?dryRun=All&fieldValidation=Strict`, manifest)
  }

  async function post(path: string, object: object): Promise<{ status: number; text: string }> {
    const { headers, dispatcher } = await connection.credentials()
    const { statusCode, body } = await dispatcher.request({
      origin: connection.server.origin,
      path,
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(object),
    })
    return { status: statusCode, text: await body.text() }
  }

  it('are all taken by the API server, field by field', async () => {
    const files = (await readdir(EXAMPLES)).filter((file) => file.endsWith('.yaml'))
    expect(files).toContain('vmdiskimage.yaml')
    for (const file of files) {
      for (const manifest of await readManifests(file)) {
        const { status, text } = await dryRun(inPlace(manifest))
        expect(status, `${file}, ${manifest.metadata.name}: ${text}`).toBe(201)
      }
    }
  })

  /** The namespace of a Workspace is there only with it. */
  function inPlace(manifest: Manifest): Manifest {
    if (manifest.kind !== 'WorkspaceSnapshot') return manifest
    return { ...manifest, metadata: { ...manifest.metadata, namespace: LAB } }
  }

  it('are refused where a field is misspelt, or the test above would prove nothing', async () => {
    const { status, text } = await dryRun({
      ...PROPOSED_IMAGE,
      spec: { ...PROPOSED_IMAGE.spec, diskSizes: '24Gi' },
    } as Manifest)
    expect(status).toBe(400)
    expect(text).toContain('diskSizes')
  })

  it('begin with the manifests of the proposals', async () => {
    expect(await readManifests('vmdiskimage.yaml')).toEqual([PROPOSED_IMAGE])
    expect(await readManifests('virtualmachine.yaml')).toEqual([PROPOSED_VIRTUAL_MACHINE])
    expect(await readManifests('workspace.yaml')).toEqual([PROPOSED_WORKSPACE])
  })

  it('show a fleet over every source type, with different sizes, that finds what it names', async () => {
    const fleet = await readManifests('fleet.yaml')
    const specs = fleet.map(({ spec }) => spec as Record<string, string>)
    expect(fleet.length).toBeGreaterThanOrEqual(16)
    expect(new Set(specs.map(({ sourceType }) => sourceType))).toEqual(new Set(SOURCE_TYPES))
    expect(new Set(specs.map(({ diskSize }) => diskSize)).size).toBeGreaterThan(8)
    const others = [...(await readManifests('secret.yaml')), ...(await readManifests('sandbox-classes.yaml'))]
    const names = new Set(others.map(({ metadata }) => metadata.name))
    for (const { secretRef, storageClass, snapshotClass } of specs) {
      for (const name of [secretRef, storageClass, snapshotClass]) {
        if (name !== undefined) expect(names).toContain(name)
      }
    }
  })

  it('say the same in TypeScript and in YAML', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [join(EXAMPLES, 'fleet.ts')])
    const yaml = await readFile(join(EXAMPLES, 'fleet.yaml'), 'utf8')
    expect(stdout).toBe(yaml.replace(/^(#.*\n)+/, ''))
  })

  it('show every key of the policy, with its default', async () => {
    const text = await readFile(join(EXAMPLES, 'policy.yaml'), 'utf8')
    const everything = text.replace(/^ {2}# ([a-zA-Z]+: ".*")$/gm, '  $1')
    const { data } = parse(everything) as { data: Record<string, string> }
    expect(Object.keys(data).toSorted()).toEqual([...POLICY_KEYS].toSorted())
    for (const key of POLICY_KEYS) expect(data[key]).toBe(policyDefaultText(key) ?? data[key])
    expect(parsePolicy(data, POLICY_DEFAULTS).problems).toEqual([])
  })
})
