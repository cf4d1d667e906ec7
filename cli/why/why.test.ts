import { beforeEach, describe, expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { OtRunner } from '../../test/prepared/cli/ot-runner.ts'
import { apiError } from '../../test/prepared/kube/api-error.ts'
import { EXIT_CODES } from '../exit-codes.ts'

const OURS = 'pelotech.ot/v1alpha1'
const SINCE = '2025-12-31T23:57:00Z'

let ot: OtRunner
beforeEach(() => {
  ot = new OtRunner()
})

interface Told {
  readonly phase: string
  readonly reason: string
  readonly message?: string
}

function put(kind: string, key: string, more: object, apiVersion = OURS): void {
  const [namespace, name = namespace] = key.split('/')
  const metadata = { name, ...(key.includes('/') && { namespace }), uid: `uid-${key}`, generation: 1 }
  ot.client.put({ apiVersion, kind, metadata, ...more } as KubeObject)
}

function statusOf({ phase, reason, message }: Told, more: object = {}): object {
  const isReady = phase === 'Ready' || phase === 'Succeeded' ? 'True' : 'False'
  const ready = { type: 'Ready', status: isReady, reason, message: message ?? '', lastTransitionTime: SINCE }
  const { conditions = [], ...rest } = more as { readonly conditions?: readonly object[] }
  return { observedGeneration: 1, phase, reason, message, conditions: [ready, ...conditions], ...rest }
}

function lab(told: Told, components: readonly object[]): void {
  put('Workspace', 'lab-1', { spec: {}, status: statusOf(told, { namespace: 'lab-1', components }) })
}

function machine(name: string, told: Told, more: object = {}): void {
  const image = { namespace: 'images', name: 'kali' }
  ot.client.put({
    apiVersion: OURS,
    kind: 'VirtualMachine',
    metadata: {
      ...{ namespace: 'lab-1', name, uid: `uid-${name}`, generation: 1 },
      labels: { 'pelotech.ot/workspace-uid': 'uid-lab-1', 'pelotech.ot/workspace': 'lab-1' },
    },
    spec: { vmDiskImageRef: image },
    status: statusOf(told, { image, ...more }),
  } as KubeObject)
}

function image(name: string, told: Told, more: object = {}, spec: object = {}): void {
  put('VMDiskImage', `images/${name}`, { spec, status: statusOf(told, more) })
}

function ledger(limit: number, ...names: readonly string[]): void {
  const holders = names.map((name) => ({
    ...{ uid: `uid-images/${name}`, namespace: 'images', name, revision: '01234567', attempt: 1, claimant: 'me' },
  }))
  const data = { limit: String(limit), holders: JSON.stringify(holders) }
  put('ConfigMap', 'sync-operator/sync-operator-slots', { data }, 'v1')
}

const WAITING = { phase: 'Provisioning', reason: 'WaitingForImages', message: 'Image kali is not ready' }

/** A lab that waits for an image alone. */
function labOfImage(): void {
  lab(WAITING, [
    { kind: 'Image', name: 'kali', phase: 'Provisioning', reason: 'WaitingForImages', message: 'it is Queued' },
    {
      kind: 'VirtualMachine',
      name: 'web',
      phase: 'Provisioning',
      reason: 'WaitingForImages',
      message: 'waits for Image kali',
    },
  ])
  put('ConfigMap', 'sync-operator/sync-operator-policy', { data: { imageNamespace: 'images' } }, 'v1')
}

async function why(...argv: string[]): Promise<string> {
  ot.printed = ''
  expect(await ot.run('why', ...argv)).toBe(EXIT_CODES.done)
  return ot.printed
}

describe('ot why', () => {
  it('says in one line that all is well', async () => {
    lab({ phase: 'Ready', reason: 'Ready', message: 'all 3 components are ready' }, [])
    expect(await why('lab-1')).toBe('Workspace lab-1 is well: Ready for 3m (Ready=True): all 3 components are ready\n')
  })

  it('finds a wrong Secret behind a lab', async () => {
    labOfImage()
    const message = 'waiting for Secret s3 in namespace images (spec.secretRef): create it, or correct the name'
    image('kali', { phase: 'Queued', reason: 'SecretMissing', message }, {}, { secretRef: 's3', sourceType: 's3' })
    expect(await why('lab-1')).toMatchInlineSnapshot(`
      "Workspace lab-1: Provisioning, WaitingForImages for 3m (Ready=False)
      │ Image kali is not ready
      ├─ VMDiskImage images/kali: Queued, SecretMissing for 3m (Ready=False)
      │  │ waiting for Secret s3 in namespace images (spec.secretRef): create it, or correct the name
      │  └─ Secret images/s3: does not exist
      └─ not ready either, or waiting for these: VirtualMachine web

      Cause: Secret images/s3: does not exist
      What it means: The Secret with the credentials of the source does not exist in the namespace of the image, or lacks a key. The message says which.
      What to do: Create it with the keys for the sourceType of the image (spec.secretRef lists them), or correct spec.secretRef.
        kubectl -n images create secret generic s3 --from-literal=accessKeyId=VALUE --from-literal=secretKey=VALUE
      "
    `)
  })

  it('finds a class that does not exist', async () => {
    const message = 'waiting for StorageClass fast (spec.storageClass): create it, or correct the name'
    image('kali', { phase: 'Queued', reason: 'StorageClassMissing', message }, {}, { storageClass: 'fast' })
    expect(await why('vmdi/kali')).toMatchInlineSnapshot(`
      "VMDiskImage images/kali: Queued, StorageClassMissing for 3m (Ready=False)
      │ waiting for StorageClass fast (spec.storageClass): create it, or correct the name
      └─ StorageClass fast: does not exist

      Cause: StorageClass fast: does not exist
      What it means: The storage class does not exist, or the spec names none and the cluster has no default.
      What to do: Create the class, or set spec.storageClass or the policy key defaultStorageClass.
        kubectl get storageclasses
        kubectl -n images edit vmdi kali
        kubectl -n sync-operator patch configmap sync-operator-policy --type merge -p '{"data":{"defaultStorageClass":"VALUE"}}'
      "
    `)
  })

  it('finds why an image failed behind a machine', async () => {
    const says =
      'VMDiskImage images/kali is Failed: all attempts failed; correct that image, not the virtual machine: kubectl -n images edit vmdi kali'
    const isOf = { type: 'ImageReady', status: 'False', reason: 'ImageFailed', message: says }
    machine('web', { phase: 'Failed', reason: 'ImageFailed', message: says }, { conditions: [isOf] })
    const attempts = [
      { number: 1, revision: 'x', outcome: 'Failed', reason: 'AccessDenied', message: 'HTTP 403', endedAt: SINCE },
    ]
    image('kali', { phase: 'Failed', reason: 'AccessDenied', message: 'all attempts failed' }, { attempts })
    expect(await why('otvm', 'web', '-n', 'lab-1')).toMatchInlineSnapshot(`
      "VirtualMachine lab-1/web: Failed, ImageFailed for 3m (Ready=False)
      │ VMDiskImage images/kali is Failed: all attempts failed; correct that image, not the virtual machine: kubectl -n images edit vmdi kali
      └─ VMDiskImage images/kali: Failed, AccessDenied for 3m (Ready=False)
         │ all attempts failed
         └─ Attempt 1 of images/kali: Failed, AccessDenied for 3m
              HTTP 403

      Cause: Attempt 1 of images/kali: Failed, AccessDenied
        HTTP 403
      What it means: The source refused access (401 or 403), or the credentials are missing, wrong or expired. A retry cannot fix that.
      What to do: Correct the credentials in the Secret, then set annotation pelotech.ot/retry-requested-at. A public S3 bucket needs sourceType http.
        kubectl -n images annotate --overwrite vmdi kali pelotech.ot/retry-requested-at="$(date -u +%FT%TZ)"
        kubectl -n images edit vmdi kali
      "
    `)
  })

  it('finds a full queue, and who holds it up', async () => {
    labOfImage()
    image(
      'kali',
      { phase: 'Queued', reason: 'Queued', message: 'Request is waiting for an available worker.' },
      { ticket: '9', queuePosition: 3, queuePositionTime: '2025-12-31T23:59:50Z' },
    )
    image(
      'busy',
      { phase: 'Syncing', reason: 'Syncing', message: 'downloading' },
      { progress: '40.0%', revision: '01234567' },
    )
    ledger(1, 'busy')
    expect(await why('lab-1')).toMatchInlineSnapshot(`
      "Workspace lab-1: Provisioning, WaitingForImages for 3m (Ready=False)
      │ Image kali is not ready
      ├─ VMDiskImage images/kali: Queued for 3m (Ready=False)
      │  │ Request is waiting for an available worker.
      │  └─ Queue of downloads: 1 of 1 slots in use
      │     │ place 3, as of 10s ago
      │     └─ VMDiskImage images/busy: Syncing for 3m (Ready=False)
      │          40.0%
      └─ not ready either, or waiting for these: VirtualMachine web

      Cause: Queue of downloads: 1 of 1 slots in use
        place 3, as of 10s ago
      What it means: The image waits for its turn to download.
      What to do: No action needed: it continues by itself. status.queuePosition is the place at status.queuePositionTime. Raise the policy key concurrency to allow more downloads at once.
        kubectl -n sync-operator patch configmap sync-operator-policy --type merge -p '{"data":{"concurrency":"VALUE"}}'
      "
    `)

    image(
      'busy',
      { phase: 'Syncing', reason: 'Starting', message: 'waiting for the importer pod' },
      { revision: '01234567' },
    )
    put(
      'DataVolume',
      'images/busy-01234567',
      {
        spec: {},
        status: {
          phase: 'ImportScheduled',
          conditions: [{ type: 'Bound', status: 'False', reason: 'Pending', message: 'no volume fits' }],
        },
      },
      'cdi.kubevirt.io/v1beta1',
    )
    put(
      'Event',
      'images/e1',
      {
        ...{
          type: 'Warning',
          reason: 'ProvisioningFailed',
          message: 'the pool is full',
          lastTimestamp: '2025-12-31T23:59:00Z',
        },
        involvedObject: {
          kind: 'DataVolume',
          namespace: 'images',
          name: 'busy-01234567',
          uid: 'uid-images/busy-01234567',
        },
      },
      'v1',
    )
    expect(await why('lab-1')).toMatchInlineSnapshot(`
      "Workspace lab-1: Provisioning, WaitingForImages for 3m (Ready=False)
      │ Image kali is not ready
      ├─ VMDiskImage images/kali: Queued for 3m (Ready=False)
      │  │ Request is waiting for an available worker.
      │  └─ Queue of downloads: 1 of 1 slots in use
      │     │ place 3, as of 10s ago
      │     └─ VMDiskImage images/busy: Syncing, Starting for 3m (Ready=False)
      │        │ waiting for the importer pod
      │        └─ DataVolume images/busy-01234567: ImportScheduled
      │             Pending: no volume fits
      └─ not ready either, or waiting for these: VirtualMachine web

      Cause: DataVolume images/busy-01234567: ImportScheduled
        Pending: no volume fits
      What it means: The image has a slot, and waits until its importer pod runs; the message says for what.
      What to do: No action needed, unless it lasts: then check what the message names. The attempt ends after the policy key stallTimeout.

      Events:
        DataVolume images/busy-01234567 1m ago: ProvisioningFailed: the pool is full
      "
    `)
  })

  it('says what an Event says, whatever the object is called', async () => {
    image('sec', { phase: 'Queued', reason: 'SecretMissing', message: '' })
    const told = (name: string, message: string, lastTimestamp: string) =>
      put(
        'Event',
        `images/${name}`,
        {
          ...{ type: 'Warning', reason: 'SecretMissing', message, lastTimestamp },
          involvedObject: { kind: 'VMDiskImage', namespace: 'images', name: 'sec', uid: 'uid-images/sec' },
        },
        'v1',
      )
    told('earlier', 'no Secret (spec.secretRef) for 30s', '2025-12-31T23:58:00Z')
    told('later', 'no Secret (spec.secretRef) for 90s', '2025-12-31T23:59:00Z')
    const text = await why('vmdi/sec')
    expect(text.split('Events:\n')[1]).toBe(
      '  VMDiskImage images/sec 1m ago: SecretMissing: no Secret (spec.secretRef) for 90s\n',
    )
  })

  it('follows a machine down to its pod', async () => {
    const conditions = [{ type: 'ImageReady', status: 'True', reason: 'ImageReady', message: '' }]
    machine(
      'web',
      { phase: 'Provisioning', reason: 'PodNotStarting', message: 'FailedMount: a volume is missing' },
      { conditions },
    )
    const labels = { 'pelotech.ot/virtualmachine-uid': 'uid-web' }
    const named = { namespace: 'lab-1', name: 'web', labels }
    const starting = { spec: {}, status: { printableStatus: 'Starting' } }
    ot.client.put({ apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', metadata: named, ...starting } as KubeObject)
    const scheduling = {
      phase: 'Scheduling',
      conditions: [{ type: 'Ready', status: 'False', reason: 'PodNotReady', message: '' }],
    }
    const instance = { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachineInstance', metadata: { ...named } }
    ot.client.put({ ...instance, spec: {}, status: scheduling } as KubeObject)
    ot.client.put({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { namespace: 'lab-1', name: 'virt-launcher-web', uid: 'uid-pod', labels },
      spec: { nodeName: 'node-1', containers: [] },
      status: {
        phase: 'Pending',
        containerStatuses: [
          { name: 'compute', state: { waiting: { reason: 'ErrImagePull', message: 'no such tag' } } },
        ],
      },
    } as never)
    expect(await why('otvm/web')).toMatchInlineSnapshot(`
      "VirtualMachine lab-1/web: Provisioning, PodNotStarting for 3m (Ready=False)
      │ FailedMount: a volume is missing
      └─ VirtualMachine.kubevirt.io lab-1/web: Starting
         └─ VirtualMachineInstance lab-1/web: Scheduling
            │ PodNotReady
            └─ Pod lab-1/virt-launcher-web: Pending on node-1
                 container compute: ErrImagePull: no such tag

      Cause: Pod lab-1/virt-launcher-web: Pending on node-1
        container compute: ErrImagePull: no such tag
      What it means: The virt-launcher pod of the machine does not start; the message is its most relevant Warning event.
      What to do: Read the message: a volume, a network, a Secret, a device or an image is missing on the node. The kubelet tries again by itself.
        kubectl -n lab-1 describe pod virt-launcher-web
      "
    `)
  })

  it('tells what a lab lacks with one command for all', async () => {
    const told =
      '2 Secrets are missing: a (for VirtualMachine web), b (for ContainerCluster app); run: kubectl -n lab-1 create secret generic a --from-literal=password=PASSWORD && kubectl -n lab-1 create secret generic b --from-literal=x=VALUE'
    lab({ phase: 'Provisioning', reason: 'SecretMissing', message: told }, [
      { kind: 'VirtualMachine', name: 'web', phase: 'Provisioning', reason: 'MissingPasswordSecret', message: 'a' },
      { kind: 'ContainerCluster', name: 'app', phase: 'Provisioning', reason: 'SecretMissing', message: 'b' },
    ])
    expect(await why('lab-1')).toMatchInlineSnapshot(`
      "Workspace lab-1: Provisioning, SecretMissing for 3m (Ready=False)
      │ 2 Secrets are missing: a (for VirtualMachine web), b (for ContainerCluster app); run: kubectl -n lab-1 create secret generic a --from-literal=password=PASSWORD && kubectl -n lab-1 create secret generic b --from-literal=x=VALUE
      ├─ VirtualMachine lab-1/web: Provisioning, MissingPasswordSecret
      │    a
      └─ ContainerCluster lab-1/app: Provisioning, SecretMissing
           b

      Cause: Workspace lab-1: Provisioning, SecretMissing
        2 Secrets are missing: a (for VirtualMachine web), b (for ContainerCluster app); run: kubectl -n lab-1 create secret generic a --from-literal=password=PASSWORD && kubectl -n lab-1 create secret generic b --from-literal=x=VALUE
      What it means: A Secret that passwordSecretRef of a user, userDataSecretRef of a machine, a variable, envFrom or files of a container, or pullSecrets of a container cluster names does not exist in the namespace of the workspace, or lacks the key of a password or of user data. The message of the workspace names all that is missing, for whom, with one command; that of a machine or a container cluster has the command for its own part.
      What to do: Run the command with the values in place of the words in capitals. It creates Secrets, and adds keys to those that exist, or creates them again where the workspace has owners, who may not change Secrets. The machine or the container cluster then continues by itself.
        kubectl -n lab-1 create secret generic a --from-literal=password=PASSWORD && kubectl -n lab-1 create secret generic b --from-literal=x=VALUE
      "
    `)
  })

  it('says where the caller may not look', async () => {
    labOfImage()
    const message = 'waiting for Secret s3 in namespace images'
    image('kali', { phase: 'Queued', reason: 'SecretMissing', message }, {}, { secretRef: 's3', sourceType: 's3' })
    ot.client.before = ({ kind }) => {
      if (kind === 'Secret' || kind === 'Event') throw apiError('Rejected', { status: 403, serverReason: 'Forbidden' })
    }
    const text = await why('lab-1')
    expect(text).toContain('└─ Secret images/s3: not visible to you: needs list of secrets in images\n')
    expect(text).toContain('Events: not visible to you: needs list of events in default\n')
    expect(text).toContain('Cause: VMDiskImage images/kali: Queued, SecretMissing\n')
    expect(text).toContain('\n  kubectl -n images create secret generic s3 --from-literal=accessKeyId=VALUE')
  })

  it('says of each thing behind a lab that the caller may not look at it', async () => {
    const told = { phase: 'Provisioning', reason: 'ContainersFailed', message: 'no pod' }
    lab(told, [
      { kind: 'ContainerCluster', name: 'app', ...told },
      { kind: 'VirtualMachine', name: 'web', phase: 'Provisioning', reason: 'Cloning', message: 'it is cloned' },
    ])
    machine('web', { phase: 'Provisioning', reason: 'Cloning', message: 'it is cloned' })
    const labels = { 'pelotech.ot/virtualmachine-uid': 'uid-web' }
    const metadata = { namespace: 'lab-1', name: 'web-root', uid: 'uid-disk', labels }
    const status = { phase: 'Pending' }
    ot.client.put({ apiVersion: 'cdi.kubevirt.io/v1beta1', kind: 'DataVolume', metadata, spec: {}, status } as never)
    put(
      'Event',
      'lab-1/e1',
      {
        ...{ type: 'Warning', reason: 'Slow', message: 'it takes long', lastTimestamp: '2025-12-31T23:59:00Z' },
        involvedObject: { kind: 'VirtualMachine', namespace: 'lab-1', name: 'web', uid: 'uid-web' },
      },
      'v1',
    )
    ot.client.before = ({ verb, kind, key }) => {
      const isHidden = ['PersistentVolumeClaim', 'Deployment'].includes(kind) || (kind === 'Event' && key === 'default')
      if (verb === 'list' && isHidden) throw apiError('Rejected', { status: 403, serverReason: 'Forbidden' })
    }
    const text = await why('lab-1')
    expect(text).toContain('Deployment lab-1/of app: not visible to you: needs list of deployments.apps in lab-1\n')
    expect(text).toContain(
      'PersistentVolumeClaim lab-1/web-root: not visible to you: needs list of persistentvolumeclaims in lab-1\n',
    )
    expect(text).toContain('Slow: it takes long\n  others: not visible to you: needs list of events in default\n')
  })

  it('says that nobody leads where a spec was not looked at', async () => {
    put('DataSync', 'team/exam', { spec: {}, status: {} })
    expect(await why('dsync/exam')).toMatchInlineSnapshot(`
      "DataSync team/exam: New
      └─ Operator in sync-operator: does not run
           nobody leads: there is no Lease sync-operator that was ever renewed

      Cause: Operator in sync-operator: does not run
        nobody leads: there is no Lease sync-operator that was ever renewed
        kubectl -n sync-operator get pods
      "
    `)
  })

  it('explains a DataSync by its images, each told once', async () => {
    const images = ['a', 'b'].map((vm) => ({ vm, name: 'kali', phase: 'Queued', reason: 'Paused' }))
    put('DataSync', 'images/exam', {
      spec: {},
      status: statusOf({ phase: 'Queued', reason: 'Queued', message: '2 wait' }, { images }),
    })
    image('kali', { phase: 'Queued', reason: 'Paused', message: 'the policy allows no download' })
    ledger(0)
    expect(await why('dsync/exam')).toMatchInlineSnapshot(`
      "DataSync images/exam: Queued for 3m (Ready=False)
      │ 2 wait
      ├─ VMDiskImage images/kali: Queued, Paused for 3m (Ready=False)
      │  │ the policy allows no download
      │  └─ Queue of downloads: 0 of 0 slots in use
      └─ VMDiskImage images/kali: see above

      Cause: Queue of downloads: 0 of 0 slots in use
      What it means: The policy allows no download: concurrency is 0.
      What to do: Set the policy key concurrency to 1 or more.
        kubectl -n sync-operator patch configmap sync-operator-policy --type merge -p '{"data":{"concurrency":"VALUE"}}'
      "
    `)
  })

  it('explains a snapshot by its members', async () => {
    const members = [
      {
        kind: 'Machine',
        name: 'web',
        snapshot: 'exam-web',
        phase: 'Failed',
        reason: 'MemberFailed',
        ready: false,
        message: 'no class',
      },
    ]
    put('WorkspaceSnapshot', 'lab-1/exam', {
      spec: {},
      status: statusOf({ phase: 'Failed', reason: 'MemberFailed', message: 'web failed' }, { members }),
    })
    put(
      'VirtualMachineSnapshot',
      'lab-1/exam-web',
      { spec: {}, status: { phase: 'Failed', error: { message: 'no snapshot class' } } },
      'snapshot.kubevirt.io/v1beta1',
    )
    expect(await why('otwss/exam')).toMatchInlineSnapshot(`
      "WorkspaceSnapshot lab-1/exam: Failed, MemberFailed for 3m (Ready=False)
      │ web failed
      └─ Machine lab-1/web: Failed, MemberFailed
         │ no class
         └─ VirtualMachineSnapshot lab-1/exam-web: Failed
              no snapshot class

      Cause: VirtualMachineSnapshot lab-1/exam-web: Failed
        no snapshot class
      What it means: A snapshot has failed, and no other one is under way. The message names it, with the words of KubeVirt or of the storage driver.
      What to do: Do what the message says. A snapshot is not tried again, since it would be of another time: delete the WorkspaceSnapshot and create a new one.
        kubectl -n lab-1 describe virtualmachinesnapshot.snapshot.kubevirt.io exam-web
      "
    `)
  })

  it('tells the warnings of what is well', async () => {
    const warning = { type: 'SpecWarning', status: 'True', reason: 'SpecWarning', message: '1 warning: lock_passwd' }
    const upToDate = {
      type: 'UpToDate',
      status: 'False',
      reason: 'SpecChanged',
      message: 'the disk of web is of an earlier spec',
    }
    put('Workspace', 'lab-1', {
      spec: {},
      status: statusOf({ phase: 'Ready', reason: 'Ready', message: 'ready' }, { conditions: [warning, upToDate] }),
    })
    expect(await why('lab-1')).toMatchInlineSnapshot(`
      "Workspace lab-1 is well: Ready for 3m (Ready=True): ready
      Note: Workspace lab-1: SpecWarning is True: SpecWarning: 1 warning: lock_passwd
      Note: Workspace lab-1: UpToDate is False: SpecChanged: the disk of web is of an earlier spec
        Undo the change, or ask for new disks with annotation pelotech.ot/rebuild-requested-at of the Workspace, which loses the data on the old ones. With updateStrategy Recreate, the operator asks for them by itself.
        ot rebuild lab-1
        kubectl edit otws lab-1
      "
    `)
  })

  it('names who keeps what is being deleted', async () => {
    const blocked = {
      type: 'DeletionBlocked',
      status: 'True',
      reason: 'InUse',
      message: 'in use by VirtualMachine/lab-1/web',
    }
    image('kali', { phase: 'Succeeded', reason: 'Synced', message: 'x' }, { conditions: [blocked] })
    const found = ot.client.peek<KubeObject>('VMDiskImage', 'images/kali') as KubeObject
    const metadata = { ...found.metadata, deletionTimestamp: SINCE, finalizers: ['pelotech.ot/disk-image'] }
    ot.client.put({ ...found, metadata })
    expect(await why('vmdi', 'kali')).toMatchInlineSnapshot(`
      "VMDiskImage images/kali: Terminating, InUse for 3m (Ready=True)
        in use by VirtualMachine/lab-1/web

      Cause: VMDiskImage images/kali: Terminating, InUse
        in use by VirtualMachine/lab-1/web
      What it means: Somebody deleted the image, but the objects that the message names still use it.
      What to do: Delete those objects. The image is deleted when the last of them is deleted.
        kubectl -n images describe vmdi kali
      "
    `)
  })

  it('finds no object, or not which one', async () => {
    image('kali', { phase: 'Succeeded', reason: 'Synced' })
    put('VMDiskImage', 'team/kali', {})
    expect(await ot.run('why', 'lab/lab-9')).toBe(EXIT_CODES.notFound)
    expect(await ot.run('why', 'vmdi/kali')).toBe(EXIT_CODES.usage)
    expect(await ot.run('why', 'pod/x')).toBe(EXIT_CODES.usage)
    expect(ot.told).toBe(
      'ot: there is no Workspace lab-9\n' +
        'ot: there is a VMDiskImage kali in each of images, team: say in which one with -n\n' +
        'ot: pod is none of the kinds of Open Terrain: VMDiskImage (vmdi), VirtualMachine (otvm), DataSync (dsync), Workspace (otws), WorkspaceSnapshot (otwss)\n',
    )
  })

  it('asks little of a large lab', async () => {
    const names = Array.from({ length: 60 }, (_, at) => `m${at}`)
    const failed = { phase: 'Failed', reason: 'Timeout', message: 'KubeVirt hangs' }
    lab(
      { phase: 'Failed', reason: 'VirtualMachineFailed', message: 'm0' },
      names.map((name) => ({ kind: 'VirtualMachine', name, ...failed })),
    )
    for (const name of names) machine(name, failed)
    expect(await why('lab-1')).toContain(
      'VirtualMachine m10, VirtualMachine m11, VirtualMachine m12, VirtualMachine m13, VirtualMachine m14 and 45 more',
    )
    expect(ot.client.callsOf('list').filter((call) => call.startsWith('list VirtualMachine lab-1'))).toHaveLength(3)
    expect(ot.client.calls.length).toBeLessThan(12)
  })
})
