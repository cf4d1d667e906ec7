import * as annotation from './annotations.ts'
import {
  type Claim,
  type ClaimSpec,
  type DataVolume,
  type EnvVar,
  ownedBy,
  type Pod,
  type PodVolume,
  uidOf,
} from './models.ts'
import { withFilesystemOverhead } from './quantity.ts'
import { type Source, sourceOf } from './source.ts'

/** The objects that CDI creates for one import, with the same names, owners, labels and annotations. */

const CORE = 'v1'
const IMPORTER_IMAGE = 'registry.example.com/kubevirt/cdi-importer:v1.66.0'
const APP_LABELS = {
  app: 'containerized-data-importer',
  'app.kubernetes.io/component': 'storage',
  'app.kubernetes.io/managed-by': 'cdi-controller',
}

const claim = (metadata: Claim['metadata'], spec: ClaimSpec): Claim => ({
  apiVersion: CORE,
  kind: 'PersistentVolumeClaim',
  metadata,
  spec,
})

export const primeName = (claim: Claim): string => `prime-${uidOf(claim)}`
export const importerName = (claim: Claim): string => `importer-prime-${uidOf(claim)}`

/** The claim that users see. It gets no volume before it is populated, because its data source belongs to CDI. */
export function targetClaim(
  dataVolume: DataVolume,
  storageClassName: string | undefined,
  dataSource: 'VolumeImportSource' | 'VolumeCloneSource' = 'VolumeImportSource',
): Claim {
  const { name, labels, annotations } = dataVolume.metadata
  return claim(
    {
      ...inNamespaceOf(dataVolume),
      name,
      labels: { ...labels, ...APP_LABELS, 'alerts.k8s.io/KubePersistentVolumeFillingUp': 'disabled' },
      annotations: {
        ...annotations,
        [annotation.CREATED_FOR]: uidOf(dataVolume),
        [annotation.CONTENT_TYPE]: 'kubevirt',
        [annotation.PREALLOCATION]: 'false',
      },
      ownerReferences: ownedBy(dataVolume),
    },
    {
      ...claimSpec(dataVolume, storageClassName),
      dataSourceRef: {
        apiGroup: 'cdi.kubevirt.io',
        kind: dataSource,
        name: `${SOURCE_NAMES[dataSource]}-${uidOf(dataVolume)}`,
      },
    },
  )
}

const SOURCE_NAMES = { VolumeImportSource: 'volume-import-source', VolumeCloneSource: 'volume-clone-source' } as const

/** The claim that the importer fills. Its volume then moves to the target. */
export function primeClaim(dataVolume: DataVolume, target: Claim): Claim {
  const { kind, type, fields } = importFields(sourceOf(dataVolume))
  return claim(
    {
      ...inNamespaceOf(target),
      name: primeName(target),
      labels: { 'velero.io/exclude-from-backup': 'true' },
      annotations: {
        [annotation.IMMEDIATE_BINDING]: '',
        [annotation.POPULATOR_KIND]: 'VolumeImportSource',
        [annotation.IMPORT_SOURCE]: kind === 'blank' ? 'none' : type,
        [annotation.IMPORT_POD]: importerName(target),
        [annotation.DATA_VOLUME_NAME]: dataVolume.metadata.name,
        ...(fields.url !== undefined && { [annotation.IMPORT_ENDPOINT]: fields.url }),
        ...(fields.secretRef !== undefined && { [annotation.IMPORT_SECRET]: fields.secretRef }),
      },
      ownerReferences: ownedBy(target),
    },
    withoutSource(target.spec),
  )
}

export function importerPod(dataVolume: DataVolume, target: Claim, prime: Claim): Pod {
  const { type, fields } = importFields(sourceOf(dataVolume))
  const scratch = prime.metadata.annotations?.[annotation.REQUIRES_SCRATCH] === 'true'
  const env: EnvVar[] = [
    { name: 'IMPORTER_SOURCE', value: type },
    { name: 'IMPORTER_ENDPOINT', value: fields.url ?? '' },
    { name: 'OWNER_UID', value: uidOf(target) },
  ]
  if (fields.checksum !== undefined) env.push({ name: 'IMPORTER_CHECKSUM', value: fields.checksum })
  const isMounted = type === 'gcs'
  if (fields.secretRef !== undefined && !isMounted) {
    env.push(fromSecret('IMPORTER_ACCESS_KEY_ID', fields.secretRef, 'accessKeyId'))
    env.push(fromSecret('IMPORTER_SECRET_KEY', fields.secretRef, 'secretKey'))
  }
  const volumes: PodVolume[] = [{ name: 'cdi-data-vol', persistentVolumeClaim: { claimName: prime.metadata.name } }]
  if (scratch) volumes.push({ name: 'cdi-scratch-vol', persistentVolumeClaim: { claimName: scratchName(prime) } })
  if (fields.secretRef !== undefined && isMounted)
    volumes.push({ name: 'cdi-secret-vol', secret: { secretName: fields.secretRef } })
  if (fields.certConfigMap !== undefined)
    volumes.push({ name: 'cdi-cert-vol', configMap: { name: fields.certConfigMap } })
  return {
    apiVersion: CORE,
    kind: 'Pod',
    metadata: {
      ...inNamespaceOf(prime),
      name: importerName(target),
      labels: {
        ...target.metadata.labels,
        [annotation.IMPORTER_LABEL]: annotation.IMPORTER_LABEL_VALUE,
        'prometheus.cdi.kubevirt.io': 'true',
      },
      annotations: { [annotation.DATA_VOLUME_NAME]: dataVolume.metadata.name },
      finalizers: [annotation.KUBELET_FINALIZER],
      ownerReferences: ownedBy(prime),
    },
    spec: { restartPolicy: 'OnFailure', volumes, containers: [{ name: 'importer', image: IMPORTER_IMAGE, env }] },
  }
}

export function needsScratch(prime: Claim): boolean {
  return prime.metadata.annotations?.[annotation.REQUIRES_SCRATCH] === 'true'
}

/** Owned by the pod, so it is deleted after the pod. */
export function scratchClaim(prime: Claim, pod: Pod): Claim {
  return claim(
    {
      ...inNamespaceOf(prime),
      name: scratchName(prime),
      labels: { ...APP_LABELS },
      ownerReferences: ownedBy(pod),
    },
    { ...withoutSource(prime.spec), accessModes: ['ReadWriteOnce'], volumeMode: 'Filesystem' },
  )
}

export function scratchName(prime: Claim): string {
  return `${prime.metadata.name}-scratch`
}

/** Returns the claim spec that the DataVolume asks for. */
export function wantedClaim(dataVolume: DataVolume): ClaimSpec {
  return dataVolume.spec.storage ?? dataVolume.spec.pvc ?? {}
}

function claimSpec(dataVolume: DataVolume, storageClassName: string | undefined): ClaimSpec {
  const wanted = wantedClaim(dataVolume)
  const volumeMode = wanted.volumeMode ?? 'Filesystem'
  const size = wanted.resources?.requests?.storage ?? '1Gi'
  const grows = dataVolume.spec.storage !== undefined && volumeMode === 'Filesystem'
  return {
    accessModes: wanted.accessModes ?? ['ReadWriteOnce'],
    volumeMode,
    resources: { requests: { storage: grows ? withFilesystemOverhead(size) : size } },
    ...(storageClassName !== undefined && { storageClassName }),
  }
}

export function withoutSource(spec: ClaimSpec): ClaimSpec {
  const { accessModes, volumeMode, resources, storageClassName } = spec
  return {
    ...(accessModes && { accessModes }),
    ...(volumeMode !== undefined && { volumeMode }),
    ...(resources && { resources }),
    ...(storageClassName !== undefined && { storageClassName }),
  }
}

function importFields(source: Source): { kind: string; type: string; fields: Partial<ImportFields> } {
  return source.kind === 'import' ? source : { kind: source.kind, type: 'none', fields: {} }
}

type ImportFields = Extract<Source, { kind: 'import' }>['fields']

function fromSecret(name: string, secret: string, key: string): EnvVar {
  return { name, valueFrom: { secretKeyRef: { name: secret, key } } }
}

function inNamespaceOf(object: DataVolume | Claim): { namespace?: string } {
  const { namespace } = object.metadata
  return namespace === undefined ? {} : { namespace }
}
