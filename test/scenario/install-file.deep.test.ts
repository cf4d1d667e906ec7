import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { environmentManifests, RELEASE, RELEASED_FILE, releasedManifest } from '../../infra/manifests.ts'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { ControlPlane } from '../../sandbox/control-plane/control-plane.ts'
import { HAS_KUBECTL } from '../harness/kubectl.ts'
import { IMAGE, objectsOf, ROOT } from './manifest-objects.ts'

const run = promisify(execFile)
const CONTENT = releasedManifest(environmentManifests({ folder: ROOT, environment: RELEASE, image: IMAGE }))
const OBJECTS = objectsOf(CONTENT)
const POLICY = ['-n', 'sync-operator', 'configmap', 'sync-operator-policy'] as const

/** What the file has of some objects. To apply all of it takes kubectl and an API server seconds, most of them for the CRDs. */
const textOf = (objects: readonly KubeObject[]) =>
  objects.map((object) => stringify(object, { aliasDuplicateObjects: false })).join('---\n')
const OF_POLICY = textOf(OBJECTS.filter(({ metadata }) => metadata.name === 'sync-operator-policy'))
const WITHOUT_KINDS = textOf(OBJECTS.filter(({ kind }) => kind !== 'CustomResourceDefinition'))

/** With a policy of somebody's own, applied as a file beside the installation. */
const OWN_POLICY = stringify({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace: 'sync-operator', name: 'sync-operator-policy' },
  data: { concurrency: '7' },
})

describe.skipIf(!HAS_KUBECTL)(`${RELEASED_FILE}, by kubectl on a cluster that has nothing`, () => {
  let controlPlane: ControlPlane
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'open-terrain-release-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  /** A cluster that has nothing, for the tests of a block: each goes on where the one before has ended. */
  function useEmptyCluster(): void {
    beforeAll(async () => {
      controlPlane = new ControlPlane({ crds: [] })
      await controlPlane.start()
    })
    afterAll(() => controlPlane.stop())
  }

  async function kubectl(...args: readonly string[]): Promise<string> {
    const env = { ...process.env, KUBECONFIG: controlPlane.kubeconfigPath }
    const { stdout } = await run('kubectl', args, { env, maxBuffer: 64 * 1024 * 1024 })
    return stdout
  }

  async function written(content: string): Promise<string> {
    const file = join(folder, RELEASED_FILE)
    await writeFile(file, content)
    return file
  }

  async function apply(content: string, ...ways: readonly string[]): Promise<string> {
    return await kubectl('apply', ...ways, '-f', await written(content))
  }

  /** What is stored of each object: what shows that somebody has written it, and what was written. */
  async function stored() {
    const { items } = JSON.parse(await kubectl('get', '-f', await written(CONTENT), '-o', 'json'))
    const objects = items as (KubeObject & { readonly status?: object })[]
    const fieldsOf = <Value>(pick: (object: KubeObject) => Value) =>
      Object.fromEntries(objects.map((one) => [`${one.kind} ${one.metadata.name}`, pick(one)]))
    return {
      versions: fieldsOf(({ metadata }) => metadata.resourceVersion),
      // Not the generation: that of a Deployment grows with its annotations.
      contents: fieldsOf(({ metadata: { uid }, status: _status, ...rest }: (typeof objects)[number]) => ({
        uid,
        ...rest,
      })),
    }
  }

  const refusalOf = (applying: Promise<string>) =>
    applying.then(
      () => '',
      (error: Error) => error.message,
    )

  /** It is refused that the file takes keys away, and what the refusal says keeps them. */
  async function keepsKeys(lost: readonly string[], data: object) {
    const refused = await refusalOf(apply(OF_POLICY))
    const [, keys, command = ''] =
      /this would remove (.+) from the policy, which somebody has applied from another file; to keep what is there: kubectl (.+?-), or/.exec(
        refused,
      ) ?? []
    expect(keys?.split(', ').sort()).toEqual(lost)
    expect(await policyData()).toEqual(data)
    await kubectl(...command.split(' '))
    await apply(OF_POLICY)
    expect(await policyData()).toEqual(data)
  }

  const policyData = async () => JSON.parse(await kubectl('get', ...POLICY, '-o', 'json')).data

  const CLIENT: readonly string[] = []
  const SERVER = ['--server-side']

  /** The file is applied twice in one way, and then in others: only the first time writes. */
  async function changesNothing(ways: readonly string[], ...others: readonly (readonly string[])[]) {
    await kubectl('wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all')
    // The API server still writes the conditions of CRDs.
    const { contents } = await stored()
    await apply(CONTENT, ...ways)
    const { versions } = await stored()
    await apply(CONTENT, ...ways)
    expect(await stored()).toEqual({ versions, contents })
    for (const next of others) {
      await apply(CONTENT, ...next)
      expect((await stored()).contents).toEqual(contents)
    }
  }

  describe('from the client, after an earlier release', () => {
    useEmptyCluster()

    it('upgrades it, and changes nothing the second time', async () => {
      await apply(earlier(OBJECTS))
      await apply(CONTENT)
      const crds = JSON.parse(await kubectl('get', 'crd', 'workspaces.pelotech.ot', '-o', 'json'))
      expect(crds.metadata.annotations['pelotech.ot/installed-by']).toBe('manifests/release')
      const wanted = OBJECTS.find(({ metadata }) => metadata.name === 'workspaces.pelotech.ot') as KubeObject & {
        spec: Crd
      }
      expect(crds.spec.versions[0].schema).toEqual(wanted.spec.versions[0]?.schema)
      await changesNothing(CLIENT, SERVER, CLIENT)
    })

    it('keeps what somebody has changed in the policy, and refuses to take away keys that somebody has applied', async () => {
      await kubectl('patch', ...POLICY, '--type=merge', '-p', '{"data": {"concurrency": "6"}}')
      for (const ways of [[], ['--server-side'], []]) await apply(OF_POLICY, ...ways)
      expect(await policyData()).toEqual({ concurrency: '6' })

      const own = join(folder, 'policy.yaml')
      await writeFile(own, OWN_POLICY)
      await kubectl('apply', '-f', own)
      await keepsKeys(['concurrency'], { concurrency: '7' })

      // By two field managers the file and the policy never meet.
      await kubectl('apply', '--server-side', '--force-conflicts', '--field-manager=policy', '-f', own)
      for (let time = 0; time < 2; time += 1) await apply(OF_POLICY, '--server-side')
      expect(await policyData()).toEqual({ concurrency: '7' })
    })

    it('is there again after the operator was removed by its part', async () => {
      const file = join(folder, '3-install.yaml')
      await writeFile(
        file,
        environmentManifests({ folder: ROOT, environment: RELEASE, image: IMAGE }).get('3-install.yaml') ?? '',
      )
      await kubectl('delete', '--wait=false', '-f', file)
      await apply(WITHOUT_KINDS)
      expect(await policyData()).toBeUndefined()
    })

    it('takes no keys away when it takes over from the manifests of an environment, nor after somebody has applied what they saved', async () => {
      const production = objectsOf(
        environmentManifests({ folder: ROOT, environment: 'production', image: IMAGE }).get('3-install.yaml') ?? '',
      ).find(({ metadata }) => metadata.name === 'sync-operator-policy') as KubeObject & { data: object }
      const file = join(folder, 'policy.yaml')
      await writeFile(file, stringify(production))
      const adopt = (owner: string) => kubectl('annotate', ...POLICY, '--overwrite', `pelotech.ot/adopted-by=${owner}`)
      await adopt('manifests/production')
      await kubectl('apply', '-f', file)
      expect(await refusalOf(apply(OF_POLICY))).toContain('belongs to manifests/production')
      await adopt('manifests/release')
      await keepsKeys(Object.keys(production.data).sort(), production.data)

      await writeFile(
        file,
        (await kubectl('get', ...POLICY, '-o', 'yaml')).replace(/^( {2}concurrency: ).*$/m, '$1"9"'),
      )
      await kubectl('apply', '-f', file)
      const edited = { ...production.data, concurrency: '9' }
      await keepsKeys(Object.keys(edited).sort(), edited)
      // Who means it may.
      await kubectl('patch', ...POLICY, '--type=merge', '-p', '{"data": null}')
      expect(await policyData()).toBeUndefined()
    })

    it('keeps CRDs and images if it is deleted itself', async () => {
      const refused = await refusalOf(kubectl('delete', '--wait=false', '-f', await written(CONTENT)))
      expect(refused.match(/if that is meant: kubectl annotate/g)).toHaveLength(6)
      expect((await kubectl('get', 'crd', '-o', 'name')).trim().split('\n')).toHaveLength(5)
    })
  })

  describe('on the server', () => {
    useEmptyCluster()

    it('is applied at once, and changes nothing the second time', async () => {
      const first = await apply(CONTENT, ...SERVER)
      expect(first.trim().split('\n')).toHaveLength(OBJECTS.length)
      await changesNothing(SERVER, CLIENT)
    })

    it('takes over from manifests that have taken over themselves, by the commands of its refusals', async () => {
      const props = { folder: ROOT, environment: 'production', image: IMAGE, adopt: true }
      await apply(releasedManifest(environmentManifests(props)))
      const refused = await refusalOf(apply(CONTENT))
      const commands = [...refused.matchAll(/then kubectl (annotate .+? --overwrite pelotech\.ot\/adopted-by=\S+)/g)]
      expect(commands).toHaveLength(7)
      for (const [, command = ''] of commands) await kubectl(...command.split(' '))
      // That of the policy is refused once more, because of its keys: see below.
      const kept = await refusalOf(apply(CONTENT))
      expect([kept.match(/belongs to/g), kept.match(/this would remove/g)?.length]).toEqual([null, 1])
      await kubectl('annotate', ...POLICY, 'kubectl.kubernetes.io/last-applied-configuration-')
      await apply(OF_POLICY)
      const { items } = JSON.parse(await kubectl('get', '-f', await written(CONTENT), '-o', 'json'))
      const owners = (items as KubeObject[]).flatMap(
        ({ metadata }) => metadata.annotations?.['pelotech.ot/installed-by'] ?? [],
      )
      expect(owners).toEqual(Array.from({ length: 7 }, () => 'manifests/release'))
    })
  })
})

interface Crd {
  readonly versions: readonly { readonly schema: object }[]
}

/** What a release before could have installed: no owner, no rules of CEL, no field `suspend`, and another image. */
function earlier(objects: readonly KubeObject[]): string {
  const text = JSON.stringify(objects, (key, value) =>
    ['x-kubernetes-validations', 'suspend', 'pelotech.ot/installed-by'].includes(key) ? undefined : value,
  )
  const before = JSON.parse(text.replaceAll(IMAGE, `registry.example/open-terrain/operator:0.0.9`)) as KubeObject[]
  return textOf(before)
}
