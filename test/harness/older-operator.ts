import type { KubeClient } from '../../operator/kube/kube-client.ts'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import { CUSTOM_RESOURCE_DEFINITION, DATA_VOLUME } from '../../operator/kube/resource-types.ts'

const GROUP = 'crd.pelotech.ot'

/** The VMDiskImages of the older operator: another kind than ours. */
export const OLDER_IMAGE: ResourceType = {
  group: GROUP,
  version: 'v1alpha1',
  kind: 'VMDiskImage',
  plural: 'vmdiskimages',
  namespaced: true,
}

/** Installs a small CRD of our own with the fields that the older operator's objects have. */
export async function installOlderCrd(client: KubeClient): Promise<void> {
  await client.create(CUSTOM_RESOURCE_DEFINITION, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `vmdiskimages.${GROUP}` },
    spec: {
      group: GROUP,
      scope: 'Namespaced',
      names: { kind: 'VMDiskImage', plural: 'vmdiskimages', singular: 'vmdiskimage', listKind: 'VMDiskImageList' },
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  } as KubeObject)
}

export interface OlderImage {
  readonly namespace: string
  readonly name: string
  readonly url: string
  readonly storageClass: string
}

/** Makes what the older operator has synced: its object, Ready, and the DataVolume that it owns. CDI fills that. */
export async function syncAsOlder(client: KubeClient, { namespace, name, url, storageClass }: OlderImage) {
  const spec = { url, sourceType: 's3', diskSize: '16Mi', secretRef: 'credentials', storageClass }
  const apiVersion = `${GROUP}/v1alpha1`
  const made = await client.create<KubeObject>(OLDER_IMAGE, {
    apiVersion,
    kind: 'VMDiskImage',
    metadata: { namespace, name, finalizers: ['pelotech.ot/vm-disk-image-finalizer'] },
    spec,
  } as KubeObject)
  await client.replaceStatus(OLDER_IMAGE, { ...made, status: { phase: 'Ready' } } as KubeObject)
  const owner = { apiVersion, kind: 'VMDiskImage', name, uid: made.metadata.uid ?? '' }
  await client.create(DATA_VOLUME, {
    apiVersion: 'cdi.kubevirt.io/v1beta1',
    kind: 'DataVolume',
    metadata: {
      namespace,
      name,
      labels: { owner: name },
      annotations: { 'cdi.kubevirt.io/storage.bind.immediate.requested': 'true' },
      ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
    },
    spec: {
      pvc: {
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '16Mi' } },
        storageClassName: storageClass,
      },
      source: { s3: { url, secretRef: 'credentials' } },
    },
  } as KubeObject)
}
