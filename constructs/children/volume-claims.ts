import { childName, shortHash } from '../api/names.ts'
import { claimName } from './workspace-names.ts'

/** Which claim a volume of a workspace has since its last restore. */
export interface VolumeClaim {
  /** Name of its present claim. */
  readonly claim: string
  /** Name of the claim that it had before that restore. */
  readonly replaced: string
  /** When it was switched to the present one, in RFC 3339. */
  readonly at: string
}

/** Claims by name of the claim that a volume has if it was never restored. That is the name of the volume to everything that knows no spec. */
export type VolumeClaims = ReadonlyMap<string, VolumeClaim>

/** Present claims by the same names. */
export type ClaimsOfVolumes = ReadonlyMap<string, string>

/** Returns the name of the claim that a volume has now. */
export function presentClaimName(volume: string, claims?: ClaimsOfVolumes): string {
  const first = claimName(volume)
  return claims?.get(first) ?? first
}

/**
 * Returns the name of the claim that a volume is restored to, a DNS-1123 label of at most 63 characters. Each request has another one.
 * @param first name of its claim before any restore
 * @param request what was asked for, of which point in time, and when
 */
export function restoredClaimName(first: string, request: string): string {
  return childName(first, shortHash(['volume', first, request]))
}

const HASH_LENGTH = 8

/** Reports whether a volume may have a claim of that name. @param first name of its claim before any restore */
export function isClaimOfVolume(first: string, name: string): boolean {
  const hash = name.slice(-HASH_LENGTH)
  return name === first || (/^[0-9a-f]{8}$/.test(hash) && childName(first, hash) === name)
}

/**
 * Reads annotation `ANNOTATIONS.volumeClaims`: `{"<first claim>":{"claim":"...","replaced":"...","at":"..."}}`. People can write it, so what a volume cannot have
 * is left out.
 */
export function volumeClaimsIn(annotation: string | undefined): VolumeClaims {
  const entries = Object.entries(recordIn(annotation)).flatMap(([first, value]) => {
    const { claim, replaced, at } = (value ?? {}) as Partial<Record<keyof VolumeClaim, unknown>>
    const isWhole = typeof claim === 'string' && typeof replaced === 'string' && typeof at === 'string'
    if (!isWhole || !isClaimOfVolume(first, claim) || !isClaimOfVolume(first, replaced)) return []
    return [[first, { claim, replaced, at }] as const]
  })
  return new Map(entries)
}

interface PossibleClaim {
  readonly metadata: { readonly name: string; readonly creationTimestamp?: string | undefined }
}

/**
 * Returns the name of the claim that a volume has now; undefined if it was never restored. What the annotation says counts, also while that claim is gone: its
 * data is lost then, and no older one takes its place by itself. But an annotation that is itself older yields to a claim that the volume has had since.
 * @param said by the annotation
 * @param had claims that are there, that the volume was restored to, and has had
 */
export function presentClaim(
  said: VolumeClaim | undefined,
  had: readonly PossibleClaim[],
  isThere: (name: string) => boolean,
): string | undefined {
  if (said !== undefined && isThere(said.claim)) return said.claim
  const ageOf = ({ metadata }: PossibleClaim) => `${metadata.creationTimestamp ?? ''} ${metadata.name}`
  const others = had.filter(({ metadata }) => metadata.name !== said?.replaced)
  const newest = others.reduce<PossibleClaim | undefined>(
    (most, one) => (most === undefined || ageOf(one) > ageOf(most) ? one : most),
    undefined,
  )
  return newest?.metadata.name ?? said?.claim
}

/** Returns the annotation that {@link volumeClaimsIn} reads. */
export function volumeClaimsText(claims: VolumeClaims): string {
  return JSON.stringify(Object.fromEntries(claims))
}

function recordIn(text = '{}'): object {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}
