import { parseQuantity } from '@open-terrain/constructs/operator'
import type { KubeObject, Raw } from '../kube/kube-object.ts'
import { keptMetadata } from './kept-metadata.ts'
import { isOfWorkspace, type MetaView, OF_WORKSPACE } from './views.ts'

/** Quantities by resource, such as `requests.storage: 10Gi`. */
type Amounts = Readonly<Record<string, string>>

export interface QuotaView extends MetaView {
  readonly hard: Amounts
  readonly used: Amounts
  /** Spec of a workspace's quota; undefined for all other quotas. */
  readonly spec: object | undefined
}

/** One with scopes is for some pods alone, and as good as none here. */
export function viewQuota(object: KubeObject): QuotaView {
  const { apiVersion, kind, metadata, spec, status }: Raw = object
  const isForAll = spec?.scopes === undefined && spec?.scopeSelector === undefined
  return {
    apiVersion,
    kind,
    metadata: keptMetadata(metadata, OF_WORKSPACE),
    hard: (isForAll && status?.hard) || {},
    used: (isForAll && status?.used) || {},
    spec: isOfWorkspace(object) ? spec : undefined,
  }
}

export interface ImportNeeds {
  readonly diskSize: string
  /** Undefined: the default class, whose class-specific limits are not checked. */
  readonly storageClass: string | undefined
}

/** The target claim, which users see, and the prime claim, which CDI fills before its volume moves to the target. */
const CLAIMS = 2n

/** Returns which of the quotas leaves no room for an import, and what does not fit; undefined if all leave room. */
export function lackOfRoom(
  quotas: readonly QuotaView[],
  needs: ImportNeeds,
): { readonly quota: string; readonly what: string } | undefined {
  for (const quota of quotas) {
    const what = lackIn(quota, needs)
    if (what !== undefined) return { quota: quota.metadata.name, what }
  }
  return undefined
}

/**
 * Returns which need of every import exceeds the quota; undefined if all needs fit. CDI adds a little to the size on filesystems, and its pod has
 * requests of its own. A refusal caused only by those shows up later.
 */
function lackIn(quota: QuotaView, { diskSize, storageClass }: ImportNeeds): string | undefined {
  const size = parseQuantity(diskSize)
  const storage = { of: CLAIMS * (size ?? 0n), what: `two claims of ${diskSize} each` }
  const claims = { of: CLAIMS, what: 'two claims' }
  const pods = { of: 1n, what: 'the pod that imports' }
  const ofClass = storageClass === undefined ? undefined : `${storageClass}${OF_CLASS}`
  const needs = {
    'requests.storage': storage,
    persistentvolumeclaims: claims,
    'count/persistentvolumeclaims': claims,
    pods,
    'count/pods': pods,
    ...(ofClass !== undefined && {
      [`${ofClass}requests.storage`]: storage,
      [`${ofClass}persistentvolumeclaims`]: claims,
    }),
  }
  for (const [resource, { of, what }] of Object.entries(needs)) {
    const limit = limitOf(quota, resource)
    if (limit !== undefined && limit.used + of > limit.most) return `${what} (${resource})`
  }
  return undefined
}

/** Returns how much of a resource a quota allows, and how much is used, in whole units; undefined if it does not limit it. */
function limitOf({ hard, used }: QuotaView, resource: string) {
  const most = parseQuantity(hard[resource] ?? '')
  return most === undefined ? undefined : { most, used: parseQuantity(used[resource] ?? '') ?? 0n }
}

/**
 * Returns quotas that use at least what these claims use. The API server counts a claim before it stores it, but the cache of quotas may be behind
 * that of claims: for a moment a new claim would count nowhere.
 */
export function countingClaims(quotas: readonly QuotaView[], claims: readonly ClaimNeeds[]): QuotaView[] {
  const least = new Map<string, bigint>()
  for (const one of claims)
    for (const [resource, amount] of Object.entries(usageOf(one)))
      least.set(resource, (least.get(resource) ?? 0n) + amount)
  return quotas.map((quota) => {
    const uncounted = Object.keys(quota.hard).flatMap((resource) => {
      const amount = least.get(resource) ?? 0n
      return amount > (limitOf(quota, resource)?.used ?? 0n) ? [[resource, String(amount)] as const] : []
    })
    return uncounted.length === 0 ? quota : { ...quota, used: { ...quota.used, ...Object.fromEntries(uncounted) } }
  })
}

/** A claim that is to be made. */
export interface ClaimNeeds {
  /** What it requests, as a quantity. Undefined: not known, and not checked. */
  readonly size: string | undefined
  /** Undefined: the default class, whose class-specific limits are not checked. */
  readonly storageClass: string | undefined
}

/** What one quota has too little of for one claim more. */
export interface ClaimLack {
  readonly quota: QuotaView
  readonly amounts: readonly LackingAmount[]
}

/** All in whole units: bytes, or objects. */
interface LackingAmount {
  readonly resource: string
  readonly needed: bigint
  /** By claims that others have asked for, and that are not there yet. */
  readonly awaited: bigint
  readonly used: bigint
  readonly most: bigint
}

/**
 * Returns which quota leaves no room for one claim; undefined if all leave room. What CDI needs beside it while it works is not counted: a refusal caused
 * only by that shows up later.
 * @param awaited claims that others have asked for, and that are not there yet: the room for these is taken
 */
export function lackForClaim(
  quotas: readonly QuotaView[],
  claim: ClaimNeeds,
  awaited: readonly ClaimNeeds[] = [],
): ClaimLack | undefined {
  const [needs, ofOthers] = [Object.entries(usageOf(claim)), awaited.map(usageOf)]
  for (const quota of quotas) {
    const amounts = needs.flatMap(([resource, needed]): LackingAmount[] => {
      const limit = limitOf(quota, resource)
      if (limit === undefined) return []
      const taken = ofOthers.reduce((sum, one) => sum + (one[resource] ?? 0n), 0n)
      return limit.used + taken + needed > limit.most ? [{ resource, needed, awaited: taken, ...limit }] : []
    })
    if (amounts.length > 0) return { quota, amounts }
  }
  return undefined
}

/**
 * Reports whether all quotas leave room for a claim once another one is gone. What is not known of either counts against it.
 * @param gone as it is stored
 * @param about whether the claim is for a disk as large as the one that goes, and how many claims like it there are for a while
 */
export function hasRoomInstead(
  quotas: readonly QuotaView[],
  claim: ClaimNeeds,
  gone: ClaimNeeds,
  { isAsLarge, claims }: { readonly isAsLarge: boolean; readonly claims: bigint },
): boolean {
  const [needs, freed] = [usageOf(claim), usageOf(gone)]
  const isKnown = (resource: string) => {
    const isOfUnknownClass = claim.storageClass === undefined && resource.includes(OF_CLASS)
    const isOfUnknownSize = claim.size === undefined && resource.endsWith('requests.storage')
    return !isOfUnknownClass && !isOfUnknownSize
  }
  return quotas.every((quota) =>
    Object.keys(quota.hard).every((resource) => {
      if (!isKnown(resource)) return false
      const needed = needs[resource]
      const limit = limitOf(quota, resource)
      if (needed === undefined || limit === undefined) return true
      const before = freed[resource] ?? 0n
      return mostOf(needed, isAsLarge ? before : 0n) * claims <= limit.most - limit.used + before
    }),
  )
}

/** Returns what CDI may ask for at most. What the former claim had beyond the size of its disk, it asks for again. */
function mostOf(needed: bigint, before: bigint): bigint {
  if (before === 0n) return needed + needed / OVERHEAD
  return needed > before ? needed : before
}

/** CDI asks for a little more than a disk has, on filesystems: less than one part of so many. */
const OVERHEAD = 10n

/** In resources of one class: `<class>.storageclass.storage.k8s.io/requests.storage`. */
const OF_CLASS = '.storageclass.storage.k8s.io/'

/** Returns what a claim uses of each resource, in whole units. */
function usageOf({ size, storageClass }: ClaimNeeds): Readonly<Record<string, bigint>> {
  const bytes = size === undefined ? undefined : parseQuantity(size)
  const claims: Record<string, bigint> = {
    ...(bytes !== undefined && { 'requests.storage': bytes }),
    persistentvolumeclaims: 1n,
  }
  const ofClass = storageClass === undefined ? [] : Object.entries(claims)
  return {
    ...claims,
    'count/persistentvolumeclaims': 1n,
    ...Object.fromEntries(ofClass.map(([resource, amount]) => [`${storageClass}${OF_CLASS}${resource}`, amount])),
  }
}

/** Returns what a quota lacks, and of what: `6Gi of requests.storage (10Gi are needed, and of 20Gi are 16Gi used)`. */
export function lackText({ amounts }: ClaimLack): string {
  const texts = amounts.map(({ resource, needed, awaited, used, most }) => {
    const others = awaited > 0n ? `, and ${amountText(awaited)} asked for by others` : ''
    const why = `${amountText(needed)} needed, and of ${amountText(most)} are ${amountText(used)} used${others}`
    return `${amountText(used + awaited + needed - most)} of ${resource} (${why})`
  })
  return texts.join(', ')
}

/** Returns the command that raises the quota by what it lacks. */
export function raiseCommand({ quota: { metadata }, amounts }: ClaimLack): string {
  const hard = amounts.map(({ resource, needed, awaited, used }) => [resource, amountText(used + awaited + needed)])
  const patch = JSON.stringify({ spec: { hard: Object.fromEntries(hard) } })
  return `kubectl -n ${metadata.namespace} patch resourcequota ${metadata.name} --type merge -p '${patch}'`
}

const BINARY_UNITS = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi'] as const

/** Returns an amount as a quantity, in the largest unit of which it is a whole number. */
function amountText(amount: bigint): string {
  let [left, unit] = [amount, 0]
  while (left > 0n && left % 1024n === 0n && unit < BINARY_UNITS.length - 1) {
    left /= 1024n
    unit += 1
  }
  return `${left}${BINARY_UNITS[unit]}`
}

/** What a quota refused, read from the answer of the API server. */
export interface QuotaRefusal {
  readonly quota: string
  /** Of one object. */
  readonly requested: Amounts
  /** How many of them an import needs at the same time: the target and the prime claim, and the one for scratch space. */
  readonly count: number
}

const EXCEEDED = /"([^"]+)" is forbidden: exceeded quota: (\S+), requested: (\S+), used: /

/** Returns what a quota refused to CDI according to a message; undefined if the message does not quote the API server. */
export function quotaRefusalIn(message: string): QuotaRefusal | undefined {
  const [, name = '', quota, requested = ''] = EXCEEDED.exec(message) ?? []
  if (quota === undefined) return undefined
  const amounts = requested.split(',').map((amount) => amount.split('=', 2))
  return {
    quota,
    requested: Object.fromEntries(amounts),
    count: name.endsWith('-scratch') ? 3 : Number(CLAIMS),
  }
}

/** Returns what a quota has no room for, of all that it refused before; undefined if it has room, or is gone. */
export function lackAfter(quotas: readonly QuotaView[], { quota, requested, count }: QuotaRefusal): string | undefined {
  const { hard = {}, used = {} } = quotas.find(({ metadata }) => metadata.name === quota) ?? {}
  for (const [resource, amount] of Object.entries(requested)) {
    const most = parseQuantity(hard[resource] ?? '')
    const all = BigInt(count) * (parseQuantity(amount) ?? 0n)
    if (most !== undefined && (parseQuantity(used[resource] ?? '') ?? 0n) + all > most)
      return `${count} claims at a time (${resource}: ${count} x ${amount}, and of ${hard[resource]} are ${used[resource] ?? 0} used)`
  }
  return undefined
}

/** What limits pods. */
const OF_PODS = /^(count\/)?pods$|^((requests|limits)\.)?(cpu|memory|ephemeral-storage)$/

/** Returns what a quota allows of pods, and what is used of it; undefined if it does not limit them. */
export function podLimitsOf({ metadata, hard, used }: QuotaView): string | undefined {
  const limits = Object.keys(hard).filter((resource) => OF_PODS.test(resource))
  if (limits.length === 0) return undefined
  return `${metadata.name} (${limits.map((one) => `${one}: ${used[one] ?? 0} of ${hard[one]}`).join(', ')})`
}
