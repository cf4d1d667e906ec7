import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import type { ScriptedClient } from '../prepared/kube/scripted-client.ts'

const API_VERSION = 'pelotech.ot/v1alpha1'
const CREATED = '2026-01-01T08:00:00Z'
const RANGE = join(import.meta.dirname, '../../examples/labs/ansible-range.yaml')
/** What would run if the page took it for HTML. */
export const HOSTILE = '<img src=x onerror="document.title=\'owned\'">'

/** How a lab or an image is, as its status says it. */
interface Standing {
  readonly phase: string
  readonly reason: string
  readonly message: string
}

export const READY: Standing = { phase: 'Ready', reason: 'Ready', message: 'all 3 components are ready' }
export const FAILED: Standing = {
  phase: 'Failed',
  reason: 'ComponentFailed',
  message: `VirtualMachine router: ${HOSTILE}`,
}

/** Puts a lab of `examples/labs` into a cluster, as the operator would have left it. */
export function putLab(client: ScriptedClient, name: string, standing: Standing, status: object = {}): void {
  const { phase, reason, message } = standing
  client.put({
    apiVersion: API_VERSION,
    kind: 'Workspace',
    metadata: { name, uid: `uid-${name}`, generation: 1, labels: { course: 'net-1' }, creationTimestamp: CREATED },
    spec: specOfRange(),
    status: {
      observedGeneration: 1,
      phase,
      reason,
      message,
      ready: phase === 'Ready' ? '3/3' : '2/3',
      namespace: name,
      components: [
        { kind: 'VirtualMachine', name: 'router', phase, reason, message },
        { kind: 'VirtualMachine', name: 'server', phase: 'Ready', reason: 'Ready', message: 'it runs' },
      ],
      conditions: [condition('Ready', phase === 'Ready' ? 'True' : 'False', reason, message)],
      ...status,
    },
  } as KubeObject)
}

export function putMachine(client: ScriptedClient, lab: string, name: string): void {
  client.put({
    apiVersion: API_VERSION,
    kind: 'VirtualMachine',
    metadata: {
      name,
      namespace: lab,
      generation: 1,
      creationTimestamp: CREATED,
      labels: { 'pelotech.ot/workspace-uid': `uid-${lab}` },
    },
    spec: {},
    status: {
      observedGeneration: 1,
      ...READY,
      bootedAt: CREATED,
      conditions: [condition('Ready', 'True', 'Ready', 'it runs')],
    },
  } as KubeObject)
}

/** Puts an image into a cluster. */
export function putImage(client: ScriptedClient, name: string, standing: Standing, status: object = {}): void {
  client.put({
    apiVersion: API_VERSION,
    kind: 'VMDiskImage',
    metadata: { name, namespace: 'farm', uid: `uid-${name}`, generation: 1, creationTimestamp: CREATED },
    spec: { sourceURL: `https://images.example/${name}.qcow2` },
    status: {
      observedGeneration: 1,
      ...standing,
      conditions: [
        condition('Ready', standing.phase === 'Succeeded' ? 'True' : 'False', standing.reason, standing.message),
      ],
      ...status,
    },
  } as KubeObject)
}

/** Puts a Warning Event about an object into a cluster. */
export function putWarning(client: ScriptedClient, kind: string, name: string, message: string): void {
  client.put({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${name}.1`, namespace: 'default' },
    involvedObject: { kind, name, uid: `uid-${name}` },
    type: 'Warning',
    reason: 'ImageFailed',
    message,
    lastTimestamp: '2026-01-01T09:00:00Z',
    count: 4,
  } as KubeObject)
}

function condition(type: string, status: string, reason: string, message: string) {
  return { type, status, reason, message, lastTransitionTime: '2026-01-01T08:30:00Z', observedGeneration: 1 }
}

let range: unknown
function specOfRange(): unknown {
  range ??= parseAllDocuments(readFileSync(RANGE, 'utf8'))
    .map((document) => document.toJS() as KubeObject & { readonly spec?: unknown })
    .find(({ kind }) => kind === 'Workspace')?.spec
  return range
}
