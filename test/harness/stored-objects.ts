import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import type { Cluster } from '../../sandbox/control-plane/cluster.ts'
import type { WorldNames } from './grounds.ts'

const FILE = join(import.meta.dirname, '../fixtures/release-before/stored.yaml')
/** The namespaces of the objects. */
export const STORED_NAMES: WorldNames = { images: 'images-stored', operator: 'operator-stored' }
/** A timestamp. Timestamps move to the present when the objects are restored, so that nothing seems to have waited for long. */
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g

/**
 * Writes the objects of the previous release into a cluster's etcd, in one transaction, as if that release had just been stopped. UIDs,
 * statuses, owners and finalizers are unchanged. Returns the objects.
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

/** A simulated kubelet cannot adopt a container that another one started. Without a status, it starts the container. */
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
