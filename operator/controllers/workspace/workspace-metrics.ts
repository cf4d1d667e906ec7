import {
  EXPIRY_ACTIONS,
  PLAYS,
  type PlayRecord,
  WORKSPACE_PHASES,
  type WorkspaceStatus,
} from '@open-terrain/constructs/operator'
import type { Counter, Registry } from 'prom-client'
import type { Clock } from '../../base/clock.ts'
import { fromTime } from '../../base/time.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import { PhaseGauge } from '../../runtime/phase-gauge.ts'
import { LAB_STATES, type LabClass, labClasses, MACHINE_STATES } from './decide/classes.ts'
import { DATA_LOST } from './decide/component.ts'
import { volumeIdOf } from './decide/components/volume.ts'
import { secretsLosingMore } from './decide/generated-keys.ts'

const NONE: ReadonlySet<string> = new Set()
const ENDED: readonly PlayRecord['phase'][] = ['Succeeded', 'Failed']

interface Counted extends Pick<KubeObject, 'metadata'> {
  readonly status: WorkspaceStatus
}

/** Metrics of workspaces. Gauges are computed when they are scraped. Counters count what the cache shows, so a lost response does not change them. */
export class WorkspaceMetrics extends PhaseGauge<Counted> {
  readonly #lost: Readonly<Record<(typeof DATA_LOST)[number], Counter>>
  readonly #plays: Counter

  /** @param classLabel key of the label by whose values labs are counted. Undefined: they are not */
  constructor(registry: Registry, clock: Pick<Clock, 'now'>, classLabel?: string) {
    super(registry, 'ot_workspace_phase', 'Workspaces by phase', Object.keys(WORKSPACE_PHASES))
    this.observeLongestWait(
      'ot_workspace_longest_wait_seconds',
      'How long the Workspace that has waited longest has not been ready; 0 where none waits',
      clock,
    )
    this.meters.counted(
      'ot_workspace_expiring',
      'Workspaces whose end has been announced, by what happens then',
      'action',
      () => Array.from(this.objects()).flatMap(announcedFor),
      EXPIRY_ACTIONS,
    )
    this.meters.observed(
      'ot_workspace_longest_overdue_seconds',
      'For how long the Workspace whose end is longest over has been running on; 0 where there is none',
      () => longestOverdueSeconds(this.objects(), clock.now()),
    )
    this.#observeClasses(() => (classLabel === undefined ? [] : labClasses(this.objects(), classLabel)))
    this.#lost = {
      VolumeLost: this.meters.counter(
        'ot_workspace_volumes_lost_total',
        'Volumes of Workspaces whose data is gone, or goes with the pods that mount it',
      ),
      SecretLost: this.meters.counter(
        'ot_workspace_secrets_lost_total',
        'Secrets of Workspaces whose random values are gone, or go',
      ),
    }
    this.#plays = this.meters.counter(
      'ot_plays_total',
      'Plays of roles on machines of Workspaces that have ended',
      'play',
      'result',
    )
    // Starts at 0, so that the first one is an increase.
    for (const play of PLAYS) for (const result of ENDED) this.#plays.inc({ play, result }, 0)
  }

  #observeClasses(classes: () => readonly LabClass[]): void {
    this.meters.tabled('ot_class_workspaces', 'Workspaces by class and state', ['class', 'state'], () =>
      classes().flatMap(({ value, labs }) =>
        LAB_STATES.map((state) => ({ labels: { class: value, state }, value: labs[state] })),
      ),
    )
    this.meters.tabled(
      'ot_class_machines',
      'Machines of Workspaces that are deployed, by class and state',
      ['class', 'state'],
      () =>
        classes().flatMap(({ value, machines }) =>
          MACHINE_STATES.map((state) => ({ labels: { class: value, state }, value: machines[state] })),
        ),
    )
    this.meters.tabled(
      'ot_class_members_outdated',
      'Members of Workspaces that are of an earlier spec, by class, where there are any',
      ['class'],
      () =>
        classes().flatMap(({ value, outdated }) =>
          outdated === undefined ? [] : [{ labels: { class: value }, value: outdated }],
        ),
    )
  }

  /** Counts the plays that a change of a status reports as ended. One that is played again counts again: it has another Job, or is of another disk. */
  notePlays(before: WorkspaceStatus, after: WorkspaceStatus): void {
    const endOf = ({ vm, play, phase, of, job, jobUID }: PlayRecord) =>
      JSON.stringify([vm, play, phase, of, job, jobUID])
    const known = new Set(before.plays?.map(endOf))
    for (const record of after.plays ?? []) {
      const { play, phase } = record
      if (ENDED.includes(phase) && !known.has(endOf(record))) this.#plays.inc({ play, result: phase })
    }
  }

  /** Counts the components whose data a change of a status reports as lost. */
  noteLosses(before: WorkspaceStatus, after: WorkspaceStatus): void {
    for (const why of DATA_LOST) {
      // A status has no components while the spec cannot be used. What was told as lost before is not lost once more.
      const recorded = (before.lost ?? []).map(({ component }) => component)
      const known = new Set(lostIn(before, why))
      const losing = why === 'SecretLost' ? secretsLosingMore(before, after) : NONE
      for (const name of lostIn(after, why)) {
        const isTold = known.has(name) || (why === 'VolumeLost' && recorded.includes(volumeIdOf(name)))
        if (!isTold || losing.has(name)) this.#lost[why].inc()
      }
    }
  }
}

/** Returns for how many seconds the workspace that is longest past its end is neither switched off nor being deleted; 0 if none is. */
function longestOverdueSeconds(workspaces: Iterable<Counted>, now: number): number {
  let longest = 0
  for (const { metadata, status } of workspaces) {
    const { expiry, expiresAt } = status
    const isOver = metadata.deletionTimestamp !== undefined || (expiry?.ended === true && expiry.announced !== 'Delete')
    if (expiry !== undefined && !isOver) longest = Math.max(longest, now - (fromTime(expiresAt) ?? now))
  }
  return longest / 1_000
}

/** Returns what is going to happen to a workspace, if that has been announced. */
function announcedFor({ metadata, status }: Counted): string[] {
  const { announced, ended } = status.expiry ?? {}
  const isOver = metadata.deletionTimestamp !== undefined || (ended === true && announced === 'Halt')
  return announced === undefined || isOver ? [] : [announced]
}

function lostIn({ components = [] }: WorkspaceStatus, why: string): string[] {
  return components.flatMap(({ name, reason }) => (reason === why ? name : []))
}
