import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { OtBench } from '../../test/prepared/cli/ot-bench.ts'
import { apiError } from '../../test/prepared/kube/api-error.ts'
import { EXIT_CODES } from '../exit-codes.ts'

/** Each is somewhere in the cluster, and may be nowhere in a bundle. */
const CANARIES = {
  userData: 'canary-userdata-5f2k',
  password: 'canary-password-7d1m',
  env: 'canary-environment-3h8',
  header: 'canary-header-value-2k',
  file: 'canary-file-content-9x',
  flag: 'canary-flag-word-4t6q',
  variable: 'canary-variable-of-play',
  override: 'canary-override-value',
  mergedOverride: 'canary-merged-override',
  mergedItem: 'canary-merged-in-an-item',
  template: 'canary-annotation-of-template',
  word: 'canary-word-of-command',
  argument: '--opt=canary-argument-5v',
  neighbour: 'canary-of-a-neighbour-pod',
  foreignPolicy: 'canary-policy-of-a-lab-7c',
  user: 'canary-url-user-8s3',
  query: 'canary-url-query-6w',
  secret: 'canary-in-a-secret-1p',
  applied: 'canary-last-applied-0z',
  configMap: 'canary-config-map-data',
  event: 'canary-environment-3h8',
} as const

let bench: OtBench
beforeEach(() => {
  bench = new OtBench()
  bench.client.put({
    apiVersion: 'pelotech.ot/v1alpha1',
    kind: 'Workspace',
    metadata: {
      name: 'lab-1',
      uid: 'lab-uid',
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': `{"x":"${CANARIES.applied}"}` },
    },
    spec: {
      vms: [
        {
          name: 'kali',
          userData: `#cloud-config\nhidden: ${CANARIES.userData}`,
          users: [{ name: 'me', plain_text_passwd: CANARIES.password }],
          overrides: { spec: { x: CANARIES.override } },
          ansible: { variables: { any: CANARIES.variable } },
        },
      ],
      containerClusters: [
        {
          name: 'web',
          containers: [
            {
              name: 'web',
              image: 'nginx:kept-tag',
              args: ['--requirepass', CANARIES.flag],
              env: [{ name: 'WHATEVER', value: CANARIES.env }],
              files: [{ path: '/etc/web.conf', content: CANARIES.file }],
              probes: { liveness: { httpGet: { httpHeaders: [{ name: 'X-Any', value: CANARIES.header }] } } },
            },
          ],
        },
      ],
    },
    status: { phase: 'Failed', message: `refused: env[0].value "${CANARIES.env}" of args ${CANARIES.flag}` },
  } as unknown as KubeObject)
  bench.client.put({
    apiVersion: 'pelotech.ot/v1alpha1',
    kind: 'VMDiskImage',
    metadata: { namespace: 'farm', name: 'kali' },
    spec: { url: `https://${CANARIES.user}:x@images.example/kali.qcow2?sig=${CANARIES.query}`, sourceType: 'http' },
    status: { message: `cannot fetch https://images.example/kali.qcow2?sig=${CANARIES.query}` },
  } as unknown as KubeObject)
  const ofLab = { 'pelotech.ot/workspace-uid': 'lab-uid' }
  bench.client.put({
    ...{ apiVersion: 'v1', kind: 'ConfigMap', data: { 'web.0': CANARIES.configMap } },
    metadata: { namespace: 'lab-1', name: 'web-files', labels: ofLab },
  } as KubeObject)
  bench.client.put({
    ...{ apiVersion: 'v1', kind: 'ConfigMap', data: { concurrency: CANARIES.foreignPolicy } },
    metadata: { namespace: 'lab-1', name: 'sync-operator-x', labels: ofLab },
  } as KubeObject)
  const paths = 'template.spec.nodeSelector.a.b/c,template.spec.containers[web].lifecycle,template.spec.hostAliases'
  bench.client.put({
    ...{ apiVersion: 'apps/v1', kind: 'Deployment' },
    metadata: {
      ...{ namespace: 'lab-1', name: 'web', labels: ofLab },
      annotations: { 'pelotech.ot/overrides': paths },
    },
    spec: {
      replicas: 1,
      template: {
        metadata: { annotations: { 'example.org/any': CANARIES.template, 'pelotech.ot/hosts': 'kept-hash' } },
        spec: {
          nodeSelector: { 'a.b/c': CANARIES.mergedOverride, 'kept-label': 'kept-value' },
          hostAliases: [{ ip: '10.0.0.1', hostnames: [CANARIES.mergedOverride] }],
          containers: [
            {
              ...{ name: 'web', lifecycle: { postStart: { exec: { path: CANARIES.mergedItem } } } },
              command: ['/bin/kept-program', '--kept-flag', CANARIES.word],
              args: [CANARIES.argument, '-c', `echo ${CANARIES.word}`],
            },
          ],
        },
      },
    },
  } as unknown as KubeObject)
  const merged = { nodeSelector: { 'a.b/c': CANARIES.mergedOverride, 'kept-label': 'kept-in-pod' } }
  bench.client.put({
    ...{ apiVersion: 'v1', kind: 'Pod', spec: merged },
    metadata: { namespace: 'lab-1', name: 'web-1', labels: ofLab },
  } as unknown as KubeObject)
  bench.client.put({
    ...{ apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachineInstance', spec: merged },
    metadata: { namespace: 'lab-1', name: 'kali', labels: ofLab },
  } as unknown as KubeObject)
  bench.client.put({
    ...{ apiVersion: 'v1', kind: 'Pod', spec: { hostname: CANARIES.neighbour } },
    metadata: { namespace: 'sync-operator', name: 'neighbour' },
  } as unknown as KubeObject)
  bench.client.put({
    ...{ apiVersion: 'apps/v1', kind: 'Deployment', spec: { paused: CANARIES.neighbour } },
    metadata: { namespace: 'sync-operator', name: 'neighbour' },
  } as unknown as KubeObject)
  bench.client.put({
    ...{ apiVersion: 'v1', kind: 'Pod', spec: { hostname: 'kept-operator-pod' } },
    metadata: {
      ...{ namespace: 'sync-operator', name: 'operator-1' },
      labels: { 'app.kubernetes.io/name': 'open-terrain-operator' },
    },
  } as unknown as KubeObject)
  bench.client.put({
    ...{ apiVersion: 'v1', kind: 'Secret', data: { password: Buffer.from(CANARIES.secret).toString('base64') } },
    metadata: { namespace: 'lab-1', name: 'login', labels: ofLab },
  } as KubeObject)
  bench.client.put({
    ...{ apiVersion: 'v1', kind: 'ConfigMap', data: { concurrency: '7' } },
    metadata: { namespace: 'sync-operator', name: 'sync-operator-policy' },
  } as KubeObject)
  bench.client.put({
    ...{ apiVersion: 'v1', kind: 'Event', reason: 'Failed', message: `container says ${CANARIES.event}` },
    ...{ involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace: 'lab-1', name: 'web' } },
    metadata: { namespace: 'lab-1', name: 'web.1' },
  } as unknown as KubeObject)
  bench.answers.set('/version', '{"gitVersion":"v1.36.0"}')
})

/** Writes a bundle, and returns its files as tar unpacks them. */
async function bundled(): Promise<Map<string, string>> {
  expect(await bench.ot('bundle', '-o', 'report.tar.gz')).toBe(EXIT_CODES.done)
  const folder = mkdtempSync(join(tmpdir(), 'ot-bundle-'))
  try {
    writeFileSync(join(folder, 'it.tar.gz'), bench.written.get('report.tar.gz') ?? '')
    execFileSync('tar', ['-xzf', 'it.tar.gz'], { cwd: folder })
    rmSync(join(folder, 'it.tar.gz'))
    const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
    const paths = names.map((one) => join(one.parentPath, one.name))
    return new Map(paths.map((path) => [path.slice(folder.length + 1), readFileSync(path, 'utf8')]))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describe('ot bundle', () => {
  it('has what a report needs, and nothing that is secret', async () => {
    const files = await bundled()
    const all = [...files.values()].join('\n')
    for (const canary of Object.values(CANARIES)) {
      expect(all).not.toContain(canary)
      expect(all).not.toContain(Buffer.from(canary).toString('base64').slice(0, -4))
    }
    expect(files.get('objects/workspaces.json')).toContain('nginx:kept-tag')
    expect(files.get('objects/workspaces.json')).toContain('/etc/web.conf')
    expect(files.get('objects/vmdiskimages.json')).toMatch(/images\.example\/kali\.qcow2/)
    expect(files.get('operator/configmaps.json')).toContain('"concurrency": "7"')
    expect(files.get('events.json')).toContain('container says …')
    expect(files.get('cluster/version.json')).toContain('v1.36.0')
    expect(files.get('children/configmaps.json')).toContain('"web.0": "…"')
    for (const kept of ['kept-value', 'kept-hash', '/bin/kept-program', '--kept-flag', '"-c"'])
      expect(files.get('children/deployments.apps.json')).toContain(kept)
    expect(files.get('children/pods.json')).toContain('kept-in-pod')
    expect(files.get('children/virtualmachineinstances.kubevirt.io.json')).toContain('kept-in-pod')
    expect(files.get('operator/pods.json')).toContain('kept-operator-pod')
  })

  it('never reads a Secret, and says what it could not read', async () => {
    bench.client.before = ({ kind, verb }) => {
      if (kind === 'DataSync') throw apiError('Rejected', { message: 'you may not list datasyncs' })
      if (!['get', 'list'].includes(verb)) throw new Error(`it only reads: ${verb}`)
    }
    const files = await bundled()
    const manifest = JSON.parse(files.get('manifest.json') ?? '') as { unread: { what: string; why: string }[] }
    expect(manifest.unread).toContainEqual({ what: 'objects/datasyncs.json', why: 'you may not list datasyncs' })
    expect(bench.told).toContain('not in it: objects/datasyncs.json: you may not list datasyncs\n')
    expect(bench.client.calls.filter(({ kind }) => kind === 'Secret')).toEqual([])
  })

  it('ends where nothing answers, and writes nothing', async () => {
    bench.client.before = () => {
      throw apiError('NoAnswer', { message: 'connection refused' })
    }
    expect(await bench.ot('bundle', '-o', 'report.tar.gz')).toBe(EXIT_CODES.failed)
    expect(bench.told).toBe('ot: connection refused\n')
    expect(bench.client.calls).toHaveLength(1)
    expect(bench.written.size).toBe(0)
  })

  it('does not write over another file', async () => {
    bench.written.set('report.tar.gz', new Uint8Array())
    expect(await bench.ot('bundle', '-o', 'report.tar.gz')).toBe(EXIT_CODES.failed)
    expect(bench.told).toContain('EEXIST')
  })
})

describe('ot completion', () => {
  const words = async (...typed: string[]) => {
    expect(await bench.ot('__complete', ...typed)).toBe(EXIT_CODES.done)
    return bench.printed.split('\n').slice(0, -1)
  }

  it('knows commands, options, their values, and names of labs', async () => {
    expect(await words('re')).toEqual(['rebuild', 'refresh', 'reset', 'restore', 'resume', 'retry'])
    expect(await words('stop', '')).toEqual(['lab-1'])
    expect(await words('stop', '--t')).toEqual(['--timeout'])
    expect(await words('labs', '-o', 'w')).toEqual(['wide'])
    expect(await words('completion', '')).toEqual(['bash', 'fish', 'zsh'])
    expect(await words('nothing', '')).toEqual([])
  })

  it('knows the options of the cluster, and asks that cluster', async () => {
    expect(await words('--context', 'x', 'sto')).toEqual(['stop'])
    expect(await words('stop', '--context', 'staging', '')).toEqual(['lab-1'])
    expect(bench.cluster).toEqual({ context: 'staging' })
    expect(await words('--kubeconfig=here', 'stop', '')).toEqual(['lab-1'])
    expect(bench.cluster).toEqual({ kubeconfig: 'here' })
    expect(await words('stop', '--context', '')).toEqual([])
  })

  it('says nothing where labs may not be listed', async () => {
    bench.client.before = () => {
      throw apiError('Rejected', { message: 'you may not' })
    }
    expect(await words('stop', '')).toEqual([])
    expect(bench.told).toBe('')
  })

  it.each(['bash', 'zsh', 'fish'])('has a script for %s', async (shell) => {
    expect(await bench.ot('completion', shell)).toBe(EXIT_CODES.done)
    expect(bench.printed).toContain('ot __complete')
  })

  it('completes command lines in a real bash', () => {
    const script = execFileSync(process.execPath, [join(import.meta.dirname, '../main.ts'), 'completion', 'bash'])
    const ask = `ot() { printf '%s\\n' "$@"; }\n${script}COMP_WORDS=(ot stop la); COMP_CWORD=2; _ot; echo "\${COMPREPLY[@]}"`
    expect(execFileSync('bash', ['-c', ask], { encoding: 'utf8' })).toBe('__complete stop la\n')
  })

  it('is silent where nobody reads what is printed', () => {
    const main = join(import.meta.dirname, '../main.ts')
    const ask = `"${process.execPath}" "${main}" --help 2>&1 >&3 3>&- | cat`
    expect(execFileSync('bash', ['-c', `{ ${ask}; } 3> >(exec 0<&-)`], { encoding: 'utf8' })).toBe('')
  })
})
