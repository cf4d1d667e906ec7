import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { POLICY_DEFAULTS } from '@open-terrain/constructs/operator'
import { beforeEach, describe, expect, it } from 'vitest'
import type { KubeObject, ObjectKey, ResourceType } from '../../operator/kube/kube-object.ts'
import { mergePatched } from '../../sandbox/memory-cluster/json.ts'
import { OtBench } from '../../test/prepared/cli/ot-bench.ts'
import { apiError } from '../../test/prepared/kube/api-error.ts'
import { EXIT_CODES } from '../exit-codes.ts'
import { differenceOf } from './difference.ts'
import { planFreshLab } from './plan-lab.ts'

const ROOT = join(import.meta.dirname, '../..')
const API = 'apiVersion: pelotech.ot/v1alpha1'

let bench: OtBench
beforeEach(() => {
  bench = new OtBench()
})

const plan = (text: string, ...more: string[]) => {
  bench.files.set('-', text)
  return bench.ot('plan', '-f', '-', ...more)
}
const names = () => bench.printed.trimEnd().split('\n')
const objects = () => (JSON.parse(bench.printed) as { items: (KubeObject & { spec: never })[] }).items

const LAB = `
${API}
kind: Workspace
metadata: { name: lab-1 }
spec:
  networks: [{ name: inside, cidr: 10.10.0.0/24 }]
  vms:
    - name: kali
      backingVMDiskImage: kali
      resources: { cpu: 1, memory: 1Gi }
      users: [{ name: me, passwordSecretRef: { name: login, key: password } }]
      interfaces: [{ network: inside, ipAddress: 10.10.0.5/24 }]
  containerClusters:
    - name: web
      dependsOn: [kali]
      containers: [{ name: web, image: nginx }]
`

describe('ot plan', () => {
  it('has the machines of a lab with their children, and says what was taken for granted', async () => {
    expect(await plan(LAB, '-o', 'name')).toBe(EXIT_CODES.done)
    expect(names()).toEqual(
      expect.arrayContaining([
        'workspace.pelotech.ot/lab-1',
        'namespace/lab-1',
        'networkattachmentdefinition.k8s.cni.cncf.io/inside -n lab-1',
        'virtualmachine.pelotech.ot/kali -n lab-1',
        'secret/kali-cloudinit -n lab-1',
        'datavolume.cdi.kubevirt.io/kali-root -n lab-1',
        'virtualmachine.kubevirt.io/kali -n lab-1',
        'deployment.apps/web -n lab-1',
      ]),
    )
    expect(new Set(names()).size).toBe(names().length)
    expect(bench.told).toContain('image vmdi-farm/kali is taken for Ready\n')
    expect(bench.client.calls).toEqual([])
  })

  it('takes images that are named for Ready, and the policy of the file or of --set', async () => {
    const policy =
      'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: sync-operator-policy }\ndata: { imageNamespace: golden }'
    const image = ['--image', 'golden/kali=33Gi', '-o', 'json']
    expect(await plan(`${policy}\n---${LAB}`, ...image)).toBe(EXIT_CODES.done)
    const disk = () => objects().find(({ metadata }) => metadata.name === 'kali-root')
    expect(JSON.stringify(disk()?.spec)).toContain('"namespace":"golden"')
    expect(bench.told).not.toContain('is taken for Ready')
    expect(await plan(LAB, '--set', 'imageNamespace=other', '-o', 'json')).toBe(EXIT_CODES.done)
    expect(JSON.stringify(disk()?.spec)).toContain('"namespace":"other"')
    expect(await plan(LAB, '--set', 'concurrency=many')).toBe(EXIT_CODES.usage)
  })

  it('has what an image becomes, and the images of a DataSync', async () => {
    const source = 'sourceType: http, diskSize: 10Gi, snapshotClass: snap'
    const vms = `[{ name: attacker, url: "https://images.example/a.qcow2" }]`
    const sync = `${API}\nkind: DataSync\nmetadata: { name: net }\nspec: { workspaceId: "035", ${source}, vms: ${vms} }`
    expect(await plan(sync, '-o', 'name', '-n', 'farm')).toBe(EXIT_CODES.done)
    expect(names()).toEqual([
      'datasync.pelotech.ot/net -n farm',
      'vmdiskimage.pelotech.ot/035-attacker -n farm',
      expect.stringMatching(/^datavolume\.cdi\.kubevirt\.io\/035-attacker-\w{8} -n farm$/),
      expect.stringMatching(/^volumesnapshot\.snapshot\.storage\.k8s\.io\/035-attacker-\w{8} -n farm$/),
      'datasource.cdi.kubevirt.io/035-attacker -n farm',
    ])
  })

  it.each(globSync('examples/*.yaml', { cwd: ROOT }))('plans %s', async (file) => {
    const text = readFileSync(join(ROOT, file), 'utf8')
    const isOurs = /^apiVersion: "?pelotech\.ot\//m.test(text)
    expect(await plan(text, '-o', 'name')).toBe(isOurs ? EXIT_CODES.done : EXIT_CODES.notFound)
    expect(bench.told).not.toMatch(/ is (Queued|Failed|Provisioning):/)
  })

  it('gives every problem of a manifest that is refused, with its field', async () => {
    const bad = `
${API}
kind: Workspace
metadata: { name: lab-1 }
spec: { networks: [{ name: inside, cidr: nowhere }], machines: [] }
---
${API}
kind: VMDiskImage
metadata: {}
spec: { url: 7 }
---
${API}
kind: Workspace
metadata: { name: lab-2 }
spec: { vms: [{ name: kali, backingVMDiskImage: kali, resources: { cpu: 1, memory: 1Gi, memroy: 2Gi } }] }
`
    expect(await plan(bad)).toBe(EXIT_CODES.failed)
    expect(bench.printed).toBe('')
    expect(bench.told).toMatch(/^ot: standard input: Workspace\/lab-1: spec\.networks\[0\]\.cidr: /m)
    expect(bench.told).toMatch(/^ot: standard input: VMDiskImage\/number 2 of the file: metadata\.name: is required$/m)
    expect(bench.told).toMatch(/^ot: standard input: VMDiskImage\/number 2 of the file: spec\.url: /m)
    expect(bench.told).toContain('Workspace/lab-2: spec.vms[0].resources.memroy: is no field of this kind')
    expect(await plan('a: [')).toBe(EXIT_CODES.failed)
    expect(await bench.ot('plan', '-f', 'none.yaml')).toBe(EXIT_CODES.failed)
    expect(await bench.ot('plan')).toBe(EXIT_CODES.usage)
  })
})

describe('a difference', () => {
  const deployment = (spec: object, annotations: object = {}) =>
    ({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', annotations }, spec }) as KubeObject
  const wanted = deployment({ replicas: 1, template: { spec: { containers: [{ name: 'web', image: 'nginx:2' }] } } })
  const container = { name: 'web', image: 'nginx:1', imagePullPolicy: 'Always' }
  const live = deployment({ replicas: 1, paused: false, template: { spec: { containers: [container] } } })

  it('names the fields that are others, and not what others have added', () => {
    expect(differenceOf(wanted, live)).toEqual({
      effect: 'change',
      fields: ['spec.template.spec.containers[0].image'],
    })
    expect(differenceOf(wanted, undefined).effect).toBe('create')
    expect(differenceOf(live, live).effect).toBe('none')
  })

  it('is none where the mark says that the same was rendered', () => {
    const mark = { 'pelotech.ot/rendered': 'abc' }
    expect(differenceOf(deployment({ replicas: 1 }, mark), deployment({ replicas: 2 }, mark)).effect).toBe('none')
  })

  it('knows quantities, keeps what has data, and says nothing of the content of a Secret', () => {
    const claim = (storage: string) =>
      ({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'data' }, spec: { storage } }) as KubeObject
    expect(differenceOf(claim('1Gi'), claim('1024Mi')).effect).toBe('none')
    expect(differenceOf(claim('2Gi'), claim('1Gi'))).toEqual({ effect: 'keep', fields: ['spec.storage'] })
    const secret = (text: string) =>
      ({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { text } }) as unknown as KubeObject
    expect(differenceOf(secret('a'), secret('b')).effect).toBe('none')
  })
})

/** The API server in memory has no dry run. */
function answerDryRuns({ client }: OtBench): void {
  client.create = async (_type, object) => ({ ...object, spec: { ...(object as never as { spec: object }).spec } })
  client.mergePatch = async <T extends KubeObject>(type: ResourceType, key: ObjectKey, patch: object) =>
    mergePatched(await client.get(type, key), patch) as T
}

describe('ot plan --diff', () => {
  const live = (spec: object, more: object = {}) =>
    ({
      ...{ apiVersion: 'pelotech.ot/v1alpha1', kind: 'Workspace', spec },
      metadata: { name: 'lab-1', uid: 'lab-uid', generation: 1, ...more },
    }) as KubeObject
  const diff = (spec: object, ...more: string[]) => plan(JSON.stringify(live(spec)), '--diff', ...more)
  const owned = (kind: string, apiVersion: string, name: string, more: object = {}) =>
    bench.client.put({
      ...{ apiVersion, kind, ...more },
      metadata: {
        ...{ namespace: 'lab-1', name, labels: { 'pelotech.ot/workspace-uid': 'lab-uid' } },
        ownerReferences: [
          { apiVersion: 'pelotech.ot/v1alpha1', kind: 'Workspace', name: 'lab-1', uid: 'lab-uid', controller: true },
        ],
        ...(more as { metadata?: object }).metadata,
      },
    } as never as KubeObject)
  const networks = [{ name: 'inside', cidr: '10.10.0.0/24' }]
  beforeEach(() => answerDryRuns(bench))

  it('says what is unknown, and ends where there is no answer', async () => {
    bench.client.put(live({ networks }))
    owned('Service', 'v1', 'old')
    expect(await diff({ networks })).toBe(EXIT_CODES.done)
    expect(bench.printed).toMatch(/^deleted +Service lab-1\/old/m)
    let reason: 'Rejected' | 'NoAnswer' = 'Rejected'
    bench.client.before = ({ verb, kind }) => {
      if (verb === 'list' && ['Service', 'PersistentVolume'].includes(kind))
        throw apiError(reason, { message: `you may not list ${kind}` })
    }
    expect(await diff({ networks })).toBe(EXIT_CODES.done)
    expect(bench.printed).toMatch(/^unknown +Service lab-1\/\* +you may not list Service$/m)
    expect(bench.printed).toMatch(/^unknown +PersistentVolume \* +you may not list PersistentVolume$/m)
    reason = 'NoAnswer'
    expect(await diff({ networks })).toBe(EXIT_CODES.failed)
    expect(bench.printed).toBe('')
  })

  it('goes on where a machine of the lab may not be read', async () => {
    const resources = { cpu: 1, memory: '1Gi' }
    bench.client.put(live({ networks }))
    bench.client.before = ({ verb, kind, key }) => {
      if (verb === 'get' && kind === 'VirtualMachine' && key === 'lab-1/kali')
        throw apiError('Rejected', { message: 'you may not get it' })
    }
    const vms = [{ name: 'kali', backingVMDiskImage: 'kali', resources, interfaces: [{ network: 'inside' }] }]
    expect(await diff({ networks, vms })).toBe(EXIT_CODES.done)
    expect(bench.printed).toMatch(/^unknown +VirtualMachine lab-1\/kali +you may not get it$/m)
  })

  it('sees what the file has no more', async () => {
    bench.client.put(live({ networks, expiresAt: '2030-01-01T00:00:00Z', vms: [] }))
    expect(await diff({ networks, expiresAt: null })).toBe(EXIT_CODES.done)
    expect(bench.printed).toMatch(/^changed +Workspace lab-1 +spec.expiresAt \(not in the file\)$/m)
    expect(await diff({ networks }, '-o', 'json')).toBe(EXIT_CODES.done)
    expect(JSON.parse(bench.printed)).toContainEqual(
      expect.objectContaining({ kind: 'Workspace', fields: ['spec.expiresAt'], removed: ['spec.expiresAt'] }),
    )
  })

  it('keeps what a restore has made, and the claim of before', async () => {
    const claims = { data: { claim: 'data-0123abcd', replaced: 'data', at: '2026-01-01T00:00:00Z' } }
    const restored = { annotations: { 'pelotech.ot/volume-claims': JSON.stringify(claims) } }
    const spec = { volumes: [{ name: 'data', size: '1Gi' }] }
    bench.client.put(live(spec, restored))
    const claim = { spec: { resources: { requests: { storage: '1Gi' } } } }
    owned('PersistentVolumeClaim', 'v1', 'data', claim)
    const labels = { 'pelotech.ot/workspace-uid': 'lab-uid', 'pelotech.ot/volume': 'data' }
    const owner = { apiVersion: 'pelotech.ot/v1alpha1', kind: 'Workspace', name: 'lab-1', uid: 'lab-uid' }
    owned('PersistentVolumeClaim', 'v1', 'data-0123abcd', {
      ...claim,
      metadata: { namespace: 'lab-1', name: 'data-0123abcd', labels, ownerReferences: [owner] },
    })
    owned('PersistentVolumeClaim', 'v1', 'other', claim)
    expect(await diff(spec)).toBe(EXIT_CODES.done)
    expect(bench.printed).toMatch(/^kept as it is +PersistentVolumeClaim lab-1\/data(?! *metadata)$/m)
    expect(bench.printed).toMatch(/^kept as it is +PersistentVolumeClaim lab-1\/data-0123abcd +metadata/m)
    expect(bench.printed).not.toMatch(/^deleted +PersistentVolumeClaim lab-1\/data/m)
    expect(bench.printed).toMatch(/^deleted +PersistentVolumeClaim lab-1\/other$/m)
  })

  it('knows what machines were asked for, and which disk they start from', async () => {
    const vms = [
      {
        ...{ name: 'kali', backingVMDiskImage: 'kali', interfaces: [{ network: 'inside' }] },
        resources: { cpu: 1, memory: '1Gi' },
      },
    ]
    const asked = { annotations: { 'pelotech.ot/reset-requested-at': 'today' } }
    const lab = { ...live({ networks, vms }, asked), status: { uncountedReset: 'none' } } as KubeObject
    bench.client.put(lab)
    const assumptions = { policy: POLICY_DEFAULTS, now: 0, images: new Map() }
    const planned = planFreshLab(lab, assumptions, { live: lab, children: [] }).objects
    const machine = planned.find(({ kind }) => kind === 'VirtualMachine') as KubeObject
    expect(machine.metadata.annotations).toMatchObject({ 'pelotech.ot/reset-requested-at': 'today' })
    bench.client.put({
      ...machine,
      metadata: { ...machine.metadata, uid: 'vm-uid', generation: 1 },
      status: { clone: { name: 'kali-root-g2' } },
    } as KubeObject)
    const owner = {
      apiVersion: 'pelotech.ot/v1alpha1',
      kind: 'VirtualMachine',
      name: 'kali',
      uid: 'vm-uid',
      controller: true,
    }
    bench.client.put({
      ...{ apiVersion: 'cdi.kubevirt.io/v1beta1', kind: 'DataVolume', spec: {} },
      metadata: { namespace: 'lab-1', name: 'kali-root-g2', ownerReferences: [owner] },
    } as never as KubeObject)
    expect(await diff({ networks, vms })).toBe(EXIT_CODES.done)
    expect(bench.printed).not.toMatch(/^created +DataVolume lab-1/m)
    expect(bench.printed).not.toMatch(/^changed +VirtualMachine lab-1\/kali/m)
  })

  it('makes no root disk for a machine that was restored to a claim of its own', async () => {
    const resources = { cpu: 1, memory: '1Gi' }
    const vms = [{ name: 'kali', backingVMDiskImage: 'kali', interfaces: [{ network: 'inside' }], resources }]
    const lab = live({ networks, vms })
    bench.client.put(lab)
    const assumptions = { policy: POLICY_DEFAULTS, now: 0, images: new Map() }
    const planned = planFreshLab(lab, assumptions, { live: lab, children: [] }).objects
    const machine = planned.find(({ kind }) => kind === 'VirtualMachine') as KubeObject
    const stored = { ...machine, metadata: { ...machine.metadata, uid: 'vm-uid', generation: 1 } }
    bench.client.put({ ...stored, status: { clone: { name: 'kali-root' } } } as KubeObject)
    await diff({ networks, vms })
    expect(bench.printed).toMatch(/^created +DataVolume lab-1\/kali-root/m)
    const before = bench.printed.length
    const status = { clone: { name: 'kali-root' }, restoredClaim: 'restore-1-rootdisk' }
    bench.client.put({ ...stored, status } as KubeObject)
    await diff({ networks, vms })
    expect(bench.printed.slice(before)).not.toMatch(/^created +DataVolume lab-1\/kali-root/m)
  })
})
