import { LABELS } from '@open-terrain/constructs'
import { MANAGER, POLICY_NAME } from '@open-terrain/constructs/operator'
import { apiVersionOf, type KubeObject, type ResourceType } from '../../operator/kube/kube-object.ts'
import {
  CONFIG_MAP,
  DATA_SOURCE,
  DATA_VOLUME,
  NAMESPACE,
  NETWORK_ATTACHMENT_DEFINITION,
  PERSISTENT_VOLUME_CLAIM,
  RESOURCE_QUOTA,
  SECRET,
  STORAGE_CLASS,
  VOLUME_SNAPSHOT,
  VOLUME_SNAPSHOT_CLASS,
} from '../../operator/kube/resource-types.ts'
import { NETWORK_CONFIG } from '../harness/grounds.ts'
import { IMAGE } from '../harness/kinds.ts'
import { OPERATOR_NAMESPACE } from './chronicle.ts'
import { CANARY } from './oracle/secrets.ts'
import type { ImagePlan, PolicyPlan } from './schedule.ts'
import { urlOf } from './sources.ts'

/** Objects that people and other systems write, as the schedule describes them. */

/** Longer than a good download stands still. */
export const STALL_TIMEOUT_MS = 120_000
export const FOREIGN_SNAPSHOT = 'foreign-snapshot'
/** Namespace of the Secrets that workspaces have copies of. */
export const SHARED_NAMESPACE = 'shared-logins'
export const NAMESPACES = [0, 1, 2].map((number) => `team-${number}`)

export function make(type: ResourceType, metadata: KubeObject['metadata'], rest: object = {}): KubeObject {
  return { apiVersion: apiVersionOf(type), kind: type.kind, metadata, ...rest } as KubeObject
}

export function namespace(name: string): KubeObject {
  return make(NAMESPACE, { name })
}

export function secret(namespaceName: string, number: number): KubeObject {
  return make(
    SECRET,
    { namespace: namespaceName, name: `secret-${number}` },
    { data: { accessKeyId: 'aWQ=', secretKey: Buffer.from(CANARY).toString('base64'), plain: CANARY } },
  )
}

export function storageClass(number: number): KubeObject {
  return make(STORAGE_CLASS, { name: `storage-${number}` }, { provisioner: 'sandbox.example.com' })
}

export function snapshotClass(number: number): KubeObject {
  return make(
    VOLUME_SNAPSHOT_CLASS,
    { name: `snapshots-${number}` },
    { driver: 'sandbox.example.com', deletionPolicy: 'Delete' },
  )
}

export function claimQuota(namespaceName: string, claims: number): KubeObject {
  const hard = { persistentvolumeclaims: String(claims) }
  return make(RESOURCE_QUOTA, { namespace: namespaceName, name: 'claims' }, { spec: { hard } })
}

/** Storage classes of machines' disks: one with volume expansion, and one that waits for the first consumer. */
export const MACHINE_CLASSES: Readonly<Record<string, object>> = {
  fast: { allowVolumeExpansion: true },
  late: { volumeBindingMode: 'WaitForFirstConsumer' },
}

/** Returns a network of machines. */
export function network(namespaceName: string, name: string): KubeObject {
  return make(NETWORK_ATTACHMENT_DEFINITION, { namespace: namespaceName, name }, { spec: { config: NETWORK_CONFIG } })
}

export type PolicyData = Readonly<Record<string, string>>

export function policyData(plan: PolicyPlan): PolicyData {
  return {
    concurrency: String(plan.concurrency),
    retryLimit: String(plan.retryLimit),
    retryBackoffDuration: `${plan.backoffSeconds}s`,
    retryBackoffMax: '60s',
    ...(plan.isPatient
      ? { attemptTimeout: '12h', stallTimeout: '12h', snapshotTimeout: '12h' }
      : { attemptTimeout: '10m', stallTimeout: `${STALL_TIMEOUT_MS / 1_000}s`, snapshotTimeout: '2m' }),
    keepSourceVolume: String(plan.keepSourceVolume),
    sharedSecretNamespaces: SHARED_NAMESPACE,
    ...plan.more,
  }
}

export const POLICY_KEY = { namespace: OPERATOR_NAMESPACE, name: POLICY_NAME }

export function policy(data: PolicyData): KubeObject {
  return make(CONFIG_MAP, POLICY_KEY, { data })
}

export type Spec = Readonly<Record<string, unknown>>

export function specOf(plan: ImagePlan, name: string, version: number): Spec {
  const isBlank = plan.nature === 'blank'
  return {
    sourceType: isBlank ? 'blank' : 'http',
    ...(!isBlank && { url: urlOf(name, version, plan) }),
    diskSize: plan.isInvalid ? 'huge' : '16Mi',
    storageClass: `storage-${plan.storageClass}`,
    ...(plan.snapshotClass !== undefined && { snapshotClass: `snapshots-${plan.snapshotClass}` }),
    ...(plan.secret !== undefined && !isBlank && { secretRef: `secret-${plan.secret}` }),
    ...(plan.ttlSeconds !== undefined && { reclaimPolicy: 'Delete', unreferencedTTL: `${plan.ttlSeconds}s` }),
  }
}

export function image(namespaceName: string, name: string, spec: Spec): KubeObject {
  return make(IMAGE, { namespace: namespaceName, name }, { spec })
}

/** Returns somebody's disk, cloned from an artifact. */
export function clone(
  namespaceName: string,
  name: string,
  from: { readonly kind: string; readonly name: string },
): KubeObject {
  const source = { namespace: namespaceName, name: from.name }
  const spec = { source: from.kind === 'VolumeSnapshot' ? { snapshot: source } : { pvc: source }, storage: {} }
  return make(DATA_VOLUME, { namespace: namespaceName, name }, { spec })
}

/** Objects of others that look like ours: they have labels or names of ours, but no owner. */
export function lookalikes(namespaceName: string): readonly (readonly [ResourceType, KubeObject])[] {
  const labels = { [LABELS.managedBy]: MANAGER, [LABELS.imageUid]: 'not-an-image', [LABELS.revision]: '01234567' }
  const spec = { source: { upload: {} }, storage: {} }
  const named = (name: string) => ({ namespace: namespaceName, name, labels })
  return [
    [DATA_VOLUME, make(DATA_VOLUME, named('foreign-volume'), { spec })],
    [VOLUME_SNAPSHOT, make(VOLUME_SNAPSHOT, named(FOREIGN_SNAPSHOT), { spec: { source: {} } })],
    [PERSISTENT_VOLUME_CLAIM, make(PERSISTENT_VOLUME_CLAIM, named('foreign-claim'), { spec: {} })],
    [CONFIG_MAP, make(CONFIG_MAP, { namespace: namespaceName, name: 'sync-operator-slots' }, { data: { limit: '0' } })],
    // It occupies the name of the first image's alias.
    [DATA_SOURCE, make(DATA_SOURCE, { namespace: namespaceName, name: 'image-0' }, { spec: { source: {} } })],
  ]
}
