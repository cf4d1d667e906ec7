import type { WorkspaceStatus } from '@open-terrain/constructs'
import { paceBetween, type StatusPace } from '../../../runtime/wake.ts'

/** Components become ready one after the other. Their workspace reports them at a steady pace. */
const COMPONENTS_EVERY_MS = 2_000
/** Messages of others about what a component waits for may change all the time. */
const WORDS_EVERY_MS = 10_000

/** Decides when a status is written: the state of the workspace at once, the states of its components every 2 s, and their messages every 10 s. */
export function workspacePaceOf(before: WorkspaceStatus, after: WorkspaceStatus, sinceWriteMs?: number): StatusPace {
  const aspects = [[standing, 0] as const, [components, COMPONENTS_EVERY_MS] as const]
  return paceBetween([before, after], aspects, WORDS_EVERY_MS, sinceWriteMs, 'where the components are is written then')
}

function standing({ phase, observedGeneration, conditions = [] }: WorkspaceStatus): unknown {
  return [phase, observedGeneration, conditions.map(({ type, status }) => [type, status])]
}

function components({ reason, namespace, components: all = [] }: WorkspaceStatus): unknown {
  return [reason, namespace, all.map(({ kind, name, phase, reason: why }) => [kind, name, phase, why])]
}
