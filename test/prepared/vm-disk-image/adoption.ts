import { ANNOTATIONS } from '@open-terrain/constructs'
import { ADOPTABLE_KINDS, ADOPTION_POLICY, ADOPTION_RULE, type AdoptableKind } from '@open-terrain/constructs/operator'
import type { AdoptedObject, AdoptionFacts } from '../../../operator/controllers/vm-disk-image/adoption-facts.ts'
import type { AdoptableView, ImageWorld } from '../../../operator/controllers/vm-disk-image/world.ts'
import type { KubeObject, ObjectMeta } from '../../../operator/kube/kube-object.ts'
import type { ScriptedClient } from '../kube/scripted-client.ts'
import { aClaim, aDataVolume, aSnapshot, CDI, SPEC } from './image-objects.ts'

/** Name of what is adopted in tests. */
export const ADOPTED_NAME = 'kali-1.0'

/** Uid of the claim or snapshot that is adopted. */
export const ADOPTED_UID = 'adopted-uid'

const DATA_VOLUME_UID = 'adopted-dv'

/** An object as live reads find it: finished, nobody's, of the size and the class of `SPEC`. */
export function anAdoptedObject(kind: AdoptableKind, more: Partial<AdoptedObject> = {}): AdoptedObject {
  const isDataVolume = kind === 'DataVolume'
  return {
    uid: isDataVolume ? DATA_VOLUME_UID : ADOPTED_UID,
    owners: [],
    labels: [],
    isTerminating: false,
    phase: { DataVolume: 'Succeeded', PersistentVolumeClaim: 'Bound', VolumeSnapshot: '' }[kind],
    size: '10Gi',
    storageClass: kind === 'VolumeSnapshot' ? undefined : 'fast',
    filledFrom: isDataVolume ? { sourceType: 'http', url: SPEC['url'] as string, checksum: undefined } : undefined,
    filler: undefined,
    contentType: undefined,
    isReady: true,
    ...more,
  }
}

/** All that live reads found: nothing speaks against it. */
export function someFacts(kind: AdoptableKind, more: Partial<AdoptionFacts> = {}): AdoptionFacts {
  const owner = { title: `DataVolume ${ADOPTED_NAME} of cdi.kubevirt.io`, uid: DATA_VOLUME_UID }
  return {
    fault: undefined,
    checkedSince: Number.NEGATIVE_INFINITY,
    rule: 'rule',
    object: anAdoptedObject(kind),
    claim: kind === 'DataVolume' ? anAdoptedObject('PersistentVolumeClaim', { owners: [owner] }) : undefined,
    usedBy: undefined,
    ...more,
  }
}

function adoptedMeta(uid: string, owned: Partial<ObjectMeta> = {}): ObjectMeta {
  return { name: ADOPTED_NAME, namespace: 'team', uid, resourceVersion: '150', ...owned }
}

/** What the caches have of an object that may be adopted. */
export function anAdoptable(kind: AdoptableKind, more: Partial<AdoptableView> = {}): AdoptableView {
  const dataVolume = aDataVolume({ ...CDI.succeeded, metadata: adoptedMeta(DATA_VOLUME_UID) })
  const owner = { apiVersion: dataVolume.apiVersion, kind: 'DataVolume', name: ADOPTED_NAME, uid: DATA_VOLUME_UID }
  const ofDataVolume = kind === 'DataVolume' && { ownerReferences: [{ ...owner, controller: true }] }
  const snapshot = aSnapshot(adoptedMeta(ADOPTED_UID), { readyToUse: true, restoreSize: '10Gi', snapshotClass: 'snap' })
  return {
    dataVolume: kind === 'DataVolume' ? dataVolume : undefined,
    claim: kind === 'VolumeSnapshot' ? undefined : aClaim(adoptedMeta(ADOPTED_UID, { ...ofDataVolume })),
    snapshot: kind === 'VolumeSnapshot' ? snapshot : undefined,
    sighted: { facts: someFacts(kind), isFresh: true },
    otherAdopter: undefined,
    version: '1',
    ...more,
  }
}

/** The annotation that has an object of this kind adopted. */
export function adopting(kind: AdoptableKind): Record<string, string> {
  return { [ANNOTATIONS.adopt]: `${ADOPTABLE_KINDS[kind].words[0]}/${ADOPTED_NAME}` }
}

/** The artifact of the status, as the caches have it. */
export function adoptedArtifactIn({ image, adoptable }: ImageWorld): ImageWorld['adoptedArtifact'] {
  const { artifact } = image.status
  const found = artifact?.kind === 'VolumeSnapshot' ? adoptable?.snapshot : adoptable?.claim
  return artifact?.adoptedUID !== undefined && found?.metadata.uid === artifact.adoptedUID ? found : undefined
}

/** Installs the rule that asks who may have a disk adopted. Its binding is a day younger: of 2 January 2026. */
export function putAdoptionRule(client: ScriptedClient): void {
  const binding = { policyName: ADOPTION_RULE, validationActions: ['Deny'] }
  const objects = [
    ['ValidatingAdmissionPolicy', '2026-01-01T00:00:00Z', ADOPTION_POLICY],
    ['ValidatingAdmissionPolicyBinding', '2026-01-02T00:00:00Z', binding],
  ] as const
  for (const [kind, creationTimestamp, spec] of objects) {
    const metadata = { name: ADOPTION_RULE, uid: kind, creationTimestamp }
    client.put({ apiVersion: 'admissionregistration.k8s.io/v1', kind, metadata, spec } as KubeObject)
  }
}
