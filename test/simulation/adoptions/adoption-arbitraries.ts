import fc from 'fast-check'
import { MINUTE, SECOND } from '../../prepared/runtime/times.ts'
import { duration, maybe } from '../arbitraries.ts'
import type { AdoptionPlan } from './adoption-schedule.ts'

/** An image that is hardly younger than the rule may have been annotated before it. */
const AFTER_RULE_MS = 10 * SECOND

const later = duration(MINUTE, 3 * MINUTE).map((ms) => ms + AFTER_RULE_MS)

export const adoption: fc.Arbitrary<AdoptionPlan> = fc.record({
  namespace: fc.nat(2),
  owner: fc.constantFrom('controller', 'owner', 'nobody'),
  releasedAtMs: later,
  snapshotClass: maybe(fc.nat(1)),
  createdAtMs: later,
  deletedAtMs: maybe(later, 3),
  suspendedAtMs: maybe(later, 3),
})
