import { sleep } from '../base/clock.ts'
import { toTime } from '../base/time.ts'
import { ApiError, isApiError, isNamespaceTerminating } from '../kube/api-error.ts'
import { find } from '../kube/find.ts'
import type { KubeClient, RequestOptions } from '../kube/kube-client.ts'
import type { KubeObject } from '../kube/kube-object.ts'
import { LEASE } from '../kube/resource-types.ts'
import type { Basics } from './basics.ts'

interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string
    readonly leaseDurationSeconds?: number
    readonly acquireTime?: string
    readonly renewTime?: string
    readonly leaseTransitions?: number
  }
}

/** How long an unrenewed Lease is valid, when a leader stops renewing, and the base interval between attempts. Milliseconds. */
export interface LeaseTimings {
  readonly durationMs: number
  readonly renewDeadlineMs: number
  readonly retryPeriodMs: number
}

export interface LeaderElectorOptions extends Basics {
  /** A dedicated client: renewals must not queue behind other requests. */
  readonly client: KubeClient
  readonly namespace: string
  readonly name: string
  /** Unique for every process, also for two in the same pod. */
  readonly identity: string
  readonly timings: LeaseTimings
  readonly onChange?: (leads: boolean) => void
}

/** How often an unchanged obstacle to the Lease is logged. */
const SAID_AGAIN_MS = 60_000

/** `term` aborts when leadership is lost or we stop. `hadPredecessor`: whether anybody may have led since {@link LeaderElector.look}. */
type Lead = (term: AbortSignal, hadPredecessor: boolean) => Promise<void>

/**
 * Leader election on a Lease, like client-go: clocks of other processes are not trusted. A Lease has expired when it has not changed for its
 * duration by our own monotonic clock. It is not a fence: a frozen leader may resume and continue for a moment next to its successor. Whatever
 * must hold even then is guarded where it is written.
 */
export class LeaderElector {
  readonly #options: LeaderElectorOptions
  #observed: { lease: Lease; at: number } | undefined
  /** Version of the Lease at {@link look}, if nobody held it; empty if there was no Lease. */
  #vacant: string | undefined
  #hadPredecessor = true
  /** The leader that we stand by for, as last logged. */
  #knownLeader: string | undefined
  /** The obstacle to the Lease, as last logged, and when. */
  #obstacle: { readonly text: string; readonly at: number } | undefined

  constructor(options: LeaderElectorOptions) {
    this.#options = options
  }

  /** Records whether anybody leads, before lists are made: if nobody does, and nobody has until we lead, the lists miss nothing. Never throws. */
  async look(signal: AbortSignal): Promise<void> {
    try {
      const lease = await this.#read(this.#request(signal))
      const { holderIdentity = '' } = lease?.spec ?? {}
      this.#vacant = holderIdentity === '' ? versionOf(lease) : undefined
    } catch (error) {
      if (!signal.aborted) this.#logObstacle(error)
    }
  }

  /** Campaigns until `signal` aborts. While we lead, `lead` runs. The Lease is released only after it has returned: normally, leaders never overlap. */
  async run(signal: AbortSignal, lead: Lead): Promise<void> {
    while (!signal.aborted) {
      if (await this.#tryAcquire(signal)) {
        await this.#serve(signal, lead)
      } else if (signal.aborted) {
        // The API server may have accepted the attempt that the stop has cut short.
        await this.#release()
      } else {
        this.#logStandby()
        const { clock, random, timings } = this.#options
        // Twice as often as a leader renews, so that a handover leaves no noticeable gap.
        await sleep(clock, timings.retryPeriodMs * (0.4 + random() * 0.2), signal).catch(() => undefined)
      }
    }
  }

  /** Logs once for each leader. */
  #logStandby(): void {
    const { log, identity } = this.#options
    const holder = this.#otherHolder()
    if (holder === undefined || holder === this.#knownLeader) return
    this.#knownLeader = holder
    log.info({ identity, leader: holder }, 'standing by')
  }

  /** Logs an obstacle at once when it is new, and rarely after that: every process tries every second or two. */
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
    this.#knownLeader = undefined
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
    let deadline = clock.monotonic() + timings.renewDeadlineMs
    while (!term.signal.aborted) {
      const pauseMs = Math.min(timings.retryPeriodMs, deadline - clock.monotonic())
      await sleep(clock, pauseMs, term.signal).catch(() => undefined)
      if (term.signal.aborted) return
      const startedAt = clock.monotonic()
      // After a freeze it is too late even to try, because another process may lead by now.
      if (startedAt < deadline && (await this.#tryAcquire(term.signal, deadline)))
        deadline = startedAt + timings.renewDeadlineMs
      else if (this.#otherHolder() !== undefined || clock.monotonic() >= deadline) {
        const holder = this.#otherHolder()
        if (holder === undefined) log.warn({}, 'lost the lead: the Lease could not be renewed in time')
        else log.warn({ holder }, 'lost the lead: somebody else holds the Lease')
        term.abort(new Error('lost the lead'))
      }
    }
  }

  #otherHolder(): string | undefined {
    const { holderIdentity = '' } = this.#observed?.lease.spec ?? {}
    return holderIdentity === '' || holderIdentity === this.#options.identity ? undefined : holderIdentity
  }

  /** Tries once to acquire the Lease, or to renew it before `deadline` by our monotonic clock. Never throws. */
  async #tryAcquire(signal: AbortSignal, deadline?: number): Promise<boolean> {
    let lease: Lease | undefined
    try {
      lease = await this.#read(this.#request(signal, deadline))
      this.#hadPredecessor = versionOf(lease) !== this.#vacant
      if (lease !== undefined) {
        this.#observe(lease)
        if (this.#otherHolder() !== undefined && !this.#hasExpired()) return false
      }
      this.#observe(await this.#write(lease, this.#request(signal, deadline)))
      this.#obstacle = undefined
      return true
    } catch (error) {
      // Another process was faster, or somebody deleted the Lease after it was read.
      const isOvertaken =
        isApiError(error, 'Conflict', 'AlreadyExists') || (lease !== undefined && isApiError(error, 'NotFound'))
      if (!signal.aborted && !isOvertaken) this.#logObstacle(error)
      return false
    }
  }

  async #read(request: RequestOptions): Promise<Lease | undefined> {
    const { client, namespace, name } = this.#options
    return await find<Lease>(client, LEASE, { namespace, name }, request)
  }

  async #write(lease: Lease | undefined, request: RequestOptions): Promise<Lease> {
    const { client, clock, identity, namespace, name, timings } = this.#options
    // The API's MicroTime has six decimals.
    const now = toTime(clock.now()).replace('Z', '000Z')
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
    return lease === undefined ? await client.create(LEASE, next, request) : await client.replace(LEASE, next, request)
  }

  #request(signal: AbortSignal, deadline = Number.POSITIVE_INFINITY): RequestOptions {
    const { clock, timings } = this.#options
    const leftMs = Math.max(1, deadline - clock.monotonic())
    return { signal, timeoutMs: Math.min(Math.max(500, timings.renewDeadlineMs / 2), leftMs) }
  }

  #observe(lease: Lease): void {
    if (this.#observed?.lease.metadata.resourceVersion === lease.metadata.resourceVersion) return
    this.#observed = { lease, at: this.#options.clock.monotonic() }
  }

  #hasExpired(): boolean {
    if (this.#observed === undefined) return false
    const { lease, at } = this.#observed
    const { leaseDurationSeconds = 0 } = lease.spec ?? {}
    // A Lease stores only whole seconds. A shorter duration that we are configured with (in tests) takes precedence.
    const durationMs = Math.min(leaseDurationSeconds * 1_000, Math.max(this.#options.timings.durationMs, 1))
    return this.#options.clock.monotonic() - at > durationMs
  }

  /** Releases the Lease, so that the next leader can start at once. Reads it first, because a write that was cut short may have succeeded. */
  async #release(): Promise<void> {
    const { client, identity, log } = this.#options
    const request = { timeoutMs: 1_000 }
    try {
      const lease = await this.#read(request)
      if (lease?.spec?.holderIdentity !== identity) return
      const spec = { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1 }
      this.#observe(await client.replace(LEASE, { ...lease, spec }, request))
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      log.warn({ error: error.message }, 'could not give up the Lease; it expires by itself')
    }
  }
}

function versionOf(lease: Lease | undefined): string {
  return lease?.metadata.resourceVersion ?? ''
}
