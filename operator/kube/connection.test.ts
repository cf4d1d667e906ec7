import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { Connection } from './connection.ts'

const TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token'
let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'open-terrain-connection-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))
beforeEach(() => {
  for (const name of ['KUBECONFIG', 'KUBERNETES_SERVICE_HOST', 'KUBERNETES_SERVICE_PORT']) vi.stubEnv(name, '')
})
afterEach(() => vi.unstubAllEnvs())

function fileWith(server: string): string {
  const file = join(folder, 'kubeconfig')
  const clusters = [{ name: 'lab', cluster: { server } }]
  const contexts = [{ name: 'lab', context: { cluster: 'lab', user: 'me' } }]
  const config = { apiVersion: 'v1', kind: 'Config', clusters, contexts, users: [], 'current-context': 'lab' }
  writeFileSync(file, JSON.stringify(config))
  return file
}

describe('without credentials', () => {
  // Where the tests run in a pod, there is a token, but the address of the API server is taken away.
  const token = existsSync(TOKEN)
    ? 'is there without KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT'
    : 'does not exist'

  it.each([
    ['a home', () => folder, () => `${folder}/.kube/config does not exist`],
    ['no home', () => '', () => 'HOME is not set'],
  ])('with %s, a connection says where it looked and what to set', (_what, home, file) => {
    vi.stubEnv('HOME', home())
    expect(() => Connection.fromEnvironment(null)).toThrow(
      `no credentials for a Kubernetes cluster were found (KUBECONFIG is not set, ${file()}, ${TOKEN} ${token}): ` +
        'set KUBECONFIG to a kubeconfig with a current context, or run in a pod with the token of a ServiceAccount',
    )
  })
})

describe('a kubeconfig', () => {
  it('may name any server, that of the library too', () => {
    const server = (url: string) => Connection.fromEnvironment(null, fileWith(url)).server.href
    expect(server('http://localhost:8080')).toBe('http://localhost:8080/')
    expect(server('https://[::1]:6443/clusters/a')).toBe('https://[::1]:6443/clusters/a')
  })

  it.each(['kubernetes.example:6443', '10.0.0.1:6443', 'https://undefined:undefined'])(
    'whose server is %j is refused',
    (url) => {
      expect(() => Connection.fromEnvironment(null, fileWith(url))).toThrow(
        'the server of cluster "lab" in the kubeconfig is no URL: write for example https://kubernetes.example:6443',
      )
    },
  )

  it('that does not exist is named', () => {
    expect(() => Connection.fromEnvironment(null, '/does/not/exist')).toThrow(
      /^the kubeconfig \/does\/not\/exist cannot be read: /,
    )
  })
})
