import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { renderInstallation } from '@open-terrain/constructs/platform'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { NODE_FLAGS } from '../../operator/node-flags.ts'
import { freePorts } from '../../sandbox/control-plane/free-ports.ts'
import { runConfig } from '../../tooling/image/operator-image.ts'
import { copyContext, stagesOf } from './docker-context.ts'
import { lint, resolveHadolint } from './hadolint.ts'

const ROOT = join(import.meta.dirname, '../..')
const DOCKERFILE = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
const ABOUT = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const [before = [], build = [], image = []] = stagesOf(DOCKERFILE)
const hadolint = await resolveHadolint((line) => process.stderr.write(`${line}\n`)).catch((error: Error) => error)

/** Tells at its end which modules of Node a program has loaded. */
const SAY_LOADED = `data:text/javascript,${encodeURIComponent(`
  process.on('exit', () => {
    const names = process.moduleLoadList.map((one) => one.replace('NativeModule ', ''))
    process.stderr.write('loaded: ' + names.join(' ') + '\\n')
  })
`)}`

function kubeconfigOf(cluster: object): object {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'away', cluster }],
    contexts: [{ name: 'away', context: { cluster: 'away', user: 'away' } }],
    users: [{ name: 'away', user: {} }],
    'current-context': 'away',
  }
}

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'open-terrain-image-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const restOf = (name: string) => image.filter((one) => one.name === name).map(({ rest }) => rest)

describe('the image', () => {
  it('is built on the version of Node that everything is tested on, in both stages', () => {
    expect(before).toEqual([{ name: 'ARG', rest: `NODE_IMAGE=node:${ABOUT.devDependencies.node}-slim` }])
    expect([build[0], image[0]]).toEqual([
      // biome-ignore lint/suspicious/noTemplateCurlyInString: as Docker writes it
      { name: 'FROM', rest: '${NODE_IMAGE} AS build' },
      // biome-ignore lint/suspicious/noTemplateCurlyInString: as Docker writes it
      { name: 'FROM', rest: '${NODE_IMAGE}' },
    ])
    expect(restOf('ARG')).toContain(`VERSION=${ABOUT.version}`)
  })

  it('runs as the Deployment does: its user, its ports, without a shell that would swallow signals', () => {
    const { operator } = renderInstallation({ image: 'registry.example/operator@sha256:0' })
    const deployment = operator.find(({ kind }) => kind === 'Deployment')
    const ports = restOf('EXPOSE')[0]
      ?.split(' ')
      .map((port) => expect.objectContaining({ containerPort: Number(port) }))
    const [runAsUser, runAsGroup] = restOf('USER')[0]?.split(':').map(Number) ?? []
    expect(deployment).toMatchObject({
      spec: {
        template: { spec: { securityContext: { runAsNonRoot: true, runAsUser, runAsGroup }, containers: [{ ports }] } },
      },
    })
    expect(restOf('ENTRYPOINT').map((text) => JSON.parse(text))).toEqual([['node', ...NODE_FLAGS, '/operator.mjs']])
  })

  it('is what `npm run image` makes without a container engine: its user, ports, command, variables and labels', () => {
    const values: Readonly<Record<string, string>> = { VERSION: ABOUT.version, REVISION: 'unknown' }
    const pairs = (name: string) =>
      restOf(name).flatMap((rest) =>
        [...rest.matchAll(/(\S+?)="?([^"]*)"?(?:\s+|$)/g)].map(([, key, value]) => [key, value]),
      )
    const labels = pairs('LABEL').map(([key = '', value = '']) => [
      key,
      value.replace(/^\$\{(\w+)\}$/, (_, name) => values[name] ?? ''),
    ])
    const { Env = [], ...config } = runConfig({ version: ABOUT.version, revision: 'unknown' })
    expect(config).toEqual({
      User: restOf('USER')[0],
      Entrypoint: JSON.parse(restOf('ENTRYPOINT')[0] ?? ''),
      ExposedPorts: Object.fromEntries((restOf('EXPOSE')[0] ?? '').split(' ').map((port) => [`${port}/tcp`, {}])),
      Labels: Object.fromEntries(labels),
    })
    expect(Env).toEqual(['PATH=/usr/local/bin', ...pairs('ENV').map(([key, value]) => `${key}=${value}`)])
  })

  it('is made of what its build stage copies: the same bundle as here, with its list of packages', () => {
    const source = join(folder, 'src')
    copyContext(ROOT, build, source)
    // What npm ci would install there.
    mkdirSync(join(source, 'node_modules/@open-terrain'), { recursive: true })
    for (const name of readdirSync(join(ROOT, 'node_modules')).filter((one) => one !== '@open-terrain'))
      symlinkSync(join(ROOT, 'node_modules', name), join(source, 'node_modules', name))
    for (const name of ['constructs', 'operator'])
      symlinkSync(join(source, name), join(source, 'node_modules/@open-terrain', name))
    const [command = '', ...args] = build.at(-1)?.rest.split(' ') ?? []
    expect(command).toBe('node')
    execFileSync(process.execPath, ['--preserve-symlinks', ...args], { cwd: source, stdio: 'pipe' })

    const made = readdirSync(join(source, 'dist'))
    const copied =
      restOf('COPY')
        .join(' ')
        .match(/(?<=\/src\/dist\/)\S+/g) ?? []
    expect(made).toEqual(expect.arrayContaining(copied))
    // The bundle names modules by their path, which here leads through the links to our node_modules.
    const bundle = readFileSync(join(source, 'dist/operator.mjs'), 'utf8')
    const isSame =
      bundle.replaceAll(`${relative(source, ROOT)}/`, '') === readFileSync(inject('operatorBundle'), 'utf8')
    expect(isSame).toBe(true)
    const { components, serialNumber, metadata } = JSON.parse(
      readFileSync(join(source, 'dist/operator.sbom.json'), 'utf8'),
    )
    // The same bundle has the same list.
    expect([serialNumber, metadata.timestamp, metadata.tools]).toEqual([undefined, undefined, undefined])
    const names = (components as { name: string; version: string; hashes: unknown[] }[]).map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['@kubernetes/client-node', 'cdk8s', 'pino', 'undici', 'zod']))
    expect(names.filter((name) => ['vitest', 'esbuild', 'typescript', 'cdk8s-plus-29'].includes(name))).toEqual([])
  })

  it.skipIf(hadolint === undefined)('passes hadolint, which is alive', async () => {
    if (typeof hadolint !== 'string') throw hadolint
    expect(await lint(hadolint, join(ROOT, 'Dockerfile'))).toEqual([])
    expect(await lint(hadolint, join(ROOT, 'examples/ansible/Containerfile'))).toEqual([])
    const bad = join(folder, 'Dockerfile')
    writeFileSync(bad, 'FROM node:latest\nRUN cd /src && npm ci\nENTRYPOINT node operator.mjs\n')
    expect((await lint(hadolint, bad)).map((line) => line.match(/DL\d+/)?.[0])).toEqual(
      expect.arrayContaining(['DL3007', 'DL3025']),
    )
  })
})

describe('the bundle', () => {
  it('names no source map: neither image has it', () => {
    expect(restOf('COPY').join()).not.toContain('.map')
    expect(readFileSync(inject('operatorBundle'), 'utf8')).not.toMatch(/^\s*\/\/[#@]\s*sourceMappingURL=/m)
  })

  it('is ASCII: V8 keeps two bytes for each character of a source with any other', () => {
    const other = /.{0,40}[\u0080-\uffff].{0,9}/.exec(readFileSync(inject('operatorBundle'), 'utf8'))
    expect(other?.[0], 'write the character as \\u with its code').toBeUndefined()
  })

  it.each([
    ['http', 'CONNECT api.example:6443 HTTP'],
    ['socks5', '\u0005'],
  ])('asks a proxy that the kubeconfig names for the API server: %s', async (scheme, expected) => {
    let asked = ''
    const proxy = createServer((socket) => {
      socket
        .on('error', () => undefined)
        .once('data', (bytes) => {
          asked ||= bytes.toString('latin1')
        })
    }).listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    const { port } = proxy.address() as AddressInfo
    const kubeconfig = join(folder, `${scheme}.json`)
    const cluster = { server: 'https://api.example:6443', 'proxy-url': `${scheme}://127.0.0.1:${port}` }
    writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(cluster)))
    const env = { NODE_ENV: 'production', KUBECONFIG: kubeconfig }
    const child = spawn(process.execPath, [...NODE_FLAGS, inject('operatorBundle')], { env, stdio: 'ignore' })
    onTestFinished(() => {
      child.kill('SIGKILL')
      proxy.close()
    })
    await expect.poll(() => asked.slice(0, expected.length), { timeout: 20_000 }).toBe(expected)
  })

  it('runs alone in a folder, without any right to write a file or to start a process, and ends when it is told to', async () => {
    const root = mkdtempSync(join(folder, 'root-'))
    const [health = 0, away = 0] = await freePorts(2)
    cpSync(inject('operatorBundle'), join(root, 'operator.mjs'))
    writeFileSync(join(root, 'kubeconfig'), JSON.stringify(kubeconfigOf({ server: `http://127.0.0.1:${away}` })))
    chmodSync(root, 0o555)
    const child = spawn(
      process.execPath,
      [...NODE_FLAGS, '--import', SAY_LOADED, '--permission', '--allow-fs-read=*', join(root, 'operator.mjs')],
      {
        cwd: root,
        env: {
          NODE_ENV: 'production',
          KUBECONFIG: join(root, 'kubeconfig'),
          HEALTH_ADDRESS: `127.0.0.1:${health}`,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    const said: string[] = []
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => said.push(text))
    const exited = once(child, 'close')
    try {
      const ask = async (path: string) => {
        if (child.exitCode !== null) throw new Error(`it has ended: ${said.join('')}`)
        return (await fetch(`http://127.0.0.1:${health}${path}`)).status
      }
      await expect.poll(() => ask('/healthz')).toBe(200)
      expect(await ask('/readyz')).toBe(503)
      child.kill('SIGTERM')
      expect(await exited).toEqual([0, null])
    } finally {
      if (child.exitCode === null) child.kill('SIGKILL')
    }
    expect(readdirSync(root).sort()).toEqual(['kubeconfig', 'operator.mjs'])
    const text = said.join('')
    expect(text).not.toContain('ERR_ACCESS_DENIED')
    // What it hardly ever needs would load these, and takes memory.
    const loaded = /^loaded: (.*)$/m.exec(text)?.[1]?.split(' ') ?? []
    expect(loaded).toContain('https')
    expect(loaded.filter((name) => ['http2', 'readline', 'vm'].includes(name))).toEqual([])
  })
})
