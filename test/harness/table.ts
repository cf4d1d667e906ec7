import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import { readKubeconfig } from './kubeconfig.ts'
import { responseTo } from './response.ts'

interface Table {
  readonly columnDefinitions: readonly { readonly name: string; readonly priority: number }[]
  readonly rows: readonly { readonly cells: readonly unknown[] }[]
}

/** Returns what `kubectl get -o wide` prints for a path. The server computes the cells; kubectl only aligns them. */
export async function tableOf(kubeconfigPath: string, path: string): Promise<Record<string, unknown>[]> {
  const { server, ...credentials } = await readKubeconfig(kubeconfigPath)
  const asked = request(`${server}${path}`, {
    ...credentials,
    headers: { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' },
    agent: false,
  }).end()
  const response = await responseTo(asked)
  const { columnDefinitions, rows } = JSON.parse(await text(response)) as Table
  return rows.map(({ cells }) => Object.fromEntries(columnDefinitions.map(({ name }, at) => [name, cells[at]])))
}
