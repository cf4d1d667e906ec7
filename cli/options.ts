import { OPERATOR_NAMESPACE, parseDuration } from '@open-terrain/constructs/operator'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { fromTime } from '../operator/base/time.ts'
import type { ClusterContext } from './command-line.ts'
import { confirm } from './confirm.ts'
import type { LabChoice } from './labs.ts'
import { RESULT_FORMS, type ResultForm } from './outcomes.ts'
import type { Surroundings } from './surroundings.ts'

export const SELECTOR = [
  '-l, --selector <labels>',
  'labs with these labels, as kubectl takes them: course=net-1',
] as const

/** What {@link addSelection} has given a command. */
export interface SelectionFlags {
  readonly selector?: string
  readonly all?: boolean
  readonly yes?: boolean
  readonly output: ResultForm
}

/** What {@link addWait} has given a command. */
export interface WaitFlags {
  readonly wait?: boolean
  /** Milliseconds. */
  readonly timeout: number
}

const WAIT_MS = 15 * 60_000

/** Adds the options of a command that does something with labs. */
export function addSelection(command: Command): Command {
  return addResults(
    command
      .option(...SELECTOR)
      .option('--all', 'all labs of the cluster')
      .option('-y, --yes', 'do not ask'),
  )
}

/** Adds `-o` of a command that tells what became of each object. */
export function addResults(command: Command): Command {
  return command.addOption(
    new Option('-o, --output <form>', 'how to print the results').choices(RESULT_FORMS).default('text'),
  )
}

/** Adds `--wait` and `--timeout`. @param until what is waited for, as a sentence about --wait */
export function addWait(command: Command, until: string): Command {
  return command
    .option('-w, --wait', until)
    .addOption(new Option('--timeout <duration>', 'how long to wait').argParser(durationOf).default(WAIT_MS, '15m'))
}

/** Returns how long to wait, for those that take it as an option. */
export function waitOf({ wait, timeout }: WaitFlags): { readonly waitMs?: number } {
  return wait === true ? { waitMs: timeout } : {}
}

/** Returns which labs are meant. */
export function choiceOf(
  names: readonly string[],
  { selector, all }: Pick<SelectionFlags, 'selector' | 'all'>,
): LabChoice {
  return { names, ...(selector !== undefined && { selector }), ...(all && { all }) }
}

/** Asks somebody who takes all labs. Who names labs, or their class, knows which they are. Throws a CommandError unless somebody says yes. */
export async function confirmAll(
  surroundings: Pick<Surroundings, 'ask'>,
  verb: string,
  { all, yes }: Pick<SelectionFlags, 'all' | 'yes'>,
): Promise<void> {
  if (all === true && yes !== true) await confirm(surroundings, `${verb} all labs of the cluster?`)
}

/** Returns the option that says where the operator, its policy and the ledger of slots are. */
export function operatorNamespaceOption(): Option {
  return new Option('--operator-namespace <name>', 'where the operator is')
    .env('OPERATOR_NAMESPACE')
    .default(OPERATOR_NAMESPACE)
}

/** Returns when a command that goes on by itself is to end. */
export function untilInterrupted({ interrupted }: Pick<Surroundings, 'interrupted'>): AbortSignal {
  return interrupted?.() ?? new AbortController().signal
}

/** Parses an option that may be repeated. */
export function severalOf(text: string, before: readonly string[]): readonly string[] {
  return [...before, text]
}

/** Parses a duration, into milliseconds. */
export function durationOf(text: string): number {
  const ms = parseDuration(text)
  if (ms === undefined) throw new InvalidArgumentError('write a duration, such as 15m or 1h30m')
  return ms
}

/** Parses a time, into milliseconds since the epoch. */
export function timeOf(text: string): number {
  const ms = /^\d{4}-\d\d-\d\dT/.test(text) ? fromTime(text) : undefined
  if (ms === undefined) throw new InvalidArgumentError('write a time, such as 2026-01-31T18:00:00Z')
  return ms
}

/** What {@link addNamespace} has given a command. */
export interface NamespaceFlags {
  readonly namespace?: string
  readonly allNamespaces?: boolean
}

/** Adds the options that say in which namespace objects are. */
export function addNamespace(command: Command): Command {
  return command
    .option('-n, --namespace <name>', 'default: that of the context, else default')
    .addOption(new Option('-A, --all-namespaces', 'in all namespaces').conflicts('namespace'))
}

/** Returns the namespace that is meant; undefined: all of them. */
export function chosenNamespace(flags: NamespaceFlags, context: ClusterContext): string | undefined {
  return flags.allNamespaces === true ? undefined : (flags.namespace ?? context.namespace)
}

/** What {@link addPolicy} has given a command. */
export interface PolicyFlags {
  readonly set: readonly string[]
  readonly operatorNamespace: string
}

/** Adds the options that say which policy is meant. */
export function addPolicy(command: Command): Command {
  return command
    .addOption(
      new Option('--set <key=value>', 'as if the policy had this value; may be repeated')
        .argParser(severalOf)
        .default([], 'none'),
    )
    .addOption(
      new Option('--operator-namespace <name>', 'where the policy is')
        .env('OPERATOR_NAMESPACE')
        .default(OPERATOR_NAMESPACE),
    )
}
