import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { cacheFolder, kubernetesVersion, resolveBinaries } from './binaries.ts'

describe('resolveBinaries', () => {
  let folder: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'open-terrain-binaries-'))
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  const provide = (directory: string, ...names: string[]) => {
    mkdirSync(directory, { recursive: true })
    for (const name of names) {
      writeFileSync(join(directory, name), '')
      chmodSync(join(directory, name), 0o755)
    }
  }

  it('takes from KUBEBUILDER_ASSETS first, and from the cache what is missing there', async () => {
    const assets = join(folder, 'assets')
    const env = { KUBEBUILDER_ASSETS: assets, XDG_CACHE_HOME: join(folder, 'cache') }
    const cache = await cacheFolder(env)
    provide(assets, 'etcd', 'kube-apiserver')
    provide(cache, 'etcd', 'kube-apiserver', 'kube-controller-manager')
    await expect(resolveBinaries({ env })).resolves.toEqual({
      etcd: join(assets, 'etcd'),
      'kube-apiserver': join(assets, 'kube-apiserver'),
      'kube-controller-manager': join(cache, 'kube-controller-manager'),
    })
  })

  it('keeps the cache outside the repository, by version and content of go.mod', async () => {
    const cache = await cacheFolder({ XDG_CACHE_HOME: folder })
    expect(cache).toMatch(/\/open-terrain\/control-plane\/v1\.36\.\d+-[0-9a-f]{12}$/)
    expect(cache.startsWith(folder)).toBe(true)
  })

  it('reads the version that go.mod pins', () => {
    expect(kubernetesVersion('require (\n\tk8s.io/kubernetes v1.36.3 // indirect\n)')).toBe('v1.36.3')
    expect(() => kubernetesVersion('module x')).toThrow('does not pin')
  })
})
