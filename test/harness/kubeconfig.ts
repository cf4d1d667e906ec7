import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'

interface Kubeconfig {
  readonly clusters: readonly [{ readonly cluster: Readonly<Record<string, string>> }]
  readonly users: readonly [{ readonly user: Readonly<Record<string, string>> }]
}

/** The URL of a sandbox's API server, and the PEM credentials for node:https. */
export async function readKubeconfig(path: string): Promise<{ server: string; ca: string; cert: string; key: string }> {
  const { clusters, users } = parse(await readFile(path, 'utf8')) as Kubeconfig
  const decoded = (data: string | undefined) => Buffer.from(data ?? '', 'base64').toString()
  return {
    server: clusters[0].cluster['server'] ?? '',
    ca: decoded(clusters[0].cluster['certificate-authority-data']),
    cert: decoded(users[0].user['client-certificate-data']),
    key: decoded(users[0].user['client-key-data']),
  }
}
