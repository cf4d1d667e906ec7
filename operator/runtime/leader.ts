import { ApiError, isApiError, isNamespaceTerminating } from '../kube/api-error.ts'
import { find } from '../kube/find.ts'
import type { KubeClient } from '../kube/kube-client.ts'
import type { KubeObject } from '../kube/kube-object.ts'
import { LEASE } from '../kube/resource-types.ts'
import type { Basics } from './basics.ts'
import { sleep } from './clock.ts'

interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string
    readonly leaseDurationSeconds?: number
    readonly acquireTime?: string
    readonly renewTime?: string
    readonly leaseTransitions?: number
  }
}

/** How long a lead lasts unrenewed, when a leader gives up renewing, and how often everybody tries. Milliseconds. */
export interface LeaseTimings {
  readonly durationMs: number
  readonly renewDeadlineMs: number
  readonly retryPeriodMs: number
}

export interface LeaderElectorOptions extends Basics {
  /** A client of its own: renewals must not queue behind other requests. */
  readonly client: KubeClient
  readonly namespace: string
  readonly name: string
  /** Different for every process, also for two in the same pod. */
  readonly identity: string
  readonly timings: LeaseTimings
  readonly onChange?: (leads: boolean) => void
}

/** How often it is said again what keeps us from the Lease, as long as it is the same. */
const SAID_AGAIN_MS = 60_000

type Lead = (term: AbortSignal, hadPredecessor: boolean) => Promise<void>

/**
 * Leader election on a Lease, in the manner of client-go: other people's clocks are not trusted, a lease has expired
 * when it did not change for its duration by our own monotonic clock.
 *
 * A Lease is not a fence: a frozen leader may wake up and go on for a moment beside its successor. Whatever must hold
 * even then is guarded where it is written.
 */
export class LeaderElector {
  readonly #options: LeaderElectorOptions
  #observed: { lease: Lease; at: number } | undefined
  /** Version of the Lease when nobody held it, at {@link look}; empty where there was none. */
  #vacant: string | undefined
  #hadPredecessor = true
  /** Whom we stand by for, as last logged. */
  #standsByFor: string | undefined
  /** What keeps us from the Lease, as last logged, and when. */
  #obstacle: { readonly text: string; readonly at: number } | undefined

  constructor(options: LeaderElectorOptions) {
    this.#options = options
  }

  /** Notes whether anybody leads now, before lists are made: if not, and nobody did until we lead, they miss nothing. Never throws. */
  async look(signal: AbortSignal): Promise<void> {
    try {
      const lease = await this.#read(signal)
      const { holderIdentity = '' } = lease?.spec ?? {}
      this.#vacant = holderIdentity === '' ? versionOf(lease) : undefined
    } catch (error) {
      if (!signal.aborted) this.#logObstacle(error)
    }
  }

  /**
   * Campaigns until `signal` aborts. While we lead, `lead` runs; its signal aborts when the lead is lost or we stop, and
   * only when it has returned is the Lease given up, so that the next leader never overlaps with us in good times.
   * Its second argument says whether anybody may have led since {@link look}.
   */
  async run(signal: AbortSignal, lead: Lead): Promise<void> {
    while (!signal.aborted) {
      if (await this.#tryAcquire(signal)) {
        await this.#serve(signal, lead)
      } else {
        this.#logStandby()
        const { clock, random, timings } = this.#options
        // Twice as often as a leader renews: one that hands over must not leave a gap that people notice.
        await sleep(clock, timings.retryPeriodMs * (0.4 + random() * 0.2), signal).catch(() => undefined)
      }
    }
  }

  /** Once for each leader. */
  #logStandby(): void {
    const { log, identity } = this.#options
    const holder = this.#observed?.lease.spec?.holderIdentity
    if (!this.#isHeldByOther() || holder === this.#standsByFor) return
    this.#standsByFor = holder
    log.info({ identity, leader: holder }, 'standing by')
  }

  /** Once when it is news, and seldom after it: everybody tries every second or two. */
  #logObstacle(error: unknown): void {
    const { clock, log } = this.#options
    const text = this.#obstacleOf(error)
    const now = clock.monotonic()
    if (this.#obstacle?.text === text && now - this.#obstacle.at < SAID_AGAIN_MS) return
    this.#obstacle = { text, at: now }
    log.warn({ error: String(error) }, text)
  }

  #obstacleOf(error: unknown): string {
    const { namespace, name } = this.#options
    if (isNamespaceTerminating(error))
      return `cannot lead, because namespace ${namespace} with the Lease ${name} is being deleted: remove the operator too, or install it again when the namespace is gone`
    if (isApiError(error, 'NotFound'))
      return `cannot lead, because namespace ${namespace} for the Lease ${name} does not exist: create it, or remove the operator`
    if (isApiError(error) && error.status === 403)
      return `cannot lead, because the operator may not read or write the Lease ${name} in namespace ${namespace}: apply the access rights of the installation`
    return `cannot lead, because the Lease ${name} in namespace ${namespace} cannot be read or written: check that the API server is healthy; the operator tries again`
  }

  async #serve(signal: AbortSignal, lead: Lead): Promise<void> {
    const { log, identity, onChange } = this.#options
    this.#standsByFor = undefined
    log.info({ identity }, 'leading')
    onChange?.(true)
    const term = new AbortController()
    const stop = () => term.abort(new Error('stopping'))
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    const renewing = this.#renewUntil(term)
    try {
      await lead(term.signal, this.#hadPredecessor)
    } finally {
      this.#vacant = undefined
      term.abort(new Error('the work of this term ended'))
      await renewing
      signal.removeEventListener('abort', stop)
      onChange?.(false)
      await this.#release()
      log.info({ identity }, 'not leading any more')
    }
  }

  /** Renews in time, or ends the term. */
  async #renewUntil(term: AbortController): Promise<void> {
    const { clock, timings, log } = this.#options
    let renewedAt = clock.monotonic()
    while (!term.signal.aborted) {
      await sleep(clock, timings.retryPeriodMs, term.signal).catch(() => undefined)
      if (term.signal.aborted) return
      const startedAt = clock.monotonic()
      // After a freeze this comes too late: not even a try, somebody else may lead by now.
      if (startedAt - renewedAt < timings.renewDeadlineMs && (await this.#tryAcquire(term.signal)))
        renewedAt = startedAt
      else if (this.#isHeldByOther() || clock.monotonic() - renewedAt >= timings.renewDeadlineMs) {
        log.warn({}, 'lost the lead: the Lease could not be renewed in time')
        term.abort(new Error('lost the lead'))
      }
    }
  }

  #isHeldByOther(): boolean {
    const holder = this.#observed?.lease.spec?.holderIdentity
    return holder !== undefined && holder !== '' && holder !== this.#options.identity
  }

  /** One attempt to take or renew the Lease. Never throws. */
  async #tryAcquire(signal: AbortSignal): Promise<boolean> {
    let lease: Lease | undefined
    try {
      lease = await this.#read(signal)
      this.#hadPredecessor = versionOf(lease) !== this.#vacant
      if (lease !== undefined) {
        this.#observe(lease)
        if (this.#isHeldByOther() && !this.#hasExpired()) return false
      }
      this.#observe(await this.#write(lease, signal))
      this.#obstacle = undefined
      return true
    } catch (error) {
      // Somebody else was quicker, or has deleted it since it was read.
      const isOvertaken =
        isApiError(error, 'Conflict', 'AlreadyExists') || (lease !== undefined && isApiError(error, 'NotFound'))
      if (!signal.aborted && !isOvertaken) this.#logObstacle(error)
      return false
    }
  }

  async #read(signal: AbortSignal): Promise<Lease | undefined> {
    const { client, namespace, name } = this.#options
    return await find<Lease>(client, LEASE, { namespace, name }, this.#request(signal))
  }

  async #write(lease: Lease | undefined, signal: AbortSignal): Promise<Lease> {
    const { client, clock, identity, namespace, name, timings } = this.#options
    const now = microTime(clock.now())
    const isOurs = lease?.spec?.holderIdentity === identity
    const next: Lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: lease?.metadata ?? { name, namespace },
      spec: {
        holderIdentity: identity,
        leaseDurationSeconds: Math.max(1, Math.ceil(timings.durationMs / 1_000)),
        acquireTime: isOurs ? (lease.spec?.acquireTime ?? now) : now,
        renewTime: now,
        leaseTransitions: (lease?.spec?.leaseTransitions ?? 0) + (lease === undefined || isOurs ? 0 : 1),
      },
    }
    const request = this.#request(signal)
    return lease === undefined ? await client.create(LEASE, next, request) : await client.replace(LEASE, next, request)
  }

  #request(signal: AbortSignal): { signal: AbortSignal; timeoutMs: number } {
    return { signal, timeoutMs: Math.max(500, this.#options.timings.renewDeadlineMs / 2) }
  }

  #observe(lease: Lease): void {
    if (this.#observed?.lease.metadata.resourceVersion === lease.metadata.resourceVersion) return
    this.#observed = { lease, at: this.#options.clock.monotonic() }
  }

  #hasExpired(): boolean {
    if (this.#observed === undefined) return false
    const { lease, at } = this.#observed
    const { leaseDurationSeconds = 0 } = lease.spec ?? {}
    // Whole seconds are all that a Lease can say; a shorter duration of ours (in tests) holds for our own kind.
    const durationMs = Math.min(leaseDurationSeconds * 1_000, Math.max(this.#options.timings.durationMs, 1))
    return this.#options.clock.monotonic() - at > durationMs
  }

  /** Lets the next leader start at once. */
  async #release(): Promise<void> {
    const observed = this.#observed?.lease
    if (observed?.spec?.holderIdentity !== this.#options.identity) return
    const released: Lease = { ...observed, spec: { ...observed.spec, holderIdentity: '', leaseDurationSeconds: 1 } }
    try {
      this.#observe(await this.#options.client.replace(LEASE, released, { timeoutMs: 1_000 }))
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      this.#options.log.warn({ error: error.message }, 'could not give up the Lease; it expires by itself')
    }
  }
}

function versionOf(lease: Lease | undefined): string {
  return lease?.metadata.resourceVersion ?? ''
}

/** The API's MicroTime: RFC 3339 with six decimals. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z')
}
