import { childName, memoized, vmDiskImage } from '@open-terrain/constructs/operator'
import type { Owner } from '../../../../cluster/ownership.ts'
import { keyOf } from '../../../../kube/kube-object.ts'
import type { Start } from '../../decide/image-plan.ts'
import type { Holder } from '../../world.ts'
import type { LedgerState } from './ledger-content.ts'

/** Maximum number of slots taken in one write, so that creating their DataVolumes fits into the time for which it is valid. */
export const TAKEN_AT_ONCE = 100

export interface SlotFacts {
  readonly ledger: LedgerState
  readonly me: string
  /** The limit that the policy wants. */
  readonly limit: number
  /** The holders whose downloads are certainly over. */
  readonly over: ReadonlySet<Holder>
  /** Number of the operator's DataVolumes that may download but have no holder. They count until they are gone. */
  readonly unheld: number
  readonly isAdmitting: boolean
}

interface SlotsLeft {
  /** Who keeps its slot. */
  readonly kept: readonly Holder[]
  /** How many slots may be taken, of which one step takes at most {@link TAKEN_AT_ONCE}. */
  readonly free: number
}

/** Returns what is left of the slots when those of downloads that are over are freed. */
export function slotsLeft({ ledger, me, limit, over, unheld, isAdmitting }: SlotFacts): SlotsLeft {
  const kept = ledger.holders.filter((holder) => holder.claimant !== me || !over.has(holder))
  return { kept, free: isAdmitting ? Math.max(0, limit - kept.length - unheld) : 0 }
}

/**
 * Returns the next state of the ledger: frees the slots of downloads that are over and takes slots for the next images, in one write. The write
 * checks whether the state is still current. `hasMore`: free slots are left for another step.
 * @param heads the next images, at most as many as there are free slots
 */
export function decideSlots(
  { ledger, me, limit, isAdmitting }: SlotFacts,
  { kept, free }: SlotsLeft,
  heads: readonly Start[],
) {
  const holding = new Set(kept.map(({ uid }) => uid))
  const taken = heads.filter(({ uid }) => !holding.has(uid))
  const holders = taken.map(({ uid, namespace, name, revision, attempt }): Holder => {
    return { uid, namespace, name, revision, attempt, claimant: me }
  })
  const { isSettling = false } = ledger
  const hasSettled = isSettling && isAdmitting
  const isChange = taken.length > 0 || kept.length !== ledger.holders.length || limit !== ledger.limit || hasSettled
  const hasMore = taken.length === TAKEN_AT_ONCE && free > TAKEN_AT_ONCE
  const next: LedgerState = { limit, holders: [...kept, ...holders], ...(isSettling && !hasSettled && { isSettling }) }
  return { next, isChange, hasMore }
}

/** Makes `me` the claimant of all slots. A new leader does this first, because it is responsible for all of them. */
export function adopt(ledger: LedgerState, me: string): LedgerState {
  return { ...ledger, holders: ledger.holders.map((holder) => ({ ...holder, claimant: me })) }
}

/** Returns the holders by uid of their image. */
export const holdersByUid = memoized((ledger: LedgerState | undefined): ReadonlyMap<string, Holder> => {
  return new Map(ledger?.holders.map((holder) => [holder.uid, holder]))
})

/** Returns the name of the DataVolume that a slot is held for, which is also the name of the claim that it fills. */
export const volumeNameOf = memoized(({ name, revision }: Holder) => childName(name, revision))

/** Returns the key of that DataVolume and claim. */
export const volumeKeyOf = memoized((holder: Holder) =>
  keyOf({ namespace: holder.namespace, name: volumeNameOf(holder) }),
)

/** Returns the image that holds a slot, as the owner of what downloads for it. */
export function ownerOf({ namespace, name, uid }: Holder): Owner {
  const { apiVersion, kind } = vmDiskImage
  return { apiVersion, kind, metadata: { namespace, name, uid } }
}

/** What identifies a slot: the image, revision and attempt that it is held for. */
export type SlotId = Pick<Holder, 'uid' | 'revision' | 'attempt'>

export const slotKeyOf = memoized(({ uid, revision, attempt }: SlotId) => `${uid}/${revision}/${attempt}`)

/** Returns the holders by {@link slotKeyOf}. */
export const holdersBySlot = memoized((holders: readonly Holder[]): ReadonlyMap<string, Holder> => {
  return new Map(holders.map((holder) => [slotKeyOf(holder), holder]))
})
