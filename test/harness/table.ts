import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import { parse } from 'yaml'

interface Table {
  readonly columnDefinitions: readonly { readonly name: string; readonly priority: number }[]
  readonly rows: readonly { readonly cells: readonly unknown[] }[]
}

interface Kubeconfig {
  readonly clusters: readonly [{ readonly cluster: Readonly<Record<string, string>> }]
  readonly users: readonly [{ readonly user: Readonly<Record<string, string>> }]
}

/** What `kubectl get` (with `-o wide`) prints of a path: the server computes it, kubectl only aligns it. */
export async function tableOf(kubeconfigPath: string, path: string): Promise<Record<string, unknown>[]> {
  const { clusters, users } = parse(await readFile(kubeconfigPath, 'utf8')) as Kubeconfig
  const decoded = (data: string | undefined) => Buffer.from(data ?? '', 'base64')
  const asked = request(`${clusters[0].cluster['server']}${path}`, {
    ca: decoded(clusters[0].cluster['certificate-authority-data']),
    cert: decoded(users[0].user['client-certificate-data']),
    key: decoded(users[0].user['client-key-data']),
    headers: { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' },
    agent: false,
  }).end()
  const [response] = await once(asked, 'response')
  const { columnDefinitions, rows } = JSON.parse(await text(response)) as Table
  return rows.map(({ cells }) => Object.fromEntries(columnDefinitions.map(({ name }, at) => [name, cells[at]])))
}
