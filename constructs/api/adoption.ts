/** Name of the admission rule that checks who may have a disk adopted, and of its binding. */
export const ADOPTION_RULE = 'open-terrain-adoption'

/** Kinds that an image can adopt, with the words that kubectl takes for them. */
export const ADOPTABLE_KINDS = {
  DataVolume: { group: 'cdi.kubevirt.io', plural: 'datavolumes', words: ['datavolume', 'datavolumes', 'dv'] },
  PersistentVolumeClaim: {
    group: '',
    plural: 'persistentvolumeclaims',
    words: ['persistentvolumeclaim', 'persistentvolumeclaims', 'pvc'],
  },
  VolumeSnapshot: {
    group: 'snapshot.storage.k8s.io',
    plural: 'volumesnapshots',
    words: ['volumesnapshot', 'volumesnapshots', 'vs'],
  },
} as const

export type AdoptableKind = keyof typeof ADOPTABLE_KINDS

/** An object that an image adopts, in its namespace. */
export interface Adoptable {
  readonly kind: AdoptableKind
  readonly name: string
}

/** Pattern of a name of Kubernetes, for CEL too. */
export const ADOPTABLE_NAME = '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$'
const NAME_MAX = 253

/** Returns what a value of the annotation `pelotech.ot/adopt` names; undefined if it names nothing that can be adopted. */
export function parseAdoptable(value: string): Adoptable | undefined {
  const [word = '', name = '', ...rest] = value.split('/')
  if (rest.length > 0 || name.length > NAME_MAX || !new RegExp(ADOPTABLE_NAME).test(name)) return undefined
  const kinds = Object.keys(ADOPTABLE_KINDS) as AdoptableKind[]
  const kind = kinds.find((one) => (ADOPTABLE_KINDS[one].words as readonly string[]).includes(word.toLowerCase()))
  return kind && { kind, name }
}
