import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import type { Cluster } from '../../sandbox/control-plane/cluster.ts'
import type { WorldNames } from './grounds.ts'

const FILE = join(import.meta.dirname, '../fixtures/release-before/stored.yaml')
/** Where the objects are. */
export const STORED_NAMES: WorldNames = { images: 'images-stored', operator: 'operator-stored' }
/** Moved to the present when the objects are restored: nothing in them has been waiting for long. */
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g

/**
 * Puts what the release before has stored into a cluster's etcd, in one transaction, as if that release had been stopped just now: uids,
 * statuses, owners and finalizers are what they were. Returns the objects.
 */
export async function restoreStoredObjects(cluster: Cluster): Promise<readonly KubeObject[]> {
  const text = await readFile(FILE, 'utf8')
  const last = Math.max(...[...text.matchAll(TIME)].map(([time]) => Date.parse(time)))
  const stored = parse(movedBy(Date.now() - last, text)) as Readonly<Record<string, KubeObject>>
  for (const object of Object.values(stored))
    if (object.metadata.labels?.['cdi.kubevirt.io'] === 'importer') unstarted(object)
  const success = Object.entries(stored).map(([key, object]) => ({
    request_put: { key: base64(key), value: base64(JSON.stringify(object)) },
  }))
  const body = JSON.stringify({ success })
  const answer = await fetch(`${cluster.controlPlane.etcdUrl}/v3/kv/txn`, { method: 'POST', body })
  if (!answer.ok) throw new Error(`etcd does not take what is stored: ${answer.status} ${await answer.text()}`)
  return Object.values(stored)
}

/** A simulated kubelet cannot take over a container that another one has started: it starts it. */
function unstarted(pod: KubeObject & { status?: unknown }): void {
  delete pod.status
}

function movedBy(ms: number, text: string): string {
  return text.replace(TIME, (time, fraction: string = '') => {
    const [seconds = '', rest = ''] = new Date(Date.parse(time) + ms).toISOString().split(/(?=\.)/)
    return `${seconds}${rest.slice(0, -1).padEnd(fraction.length, '0').slice(0, fraction.length)}Z`
  })
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
