import { childName, vmDiskImage } from '@open-terrain/constructs'
import { isChildOf, type Owner } from '../../../../cluster/ownership.ts'
import type { KubeObject } from '../../../../kube/kube-object.ts'
import { memoized } from '../../../../runtime/memoized.ts'
import type { Start } from '../../decide/image-plan.ts'
import type { Holder } from '../../world.ts'
import type { LedgerState } from './ledger-content.ts'

/** What the ledger should say next. Pure: who may write it, and whether it is still current, is checked by the write. */
export interface SlotDecision {
  readonly next: LedgerState
  readonly isChange: boolean
  /** Slots are left for a further step. */
  readonly hasMore: boolean
}

/** So many slots are taken in one write, and their DataVolumes into the time that it is good for. */
export const TAKEN_AT_ONCE = 100

export interface SlotFacts {
  readonly ledger: LedgerState
  readonly me: string
  /** The limit that the policy wants. */
  readonly limit: number
  /** Holders of mine whose download is over, for certain. */
  readonly isOver: (holder: Holder) => boolean
  /** The operator's DataVolumes that may download and have no holder: they count until they are gone. */
  readonly unheld: number
  /** Up to so many images that are next. */
  readonly heads: (count: number) => readonly Start[]
  readonly isAdmitting: boolean
}

/** Frees the slots of what is over and takes them for those who are next, in one write. */
export function decideSlots({ ledger, me, limit, isOver, unheld, heads, isAdmitting }: SlotFacts): SlotDecision {
  const kept = ledger.holders.filter((holder) => holder.claimant !== me || !isOver(holder))
  const free = isAdmitting ? Math.max(0, limit - kept.length - unheld) : 0
  const holding = new Set(kept.map(({ uid }) => uid))
  const taken = heads(Math.min(free, TAKEN_AT_ONCE)).filter(({ uid }) => !holding.has(uid))
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

/** A new leader answers for all slots: first of all it makes them its own. */
export function adopt(ledger: LedgerState, me: string): LedgerState {
  return { ...ledger, holders: ledger.holders.map((holder) => ({ ...holder, claimant: me })) }
}

/** Whether this download is the one that the slot is held for. */
export function isHeldBy(dataVolume: KubeObject, holder: Holder): boolean {
  return dataVolume.metadata.name === volumeNameOf(holder) && isChildOf(dataVolume, ownerOf(holder))
}

/** Name of the DataVolume that a slot is held for, and of the claim that it fills. */
export const volumeNameOf = memoized(({ name, revision }: Pick<Holder, 'name' | 'revision'>) =>
  childName(name, revision),
)

/** The image that holds a slot, as the owner of what downloads for it. */
export function ownerOf({ namespace, name, uid }: Pick<Holder, 'namespace' | 'name' | 'uid'>): Owner {
  const { apiVersion, kind } = vmDiskImage
  return { apiVersion, kind, metadata: { namespace, name, uid } }
}

/** What tells two slots apart: for whom, and for which attempt, they are held. */
export const slotKeyOf = memoized(
  ({ uid, revision, attempt }: Pick<Holder, 'uid' | 'revision' | 'attempt'>) => `${uid}/${revision}/${attempt}`,
)
