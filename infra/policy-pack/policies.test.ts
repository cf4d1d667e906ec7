import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { INSTALLATION_PARTS, renderInstallation } from '@open-terrain/constructs/platform'
import type { ResourceValidationArgs } from '@pulumi/policy'
import { describe, expect, it } from 'vitest'
import { installationProps, parseConfig } from '../config.ts'
import { environmentsIn, readStackFile } from '../stack-files.ts'
import { POLICIES } from './policies.ts'
import type { ObjectProps } from './rules.ts'

const ROOT = join(import.meta.dirname, '../..')
const IMAGE = `registry.example/open-terrain/operator@sha256:${'a'.repeat(64)}`

interface Options {
  readonly type?: string
  readonly isProtected?: boolean
  readonly maximum?: number
  readonly mayPause?: boolean
}

/** Returns `policy: problem` for each problem that the pack reports about a resource, called as the engine would call it. */
function violations(props: ObjectProps, options: Options = {}): string[] {
  const {
    type = `kubernetes:${props.apiVersion}:${props.kind}`,
    isProtected = true,
    maximum = 32,
    mayPause = false,
  } = options
  const found: string[] = []
  for (const { name, validateResource } of POLICIES) {
    const args = { type, props, opts: { protect: isProtected }, getConfig: () => ({ maximum, mayPause }) }
    const rules = [validateResource].flat().filter((rule) => rule !== undefined)
    for (const rule of rules)
      void rule(args as unknown as ResourceValidationArgs, (text) => found.push(`${name}: ${text}`))
  }
  return found
}

const GOOD = {
  name: 'main',
  image: IMAGE,
  resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { memory: '1Gi' } },
  securityContext: { allowPrivilegeEscalation: false },
}

function pod(container: object, spec: object = {}): ObjectProps {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'a' },
    spec: { containers: [{ ...GOOD, ...container }], ...spec },
  }
}

function policyOf(data: Record<string, string>): ObjectProps {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'sync-operator-policy' }, data }
}

const CRD = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name: 'a.b' } }

describe('the policy pack', () => {
  it.each(environmentsIn(ROOT))(
    'has nothing against what the stack %s registers, but for CRDs that it does not protect',
    (stack) => {
      const config = parseConfig({ ...readStackFile(ROOT, stack), image: IMAGE })
      const installation = renderInstallation(installationProps(config))
      const objects = INSTALLATION_PARTS.flatMap((part) => installation[part]) as readonly ObjectProps[]
      const found = objects.flatMap((one) => violations(one, { isProtected: config.protect }))
      expect(found.filter((text) => !text.startsWith('crds-protected: '))).toEqual([])
      const crds = installation.crds.filter(({ kind }) => kind === 'CustomResourceDefinition')
      expect(found.length).toBe(config.protect ? 0 : crds.length)
    },
  )

  it.each<[string, ObjectProps, Options]>([
    ['a good pod', pod({}), {}],
    ['a policy', policyOf({ concurrency: '8' }), {}],
    ['a policy of defaults', policyOf({}), {}],
    ['a pause that is declared', policyOf({ concurrency: '0' }), { mayPause: true }],
    ['another ConfigMap', { ...policyOf({ concurrency: '0' }), metadata: { name: 'other' } }, {}],
    ['a protected CRD', CRD, {}],
    ['resources of other providers', { kind: 'Pod', spec: {} }, { type: 'aws:s3/bucket:Bucket' }],
  ])('takes %s', (_, props, options) => {
    expect(violations(props, options)).toEqual([])
  })

  it.each<[string, ObjectProps, string, Options?]>([
    [
      'an image of latest',
      pod({ image: 'registry.example/a:latest' }),
      'images-pinned: container main: image "registry.example/a:latest" must be pinned',
    ],
    [
      'an image without a registry',
      pod({ image: 'a:1.0.0' }),
      'images-pinned: container main: image "a:1.0.0" must name its registry',
    ],
    [
      'an image of an init container',
      pod({}, { initContainers: [{ ...GOOD, name: 'first', image: 'a' }] }),
      'images-pinned: container first: ',
    ],
    [
      'an image of a Deployment',
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        spec: { template: { spec: { containers: [{ ...GOOD, image: 'a' }] } } },
      },
      'images-pinned: container main: ',
    ],
    [
      'an image of a CronJob',
      {
        apiVersion: 'batch/v1',
        kind: 'CronJob',
        spec: { jobTemplate: { spec: { template: { spec: { containers: [{ ...GOOD, image: 'a' }] } } } } },
      },
      'images-pinned: container main: ',
    ],
    [
      'an image of a Workspace',
      {
        apiVersion: 'pelotech.ot/v1alpha1',
        kind: 'Workspace',
        spec: { containerClusters: [{ containers: [{ name: 'web', image: 'web' }] }] },
      },
      'images-pinned: container web: ',
    ],
    [
      'memory without a limit',
      pod({ resources: { requests: GOOD.resources.requests } }),
      'limits-set: container main: resources.limits.memory is not set',
    ],
    [
      'CPU that nobody requests',
      pod({ resources: { ...GOOD.resources, requests: { memory: '1Gi' } } }),
      'limits-set: container main: resources.requests.cpu is not set',
    ],
    [
      'a privileged container',
      pod({ securityContext: { privileged: true } }),
      'no-privileges: container main is privileged',
    ],
    [
      'privileges that may grow',
      pod({ securityContext: {} }),
      'no-privileges: container main: set securityContext.allowPrivilegeEscalation to false',
    ],
    [
      'a folder of the node',
      pod({}, { volumes: [{ name: 'etc', hostPath: { path: '/etc' } }] }),
      'no-privileges: volume etc is a hostPath',
    ],
    ['the network of the node', pod({}, { hostNetwork: true }), 'no-privileges: hostNetwork is true'],
    ['a pause by mistake', policyOf({ concurrency: '0' }), 'concurrency: concurrency: 0 starts no download'],
    ['too many downloads', policyOf({ concurrency: '33' }), 'concurrency: concurrency: 33 is more than 32'],
    [
      'a policy that the operator refuses',
      policyOf({ concurrency: 'many' }),
      'concurrency: concurrency: "many" must be a whole number',
    ],
    [
      'a CRD that is not protected',
      CRD,
      'crds-protected: CustomResourceDefinition a.b is not protected',
      { isProtected: false },
    ],
  ])('refuses %s', (_, props, problem, options) => {
    expect(violations(props, options)).toEqual([expect.stringContaining(problem)])
  })

  it('is loaded and served by the runner of Pulumi', async () => {
    const runner = createRequire(import.meta.url).resolve('@pulumi/pulumi/cmd/run-policy-pack')
    const pack = import.meta.dirname
    // A separate process, as the engine starts it: Node alone loads the TypeScript of the pack.
    const child = spawn(process.execPath, [runner, '127.0.0.1:1', pack], {
      cwd: pack,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let errors = ''
    child.stderr.on('data', (chunk) => {
      errors += String(chunk)
    })
    try {
      const { value: line } = await createInterface(child.stdout)[Symbol.asyncIterator]().next()
      expect(line, errors).toMatch(/^\d+$/)
      const { policies } = await describePack(Number(line))
      expect(policies).toEqual(POLICIES.map(({ name }) => name))
    } finally {
      child.kill()
    }
  })
})

/** Asks the served pack to describe itself, which is the first request of the engine. */
async function describePack(port: number): Promise<{ policies: string[] }> {
  // Packages that Pulumi communicates with. We do not depend on them.
  const fromPulumi = createRequire(createRequire(import.meta.url).resolve('@pulumi/pulumi'))
  const { AnalyzerClient } = fromPulumi('./proto/analyzer_grpc_pb.js') as {
    AnalyzerClient: new (
      address: string,
      credentials: unknown,
    ) => {
      getAnalyzerInfo(request: unknown, answer: (error: Error | null, info: AnalyzerInfo) => void): void
      close(): void
    }
  }
  const { Empty } = fromPulumi('google-protobuf/google/protobuf/empty_pb.js') as { Empty: new () => unknown }
  const { credentials } = fromPulumi('@grpc/grpc-js') as { credentials: { createInsecure(): unknown } }
  const client = new AnalyzerClient(`127.0.0.1:${port}`, credentials.createInsecure())
  try {
    return await new Promise((resolve, reject) => {
      client.getAnalyzerInfo(new Empty(), (error, info) => {
        if (error) reject(error)
        else resolve({ policies: info.getPoliciesList().map((one) => one.getName()) })
      })
    })
  } finally {
    client.close()
  }
}

interface AnalyzerInfo {
  getPoliciesList(): readonly { getName(): string }[]
}
