import { beforeEach, describe, expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { OtRunner } from '../../test/prepared/cli/ot-runner.ts'
import { apiError } from '../../test/prepared/kube/api-error.ts'
import { EXIT_CODES } from '../exit-codes.ts'

const OURS = 'pelotech.ot/v1alpha1'
const OF_LAB = { 'pelotech.ot/workspace-uid': 'uid-lab-1' }

let ot: OtRunner
beforeEach(() => {
  ot = new OtRunner()
  put(OURS, 'Workspace', 'lab-1', undefined, {
    spec: {},
    status: { phase: 'Provisioning', reason: 'VirtualMachinePending' },
  })
  const ref = { vmDiskImageRef: { namespace: 'images', name: 'kali' } }
  const waits = { phase: 'Provisioning', reason: 'Starting', message: 'KubeVirt is starting it' }
  put(OURS, 'VirtualMachine', 'lab-1/web', 'uid-lab-1', { spec: ref, status: waits })
  put(OURS, 'VMDiskImage', 'images/kali', undefined, { spec: {}, status: { phase: 'Succeeded', reason: 'Synced' } })
  put('cdi.kubevirt.io/v1beta1', 'DataVolume', 'lab-1/web-root', 'uid-lab-1/web', {
    spec: {},
    status: { phase: 'Succeeded' },
  })
  put('v1', 'PersistentVolumeClaim', 'lab-1/web-root', 'uid-lab-1/web-root', { spec: {}, status: { phase: 'Bound' } })
  put('kubevirt.io/v1', 'VirtualMachine', 'lab-1/web', 'uid-lab-1/web', {
    spec: {},
    status: { printableStatus: 'Starting' },
  })
  const pending = { spec: {}, status: { phase: 'Pending', reason: 'Unknown' } }
  put('v1', 'Pod', 'lab-1/virt-launcher-web', 'uid-kubevirt', pending)
  put('v1', 'Secret', 'lab-1/logins', 'uid-lab-1', { data: { password: 'c2VjcmV0' } })
  put('v1', 'Secret', 'lab-1/of-somebody-else', undefined, {})
  put(
    'apps/v1',
    'Deployment',
    'lab-1/app',
    'uid-lab-1',
    { spec: { replicas: 1 }, status: {} },
    { 'pelotech.ot/container-cluster': 'app' },
  )
  const crashing = { waiting: { reason: 'CrashLoopBackOff', message: 'back-off' } }
  put(
    'v1',
    'Pod',
    'lab-1/app-1',
    undefined,
    { spec: {}, status: { phase: 'Running', containerStatuses: [{ name: 'app', state: crashing }] } },
    { 'pelotech.ot/container-cluster': 'app' },
  )
})

function put(
  apiVersion: string,
  kind: string,
  key: string,
  owner: string | undefined,
  more: object,
  labels = {},
): void {
  const [namespace, name = namespace] = key.split('/')
  const isKubeVirt = apiVersion === 'kubevirt.io/v1'
  const uid = isKubeVirt ? 'uid-kubevirt' : `uid-${kind === 'PersistentVolumeClaim' ? 'claim-' : ''}${key}`
  const ownerReferences =
    owner === undefined ? [] : [{ apiVersion: OURS, kind: 'It', name: 'it', uid: owner, controller: true }]
  const metadata = {
    name,
    ...(key.includes('/') && { namespace }),
    uid,
    generation: 1,
    labels: { ...OF_LAB, ...labels },
    ownerReferences,
  }
  const isForeign = name === 'of-somebody-else'
  ot.client.put({
    apiVersion,
    kind,
    metadata: isForeign ? { namespace, name } : metadata,
    ...more,
  } as unknown as KubeObject)
}

describe('ot tree', () => {
  it('shows the objects of a lab, each with its state, and the images that they name', async () => {
    expect([await ot.run('tree', 'lab-1'), ot.told]).toEqual([EXIT_CODES.done, ''])
    expect(ot.printed).toMatchInlineSnapshot(`
      "OBJECT                                    STATE                                 MESSAGE
      Workspace lab-1                           Provisioning, VirtualMachinePending
      ├─ Namespace lab-1                        Active
      ├─ VirtualMachine web                     Provisioning, Starting                KubeVirt is starting it
      │  ├─ VMDiskImage images/kali (image)     Succeeded, Synced
      │  ├─ VirtualMachine.kubevirt.io web      Starting
      │  │  └─ Pod virt-launcher-web            Pending                               Unknown
      │  └─ DataVolume web-root                 Succeeded
      │     └─ PersistentVolumeClaim web-root   Bound
      ├─ Deployment app                         0/1
      │  └─ Pod app-1                           Running                               container app: CrashLoopBackOff: back-off
      └─ Secret logins
      "
    `)
  })

  it('is data for programs, without the content of Secrets', async () => {
    expect(await ot.run('tree', 'lab-1', '-o', 'json')).toBe(EXIT_CODES.done)
    expect(ot.printed).not.toContain('c2VjcmV0')
    expect(JSON.parse(ot.printed).tree).toMatchObject({ kind: 'Workspace', name: 'lab-1', isWell: false })
    ot.printed = ''
    expect(await ot.run('tree', 'lab-1', '-o', 'name')).toBe(EXIT_CODES.done)
    expect(ot.printed).toContain('virtualmachine.kubevirt.io/web\npod/virt-launcher-web\n')
  })

  it('says what the caller may not see, and shows the rest', async () => {
    ot.client.before = ({ kind, verb }) => {
      if (kind === 'Secret' || (kind === 'VMDiskImage' && verb === 'get'))
        throw apiError('Rejected', { status: 403, serverReason: 'Forbidden' })
    }
    expect(await ot.run('tree', 'lab-1')).toBe(EXIT_CODES.done)
    expect(ot.printed).toContain('Secret: not visible to you: needs list of secrets in lab-1\n')
    expect(ot.printed).toContain(
      'VMDiskImage images/kali: not visible to you: needs get of vmdiskimages.pelotech.ot in images\n',
    )
    expect(ot.printed).toContain('DataVolume web-root')
  })

  it('says what does not exist', async () => {
    expect(await ot.run('tree', 'lab-9')).toBe(EXIT_CODES.notFound)
  })
})
