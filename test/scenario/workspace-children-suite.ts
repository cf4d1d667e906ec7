import { randomBytes } from 'node:crypto'
import {
  NETWORK_DRIVERS,
  type NetworkDriver,
  POLICY_NAME,
  type WorkspaceSpec,
  workspace as workspaceKind,
} from '@open-terrain/constructs/operator'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { viewConfigMap } from '../../operator/controllers/workspace/child-views.ts'
import { isAsWanted, marked } from '../../operator/controllers/workspace/decide/as-wanted.ts'
import { isSwitchedOff } from '../../operator/controllers/workspace/decide/power.ts'
import { Connection } from '../../operator/kube/connection.ts'
import { HttpKubeClient } from '../../operator/kube/http-client.ts'
import { apiVersionOf, type KubeObject, type ResourceType } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP, DEPLOYMENT, NAMESPACE, POD, RESOURCE_QUOTA } from '../../operator/kube/resource-types.ts'
import { SERVED_TYPES } from '../../sandbox/memory-cluster/index.ts'
import { ApiUser } from '../harness/api-user.ts'
import { useCluster } from '../harness/cluster.ts'
import { operatorAccount } from '../harness/operator-account.ts'
import { PROPOSED_WORKSPACE } from '../prepared/api/proposed-workspace.ts'
import { randomWorkspace } from '../prepared/children/random-workspaces.ts'
import { objectsOf, renderAll } from '../prepared/children/rendered-workspace.ts'

const WORKSPACE: ResourceType = workspaceKind
const HANGS_AFTER_MS = 5 * 60_000
const LOCAL_VOLUMES = '/srv/labs'
const ROOTS = [undefined, LOCAL_VOLUMES] as const
const cluster = useCluster()
let operator: ApiUser

beforeAll(async () => {
  const connection = Connection.fromEnvironment(null, cluster().controlPlane.kubeconfigPath)
  const client = new HttpKubeClient({ connection, userAgent: 'open-terrain-scenario' })
  const namespace = `operator-${randomBytes(3).toString('hex')}`
  await client.create(NAMESPACE, { apiVersion: 'v1', kind: NAMESPACE.kind, metadata: { name: namespace } })
  await client.create(CONFIG_MAP, {
    apiVersion: 'v1',
    kind: CONFIG_MAP.kind,
    metadata: { namespace, name: POLICY_NAME },
    data: {
      localVolumeRoot: LOCAL_VOLUMES,
      allowPrivileged: 'true',
      allowInternetAccess: 'true',
      allowedServiceTypes: 'ClusterIP,NodePort,LoadBalancer',
    },
  } as KubeObject)
  operator = new ApiUser(await operatorAccount(cluster(), client, namespace))
  await connection.close()
})

afterAll(async () => await operator[Symbol.asyncDispose]())

interface Deployment extends KubeObject {
  readonly status?: object
}

function pathOf({ group, version, plural, namespaced }: ResourceType, namespace = '', name = ''): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  return `${root}${namespaced ? `/namespaces/${namespace}` : ''}/${plural}${name === '' ? '' : `/${name}`}`
}

function typeOf({ apiVersion, kind }: Pick<KubeObject, 'apiVersion' | 'kind'>): ResourceType {
  const found = SERVED_TYPES.find((type) => type.kind === kind && apiVersionOf(type) === apiVersion)
  if (found === undefined) throw new Error(`no type for ${apiVersion} ${kind}`)
  return found
}

async function ask<T = KubeObject>(method: string, path: string, body?: object): Promise<T> {
  const { status, text } = await cluster().controlPlane.request(method, path, body)
  if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${text}\n${JSON.stringify(body)}`)
  return JSON.parse(text) as T
}

/**
 * Unknown and duplicate fields are refused, and what the operator may not write. An API server that confined another operator before knows the
 * policy of this one a moment later.
 */
const create = (type: ResourceType, object: KubeObject) =>
  operator.askUntil('granted', 'POST', `${pathOf(type, object.metadata.namespace)}?fieldValidation=Strict`, object)

/** Expects this number of admitted pods. Otherwise throws with the message of admission. */
async function hasPods(namespace: string, count: number): Promise<void> {
  const pods = await ask<{ items: KubeObject[] }>('GET', pathOf(POD, namespace))
  const deployments = await ask<{ items: KubeObject[] }>('GET', pathOf(DEPLOYMENT, namespace))
  expect(pods.items.length, JSON.stringify(deployments.items.map((item) => (item as Deployment).status))).toBe(count)
}

/** Creates the workspace and all its children, waits for its pods, and checks that none of them would be written again. */
async function standUp(spec: WorkspaceSpec, driver: NetworkDriver, localVolumeRoot: string | undefined): Promise<void> {
  const name = `lab-${randomBytes(4).toString('hex')}`
  const { metadata } = await ask('POST', pathOf(WORKSPACE), {
    apiVersion: apiVersionOf(WORKSPACE),
    kind: WORKSPACE.kind,
    metadata: { name },
    spec,
  } as KubeObject)
  const rendered = renderAll({ workspace: { name, uid: metadata.uid ?? '' }, spec }, driver, localVolumeRoot)
  const { quota, clusters } = rendered
  // A pod without a request for what a quota limits is refused, and some pods have none.
  const objects = objectsOf(rendered).filter((object) => object !== quota)
  for (const object of objects) await create(typeOf(object), marked(object as KubeObject))
  const on = clusters.filter((one) => !isSwitchedOff(one as KubeObject))
  await vi.waitFor(() => hasPods(name, on.length), { timeout: HANGS_AFTER_MS, interval: 100 })
  await create(RESOURCE_QUOTA, marked(quota as KubeObject))
  for (const object of objectsOf(rendered)) {
    const wanted = marked(object as KubeObject)
    const stored = await ask('GET', pathOf(typeOf(wanted), wanted.metadata.namespace, wanted.metadata.name))
    const seen = wanted.kind === CONFIG_MAP.kind ? viewConfigMap(stored) : stored
    expect(isAsWanted(wanted, seen), `${wanted.kind} ${wanted.metadata.name}: ${JSON.stringify(seen)}`).toBe(true)
  }
  await ask('DELETE', pathOf(WORKSPACE, '', name))
}

/** @param random number of random workspaces for each driver */
export function workspaceChildrenSuite(random: number): void {
  describe.each(NETWORK_DRIVERS)('the children of a workspace, on %s', (driver) => {
    it.each(ROOTS)(
      'as the proposal has it are accepted, admitted and stored as they are, with local volumes below %s',
      async (root) => {
        await standUp(PROPOSED_WORKSPACE.spec as unknown as WorkspaceSpec, driver, root)
      },
    )

    it(`at random are so too: ${random} workspaces`, async () => {
      const drawn = fc.sample(fc.record({ random: randomWorkspace, root: fc.constantFrom(...ROOTS) }), {
        numRuns: random,
        seed: 14,
      })
      for (const one of drawn) await standUp(one.random.spec, driver, one.root)
    })
  })
}
