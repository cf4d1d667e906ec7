import { type Adoptable, SOURCE_TYPES, type SourceType } from '@open-terrain/constructs/operator'
import type { RuleFault } from '../../cluster/admission-rule.ts'
import { conditionOf, POD_PHASE } from '../../cluster/views.ts'
import { groupOf, isTerminating, type KubeObject, type Raw } from '../../kube/kube-object.ts'
import { upTo, VALUE_MAX } from '../../runtime/foreign.ts'

/** Label by which the older operator finds what it deletes, whoever owns it: name of its VMDiskImage, which may be another name than that of the object. */
export const OLDER_OWNER_LABEL = 'owner'
/** Label by which CDI finds the imports of a DataImportCron, of which it deletes all but the last few. */
const CRON_LABEL = 'cdi.kubevirt.io/dataImportCron'
const CONTENT_TYPE = 'cdi.kubevirt.io/storage.contentType'
const URL_MAX = 4_096

/** Where a DataVolume was filled from, as its spec says. */
export interface FilledFrom {
  /** Undefined: not from a source that an image can have, such as an upload or a clone. */
  readonly sourceType: SourceType | undefined
  readonly url: string | undefined
  readonly checksum: string | undefined
}

/** An owner of an object. */
export interface OwnerTitle {
  /** Such as `VMDiskImage kali of crd.pelotech.ot`. */
  readonly title: string
  readonly uid: string
}

/** Who else may change or delete an object. */
export interface Ownership {
  /** Controllers or not: the garbage collector makes no difference. */
  readonly owners: readonly OwnerTitle[]
  /** Labels by which others delete it, whoever owns it, such as `owner=kali`. */
  readonly labels: readonly string[]
}

/** What a live read found of an object that is to be adopted. */
export interface AdoptedObject extends Ownership {
  readonly uid: string
  readonly isTerminating: boolean
  readonly phase: string
  /** Size that was asked for, as a quantity; of a snapshot, its restore size. */
  readonly size: string | undefined
  readonly storageClass: string | undefined
  /** Of a DataVolume. */
  readonly filledFrom: FilledFrom | undefined
  /** Of a claim: the phase of a pod of CDI that fills it; undefined if there was none. */
  readonly filler: string | undefined
  /** What CDI was to make of it: `archive` is no disk. */
  readonly contentType: string | undefined
  /** Of a snapshot. */
  readonly isReady: boolean
}

/** All that live reads found of what an image is to adopt. */
export interface AdoptionFacts {
  /** Why nobody checks who may have something adopted; undefined: the rule is in force. */
  readonly fault: RuleFault | undefined
  /** Since when the rule is there, in milliseconds; undefined: it is not in force. */
  readonly checkedSince: number | undefined
  /** Another text after each change of the rule; undefined: it is not in force. */
  readonly rule: string | undefined
  /** What the annotation names; undefined: it does not exist. */
  readonly object: AdoptedObject | undefined
  /** The claim of a DataVolume. */
  readonly claim: AdoptedObject | undefined
  /** What has it as a disk, or mounts it: `VirtualMachine kali`. */
  readonly usedBy: string | undefined
}

export function viewAdopted(object: KubeObject, kind: Adoptable['kind']): AdoptedObject {
  const { metadata, spec = {}, status = {} }: Raw = object
  const storage = kind === 'DataVolume' ? (spec.storage ?? spec.pvc) : spec
  const size = kind === 'VolumeSnapshot' ? status.restoreSize : storage?.resources?.requests?.storage
  return {
    uid: metadata.uid ?? '',
    ...ownershipOf(object),
    isTerminating: isTerminating(object),
    phase: upTo(VALUE_MAX, status.phase),
    size: size === undefined ? undefined : upTo(VALUE_MAX, size),
    storageClass: storage?.storageClassName,
    filledFrom: kind === 'DataVolume' ? filledFrom(spec) : undefined,
    contentType: kind === 'DataVolume' ? spec.contentType : metadata.annotations?.[CONTENT_TYPE],
    filler: metadata.annotations?.[POD_PHASE],
    isReady:
      kind === 'VolumeSnapshot'
        ? status.readyToUse === true
        : conditionOf(status.conditions ?? [], 'Bound').status !== 'False',
  }
}

function ownershipOf({ metadata: { ownerReferences = [], labels = {} } }: KubeObject): Ownership {
  const found = [OLDER_OWNER_LABEL, CRON_LABEL].filter((label) => labels[label] !== undefined)
  return {
    owners: ownerReferences.map(({ apiVersion, kind, name, uid }) => {
      return { title: upTo(VALUE_MAX, `${kind} ${name} of ${groupOf(apiVersion) || 'v1'}`), uid }
    }),
    labels: found.map((label) => `${label}=${upTo(VALUE_MAX, labels[label])}`),
  }
}

function filledFrom({ source = {} }: Raw): FilledFrom {
  const sourceType = SOURCE_TYPES.find((type) => source[type] !== undefined)
  const { url, checksum } = (sourceType && source[sourceType]) ?? {}
  const textOf = (value: unknown) => (typeof value === 'string' ? upTo(URL_MAX, value) : undefined)
  return { sourceType, url: textOf(url), checksum: textOf(checksum) }
}

/** Pods of CDI read what they copy; they do not write to it. */
const OF_CDI = 'containerized-data-importer'

/** Returns the names of claims that a pod mounts, if it still runs. */
export function claimsOfPod({ metadata, spec, status }: Raw): readonly string[] {
  const isOver = status?.phase === 'Succeeded' || status?.phase === 'Failed'
  if (isOver || metadata.labels?.app === OF_CDI) return []
  return (spec?.volumes ?? []).flatMap((volume: Raw) => volume.persistentVolumeClaim?.claimName ?? [])
}

/** Returns the names of claims that are disks of a machine of KubeVirt, whether it runs or not. A DataVolume has the name of its claim. */
export function claimsOfMachine({ spec }: Raw): readonly string[] {
  const volumes: Raw[] = spec?.template?.spec?.volumes ?? []
  return volumes.flatMap(
    ({ dataVolume, persistentVolumeClaim }) => dataVolume?.name ?? persistentVolumeClaim?.claimName ?? [],
  )
}
