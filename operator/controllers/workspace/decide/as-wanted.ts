import { ANNOTATIONS } from '@open-terrain/constructs'
import {
  isSameAmount,
  memoized,
  shortHash,
  type VirtualMachineSpec,
  virtualMachine,
} from '@open-terrain/constructs/operator'
import { isRecord, isSame } from '../../../base/equality.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { CONFIG_MAP } from '../../../kube/resource-types.ts'
import { fingerprints } from '../child-views.ts'

/** Returns the object with a mark: an annotation with a hash of its content. */
export function marked<T extends KubeObject>(object: T): T {
  const mark = shortHash([JSON.stringify(object)])
  return {
    ...object,
    metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [ANNOTATIONS.rendered]: mark } },
  }
}

export function markOf(object: KubeObject | undefined): string | undefined {
  return object?.metadata.annotations?.[ANNOTATIONS.rendered]
}

/**
 * Reports whether a child has everything that we want. Additions by the API server and by controllers are ignored, except in lists and in maps that
 * only we write. Only the mark covers members that the cache does not keep.
 */
export function isAsWanted(
  wanted: KubeObject,
  actual: KubeObject & { readonly isCut?: true; readonly isAside?: true },
): boolean {
  // What a cache knows only a part of is left alone: each comparison would find it different.
  if (actual.isCut === true) return true
  const { metadata, ...content } = wanted.kind === CONFIG_MAP.kind ? fingerprinted(wanted) : wanted
  const { labels, annotations } = actual.metadata
  const isDescribed =
    contains(labels ?? {}, metadata.labels ?? {}, 'metadata') &&
    contains(annotations ?? {}, pickRendered(metadata.annotations), 'metadata')
  // Only the mark counts until it has been read.
  if (actual.isAside === true) return isDescribed
  return (
    isDescribed &&
    !hasAmountsBesideType(wanted, actual) &&
    Object.entries(content).every(([key, value]) => {
      const has = (actual as unknown as Record<string, unknown>)[key]
      return has === undefined || (STORED_AS_SENT.has(wanted.kind) ? isSame(has, value) : contains(has, value, key))
    })
  )
}

/** With an amount beside its instance type a machine is not valid. Only somebody else can have added it, as it is not rendered. */
function hasAmountsBesideType(wanted: KubeObject, actual: KubeObject): boolean {
  const { instancetype, resources = {} } = machineSpec(wanted)
  if (wanted.kind !== virtualMachine.kind || instancetype === undefined) return false
  const { resources: has = {} } = machineSpec(actual)
  return (['cpu', 'memory'] as const).some((amount) => has[amount] !== undefined && resources[amount] === undefined)
}

function machineSpec(object: KubeObject): Partial<Pick<VirtualMachineSpec, 'instancetype' | 'resources'>> {
  return (object as { readonly spec?: VirtualMachineSpec }).spec ?? {}
}

/** Compared in full, because any addition to these changes their meaning: an isolation that somebody has opened does not isolate. */
const STORED_AS_SENT: ReadonlySet<string> = new Set(['NetworkPolicy', 'NetworkAttachmentDefinition'])

/** Returns the ConfigMap as its cache keeps it: with hashes in place of its values. */
const fingerprinted = memoized((configMap: KubeObject): KubeObject => {
  const { data } = configMap as KubeObject & { readonly data?: Readonly<Record<string, string>> }
  return { ...configMap, data: fingerprints(data) } as KubeObject
})

/** Returns only the mark. It covers the annotations that the operator writes, and caches need not keep the others. */
function pickRendered(annotations: KubeObject['metadata']['annotations'] = {}): Readonly<Record<string, string>> {
  const mark = annotations[ANNOTATIONS.rendered]
  return mark === undefined ? {} : { [ANNOTATIONS.rendered]: mark }
}

/** Maps of quantities. The API server writes quantities in its own form: 2048Mi becomes 2Gi. */
const AMOUNTS: ReadonlySet<string> = new Set(['requests', 'limits', 'hard', 'capacity'])
/** Single quantities. */
const AMOUNT_FIELDS: ReadonlySet<string> = new Set(['sizeLimit', 'divisor'])
/** Maps in which any addition changes the meaning. */
const OURS_ALONE: ReadonlySet<string> = new Set([
  ...AMOUNTS,
  'data',
  'matchLabels',
  'podSelector',
  'selector',
  'namespaceSelector',
  'ipBlock',
])

/** Fields that the API server never adds to a spec, a pod or its containers. If we do not ask for one, somebody has added it. */
const ADDED_BY_HAND: ReadonlySet<string> = new Set([
  'affinity',
  'args',
  'command',
  'dnsConfig',
  'env',
  'envFrom',
  'externalIPs',
  'hostAliases',
  'hostIPC',
  'hostNetwork',
  'hostPID',
  'initContainers',
  'lifecycle',
  'livenessProbe',
  'ports',
  // Of a machine: its workspace alone says whether it is on.
  'powerState',
  'readinessProbe',
  'startupProbe',
  'volumeMounts',
  'volumes',
])

const OF_POD: ReadonlySet<string> = new Set(['spec', 'containers', 'initContainers'])

function contains(actual: unknown, wanted: unknown, key: string): boolean {
  if (wanted === undefined) return true
  if (Array.isArray(wanted))
    return (
      Array.isArray(actual) &&
      actual.length === wanted.length &&
      wanted.every((item, at) => contains(actual[at], item, key))
    )
  if (AMOUNT_FIELDS.has(key)) return isSameAmount(actual, wanted)
  if (!isRecord(wanted)) return isSame(actual, wanted)
  // The API server omits empty maps.
  const has = isRecord(actual) ? actual : actual === undefined ? {} : undefined
  if (has === undefined) return false
  const isOfPod = OF_POD.has(key)
  const isAdded = (one: string) =>
    wanted[one] === undefined && (OURS_ALONE.has(key) || (isOfPod && ADDED_BY_HAND.has(one)))
  if (Object.keys(has).some(isAdded)) return false
  return Object.entries(wanted).every(([one, value]) =>
    AMOUNTS.has(key) ? isSameAmount(has[one], value) : contains(has[one], value, one),
  )
}
