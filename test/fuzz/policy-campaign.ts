import { isDeepStrictEqual } from 'node:util'
import { POLICY_NAME, POLICY_SCHEMA } from '@open-terrain/constructs/operator'
import fc from 'fast-check'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { PolicyWatch } from '../../operator/policy-watch.ts'
import { silentLog } from '../harness/log.ts'
import { settled } from '../prepared/kube/fake-clock.ts'
import { ScriptedClient } from '../prepared/kube/scripted-client.ts'
import { PolicyModel } from './policy-model.ts'
import { type PolicyWrite, policyWrites } from './policy-writes.ts'

/** The limit of a ledger that exists before the policy. */
const LEDGER_LIMIT = 17

export interface PolicyFinding {
  /** Arguments that repeat exactly these writes. */
  readonly replay: string
  readonly difference: string
  readonly writes: string
}

export interface PolicyTally {
  /** Writes of the policy, including deletions; and ConfigMaps with a value that is not used. */
  writes: number
  withBadValues: number
  deletions: number
  finding: PolicyFinding | undefined
}

export interface PolicyCampaign {
  readonly seed: number
  /** Number of sequences of writes. */
  readonly count: number
  /** Path of one run to repeat. */
  readonly path?: string | undefined
}

/** Sends sequences of writes to the operator's policy watch, and compares it with the model after each write. */
export async function comparePolicies({ seed, count, path = '' }: PolicyCampaign): Promise<PolicyTally> {
  const tally: PolicyTally = { writes: 0, withBadValues: 0, deletions: 0, finding: undefined }
  const property = fc.asyncProperty(policyWrites, async (writes) => {
    const difference = await play(writes, tally)
    if (difference !== undefined) throw new Error(difference)
  })
  const run = await fc.check(property, { seed, numRuns: count, path })
  const [writes] = run.counterexample ?? []
  if (run.failed) {
    tally.finding = {
      replay: `--seed ${seed} --path ${run.counterexamplePath}`,
      difference: String(run.errorInstance),
      writes: JSON.stringify(writes?.map(dataOf), shortened, 2),
    }
  }
  return tally
}

async function play(writes: readonly PolicyWrite[], tally: PolicyTally): Promise<string | undefined> {
  const stage = new PolicyStage()
  const model = new PolicyModel()
  try {
    await stage.start()
    for (const write of writes) {
      model.take(write)
      await stage.write(write)
      tally.writes += 1
      if (write.values === undefined) tally.deletions += 1
      else if (model.badKeys.length > 0) tally.withBadValues += 1
      const difference = stage.differenceFrom(model, write)
      if (difference !== undefined) return difference
    }
    return undefined
  } finally {
    await stage.stop()
  }
}

const NO_KEYS = /^Warning (.*): (?:is not a key|are not keys) of the policy/
const NAMES_SHOWN = 5

/** Reports whether the text contains the first few of the names, shortened if they are long, and the number of the others. */
function isNaming(text: string, names: readonly string[]): boolean {
  const more = names.length - NAMES_SHOWN
  const list = more > 0 ? text.replace(` and ${more} more`, '') : text
  const shown = list.split(', ').map((name) => name.replace(/…$/, ''))
  const isOneOfThem = (part: string) => names.some((name) => name.startsWith(part))
  return (
    (more <= 0 || list !== text) && shown.length === Math.min(names.length, NAMES_SHOWN) && shown.every(isOneOfThem)
  )
}

/** Expects one warning for each key whose value is not used, and one for all unknown keys together, with their number and the first few. */
export function differenceOfWarnings(warnings: readonly string[], badKeys: readonly string[]): string | undefined {
  const told = warnings.filter((text) => text.startsWith('Warning ') && !text.includes('was deleted'))
  const unusable = badKeys.filter((key) => Object.hasOwn(POLICY_SCHEMA, key))
  const unknown = badKeys.filter((key) => !Object.hasOwn(POLICY_SCHEMA, key))
  const onKeys = told.filter((text) => !NO_KEYS.test(text))
  const isEachNamed = unusable.every((key) => onKeys.some((text) => text.startsWith(`Warning ${key}: `)))
  const onNames = told.flatMap((text) => NO_KEYS.exec(text)?.[1] ?? [])
  const isRight = isEachNamed && onKeys.length === unusable.length && onNames.length === (unknown.length === 0 ? 0 : 1)
  if (isRight && onNames.every((names) => isNaming(names, unknown))) return undefined
  return `told: ${JSON.stringify(told)}; bad: ${JSON.stringify(badKeys)}`
}

/** The operator's own policy watch, on an in-memory API server. */
class PolicyStage {
  readonly #client = new ScriptedClient()
  readonly #clock = this.#client.clock
  readonly #stopping = new AbortController()
  readonly #watch: PolicyWatch
  #running: Promise<void> | undefined
  #isValid = true
  #warnings: string[] = []
  #generation = 0
  #isThere = false

  constructor() {
    this.#watch = new PolicyWatch({
      client: this.#client,
      clock: this.#clock,
      random: () => 0,
      log: silentLog,
      namespace: 'ns',
      onValid: (isValid) => {
        this.#isValid = isValid
      },
    })
    this.#watch.onNote = (_subject, { type, message }) => this.#warnings.push(`${type} ${message}`)
  }

  async start(): Promise<void> {
    this.#running = this.#watch.run(this.#stopping.signal)
    await settled()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#clock.advance(0)
    await this.#running
  }

  async write(write: PolicyWrite): Promise<void> {
    this.#warnings = []
    if (this.#isThere && write.isNew) this.#remove()
    if (write.values === undefined) {
      await settled()
      return
    }
    if (write.isNew) this.#warnings = []
    this.#client.put(configMap(write, this.#generation))
    this.#isThere = true
    await settled()
  }

  differenceFrom({ policy, badKeys, isConcurrencyKnown }: PolicyModel, write: PolicyWrite): string | undefined {
    const { current } = this.#watch
    if (!isDeepStrictEqual(current, policy))
      return `in force: ${JSON.stringify(current)}; wanted: ${JSON.stringify(policy)}`
    const limit = isConcurrencyKnown ? policy.concurrency : LEDGER_LIMIT
    if (this.#watch.limit(LEDGER_LIMIT) !== limit)
      return `the limit is ${this.#watch.limit(LEDGER_LIMIT)}, not ${limit}`
    if (write.values === undefined) return undefined
    if (this.#isValid !== (badKeys.length === 0))
      return `the metric says ${this.#isValid} of ${badKeys.length} bad values`
    return differenceOfWarnings(this.#warnings, badKeys)
  }

  #remove(): void {
    this.#client.drop('ConfigMap', `ns/${POLICY_NAME}`)
    this.#isThere = false
    this.#generation += 1
  }
}

function configMap(write: PolicyWrite, generation: number): KubeObject {
  const metadata = { name: POLICY_NAME, namespace: 'ns', uid: `uid-${generation}` }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, ...dataOf(write) } as KubeObject
}

/** The content of the ConfigMap of a write. */
export function dataOf({ values, binary, isWithoutData }: PolicyWrite): object {
  if (values === undefined) return { deleted: true }
  const data = Object.fromEntries(Object.entries(values).map(([key, { text }]) => [key, text]))
  const isEmpty = Object.keys(values).length === 0 && isWithoutData
  const binaryData = Object.fromEntries(binary.map((key) => [key, 'AAH/']))
  return { ...(!isEmpty && { data }), ...(binary.length > 0 && { binaryData }) }
}

function shortened(_key: string, value: unknown): unknown {
  return typeof value === 'string' && value.length > 200 ? `${value.slice(0, 40)}… (${value.length} characters)` : value
}
