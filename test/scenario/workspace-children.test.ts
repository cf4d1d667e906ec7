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
/** Number of workspaces at random. Those are created that have a field, or one of few values of it, that none before them has. */
const DRAWN = 200
const FEW_VALUES = 6
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
async function standUp(one: Case): Promise<void> {
  const name = `lab-${randomBytes(4).toString('hex')}`
  const { metadata } = await ask('POST', pathOf(WORKSPACE), {
    apiVersion: apiVersionOf(WORKSPACE),
    kind: WORKSPACE.kind,
    metadata: { name },
    spec: one.spec,
  } as KubeObject)
  const children = rendered(name, metadata.uid ?? '', one)
  const { quota, clusters } = children
  // A pod without a request for what a quota limits is refused, and some pods have none.
  const objects = objectsOf(children).filter((object) => object !== quota)
  for (const object of objects) await create(typeOf(object), marked(object as KubeObject))
  const on = clusters.filter((cluster) => !isSwitchedOff(cluster as KubeObject))
  await vi.waitFor(() => hasPods(name, on.length), { timeout: HANGS_AFTER_MS, interval: 100 })
  await create(RESOURCE_QUOTA, marked(quota as KubeObject))
  for (const object of objectsOf(children)) {
    const wanted = marked(object as KubeObject)
    const stored = await ask('GET', pathOf(typeOf(wanted), wanted.metadata.namespace, wanted.metadata.name))
    const seen = wanted.kind === CONFIG_MAP.kind ? viewConfigMap(stored) : stored
    expect(isAsWanted(wanted, seen), `${wanted.kind} ${wanted.metadata.name}: ${JSON.stringify(seen)}`).toBe(true)
  }
  await ask('DELETE', pathOf(WORKSPACE, '', name))
}

/** A workspace, and what its children depend on beside it. */
interface Case {
  readonly spec: WorkspaceSpec
  readonly driver: NetworkDriver
  readonly root: string | undefined
}

/** Yields each field below a value, and each with its value. What is below names of people is not looked at. */
function* fieldsOf(value: unknown, path: string): Generator<{ readonly path: string; readonly value: string }> {
  const isLeaf = value === null || typeof value !== 'object' || OF_PEOPLE.test(path)
  if (isLeaf) yield { path, value: OF_PEOPLE.test(path) ? '' : JSON.stringify(value) }
  else if (Array.isArray(value)) for (const one of value) yield* fieldsOf(one, `${path}[]`)
  else for (const [key, one] of Object.entries(value)) yield* fieldsOf(one, `${path}.${key}`)
}

const OF_PEOPLE = /[.](labels|annotations|data|stringData|config)$/

/** Returns as few cases as it needs for each field of a child, with each of its values if these are few. */
function chosenOf(cases: readonly Case[]): Case[] {
  const values = new Map<string, Set<string>>()
  const found = cases.map((one) => {
    const fields = objectsOf(rendered('lab', 'uid', one)).flatMap((object) => [...fieldsOf(object, object.kind)])
    for (const { path, value } of fields) values.set(path, (values.get(path) ?? new Set()).add(value))
    return { one, fields }
  })
  const isOneOfFew = (path: string) => (values.get(path)?.size ?? 0) <= FEW_VALUES
  let left = found.map(({ one, fields }) => ({
    one,
    has: new Set(fields.map(({ path, value }) => (isOneOfFew(path) ? `${path} ${value}` : path))),
  }))
  const chosen: Case[] = []
  while (left.some(({ has }) => has.size > 0)) {
    const [most] = left.toSorted((a, b) => b.has.size - a.has.size)
    if (most === undefined) break
    chosen.push(most.one)
    left = left.map(({ one, has }) => ({ one, has: new Set([...has].filter((field) => !most.has.has(field))) }))
  }
  return chosen
}

function rendered(name: string, uid: string, { spec, driver, root }: Case) {
  return renderAll({ workspace: { name, uid }, spec }, driver, root)
}

describe('the children of a workspace are accepted, admitted and stored as they are', () => {
  it.each(NETWORK_DRIVERS.map((driver, at) => ({ driver, root: ROOTS[at] })))(
    'as the proposal has it, on $driver, with local volumes below $root',
    async (how) => {
      await standUp({ spec: PROPOSED_WORKSPACE.spec as unknown as WorkspaceSpec, ...how })
    },
  )

  it('with each of their fields, and with each of its values that are few', async () => {
    const drawn = fc.sample(
      fc.record({
        random: randomWorkspace,
        driver: fc.constantFrom(...NETWORK_DRIVERS),
        root: fc.constantFrom(...ROOTS),
      }),
      { numRuns: DRAWN, seed: 14 },
    )
    const chosen = chosenOf(drawn.map(({ random: { spec }, driver, root }) => ({ spec, driver, root })))
    expect(chosen.length).toBeGreaterThan(NETWORK_DRIVERS.length)
    for (const one of chosen) await standUp(one)
  })
})
