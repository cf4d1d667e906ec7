import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, createReadStream, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { createGunzip } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type Descriptor, ImageLayout } from '../../sandbox/oci/image-layout.ts'
import { type Registry, startRegistry } from '../../sandbox/oci/registry.ts'
import { architectureHere, clientsFor, obtainPackages, readLock } from '../../tooling/image/locked-packages.ts'
import { addOperatorImage } from '../../tooling/image/operator-image.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../..')
const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

let folder = ''
let layout: ImageLayout
let image: Descriptor

/** As `npm run image` does, with the bundle of these tests. */
function build(into: ImageLayout): Promise<Descriptor> {
  const files = [inject('operatorBundle'), join(ROOT, 'LICENSE')]
  return addOperatorImage(into, { name: 'registry.example/open-terrain-operator:test', revision: 'test', files })
}

/** Downloads the image by its digest as a node does, checks what it gets, and returns its root as a folder, and its configuration. */
async function pull({ host }: Registry, digest: string) {
  const get = async (path: string, expected: string) => {
    const body = Buffer.from(
      await (await fetch(`http://${host}/v2/open-terrain-operator/${path}/${expected}`)).arrayBuffer(),
    )
    expect(`sha256:${createHash('sha256').update(body).digest('hex')}`).toBe(expected)
    return body
  }
  const manifest = JSON.parse((await get('manifests', digest)).toString())
  const config = JSON.parse((await get('blobs', manifest.config.digest)).toString())
  const root = mkdtempSync(join(folder, 'root-'))
  chmodSync(root, 0o755)
  const diffIds: string[] = []
  for (const layer of manifest.layers) {
    const file = join(folder, 'layer.tar.gz')
    writeFileSync(file, await get('blobs', layer.digest))
    const hash = createHash('sha256')
    await pipeline(createReadStream(file), createGunzip(), hash)
    diffIds.push(`sha256:${hash.digest('hex')}`)
    await run('tar', ['-xpf', file, '-C', root])
  }
  expect(config.rootfs.diff_ids).toEqual(diffIds)
  return { root, config: config.config }
}

describe.skipIf(process.env['IMAGE'] === 'skip')('the image of the operator', () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'open-terrain-operator-image-'))
    layout = await ImageLayout.open(join(folder, 'layout'))
    image = await build(layout)
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('has the same digest when it is built again', async () => {
    const again = await build(await ImageLayout.open(join(folder, 'again')))
    expect(again).toEqual(image)
  })

  it('has the operator, Node, and the libraries that Node needs; no shell, no other program, and nothing that others could change', async () => {
    const registry = await startRegistry(layout)
    const { root } = await pull(registry, image.digest).finally(() => registry.close())
    const list = (...conditions: string[]) =>
      execFileSync('find', [root, '-type', 'f', ...conditions, '-printf', '/%P\n'], { encoding: 'utf8' })
        .split('\n')
        .filter(Boolean)
    const isLibrary = (path: string) => /^\/usr\/lib(64)?\/.*\.so(\.\d+)*$/.test(path)
    expect(list('-perm', '/111').filter((path) => !isLibrary(path))).toEqual(['/usr/local/bin/node'])
    expect(list('-perm', '/6022')).toEqual([])
    expect(list('-name', '*.mjs*')).toEqual(['/operator.mjs'])
    expect(readFileSync(join(root, 'usr/lib/os-release'), 'utf8')).toContain('ID=debian')
    const licensed = [
      'usr/share/doc/gcc-12-base/copyright',
      'usr/share/doc/libc6/copyright',
      'usr/local/share/doc/node/LICENSE',
    ]
    for (const path of licensed) expect(readFileSync(join(root, path), 'utf8')).toMatch(/license/i)
  })

  it('starts the operator by its configuration, pulled by digest', async ({ skip }) => {
    skip(process.getuid?.() !== 0, 'only root may run a program in another root folder')
    const registry = await startRegistry(layout)
    const { root, config } = await pull(registry, image.digest).finally(() => registry.close())
    mkdirSync(join(root, 'proc'))
    writeFileSync(join(root, 'etc/hosts'), '192.0.2.7 kubernetes.example\n')
    const env = Object.fromEntries((config.Env as string[]).map((text) => text.split(/=(.*)/s)))
    const start = (...command: string[]) =>
      run(
        'unshare',
        [
          '--mount',
          '--pid',
          '--fork',
          '--kill-child',
          `--mount-proc=${root}/proc`,
          'chroot',
          `--userspec=${config.User}`,
          root,
          ...command,
        ],
        // The programs that lead there are on the path of most systems. The operator gets what the image says.
        { env: { ...env, PATH: `${env['PATH']}:/usr/sbin:/usr/bin:/sbin:/bin` } },
      )
    await expect(start(...config.Entrypoint)).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^no credentials for a Kubernetes cluster were found \(KUBECONFIG is not set, HOME is not set, .* does not exist\): set KUBECONFIG .*\n$/,
      ),
    })
    const lookUp =
      "require('node:dns').lookup('kubernetes.example', (error, address) => console.log(process.getuid(), error ?? address))"
    expect((await start('node', '-e', lookUp)).stdout).toBe('65532 192.0.2.7\n')
  })

  it('needs a version that is served: another one leads to the command that renews the lock', async () => {
    const lock = await readLock(architectureHere(), devDependencies.node)
    const debian = [{ name: 'libc6', version: '0.0.1-1', sha256: '0'.repeat(64) }]
    await expect(obtainPackages({ ...lock, debian }, clientsFor(architectureHere()))).rejects.toThrow(
      'libc6 0.0.1-1 of the lock is not served here, or no longer: renew the lock with "npm run image -- --renew-lock"',
    )
  })
})
