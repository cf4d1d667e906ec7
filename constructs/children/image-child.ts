import { ANNOTATIONS, LABELS, MANAGER } from '../api/labels.ts'
import { labelText, labelValue } from '../api/names.ts'
import { vmDiskImage } from '../api/vm-disk-image.ts'

/** The VMDiskImage that a child is for. */
export interface ImageRef {
  readonly name: string
  readonly namespace: string
  readonly uid: string
  /** Its `spec.name`, any text. */
  readonly specName?: string | undefined
}

export interface ChildOwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  /** Absent of a claim that a volume was restored to. */
  readonly controller?: true
  readonly blockOwnerDeletion: true
}

export interface ChildMetadata {
  readonly name: string
  readonly namespace: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly ownerReferences: ChildOwnerReference[]
}

/** An object that the operator creates for an image, as the plain JSON that is sent. */
export interface ImageChild<Kind extends string, Spec> {
  readonly apiVersion: string
  readonly kind: Kind
  readonly metadata: ChildMetadata
  readonly spec: Spec
}

/**
 * Returns the metadata of an image's child. A child gets only what is listed here: CDI copies the labels and annotations of a DataVolume to its claim
 * and pod, where a copied tracking label would make another tool believe that it owns them.
 */
export function childMetadata(child: {
  readonly image: ImageRef
  readonly name: string
  readonly revision: string
  readonly annotations?: Readonly<Record<string, string>>
}): ChildMetadata {
  const { image, name, revision } = child
  return {
    name,
    namespace: image.namespace,
    labels: {
      [LABELS.imageUid]: image.uid,
      [LABELS.imageName]: labelValue(image.name),
      ...(image.specName !== undefined && { [LABELS.specName]: labelText(image.specName) }),
      [LABELS.revision]: revision,
      [LABELS.managedBy]: MANAGER,
    },
    annotations: { [ANNOTATIONS.imageNameFull]: image.name, ...child.annotations },
    ownerReferences: [
      {
        apiVersion: vmDiskImage.apiVersion,
        kind: vmDiskImage.kind,
        name: image.name,
        uid: image.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
  }
}
