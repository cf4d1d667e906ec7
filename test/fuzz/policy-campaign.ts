import { isDeepStrictEqual } from 'node:util'
import { POLICY_NAME, POLICY_SCHEMA } from '@open-terrain/constructs'
import fc from 'fast-check'
import { settled } from '../../operator/kube/fake-clock.fixtures.ts'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { ScriptedClient } from '../../operator/kube/scripted-client.fixtures.ts'
import { PolicyWatch } from '../../operator/policy-watch.ts'
import { silentLog } from '../harness/log.ts'
import { PolicyModel } from './policy-model.ts'
import { type PolicyWrite, policyWrites } from './policy-writes.ts'

/** Of a ledger that is there before the policy. */
const LEDGER_LIMIT = 17

export interface PolicyFinding {
  /** Arguments that make just these writes again. */
  readonly replay: string
  readonly difference: string
  readonly writes: string
}

export interface PolicyTally {
  /** ConfigMaps written, of which had a value that is not used. */
  writes: number
  withBadValues: number
  deletions: number
  finding: PolicyFinding | undefined
}

export interface PolicyCampaign {
  readonly seed: number
  /** How many sequences of writes. */
  readonly count: number
  /** Place of one run to make again. */
  readonly path?: string | undefined
}

/** Plays sequences of writes to the policy watch of the operator, and compares it with the model after each of them. */
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

/** Whether the text gives the first few of the names, shortened where they are long, and how many more there are. */
function isNaming(text: string, names: readonly string[]): boolean {
  const more = names.length - NAMES_SHOWN
  const list = more > 0 ? text.replace(` and ${more} more`, '') : text
  const shown = list.split(', ').map((name) => name.replace(/…$/, ''))
  const isOneOfThem = (part: string) => names.some((name) => name.startsWith(part))
  return (
    (more <= 0 || list !== text) && shown.length === Math.min(names.length, NAMES_SHOWN) && shown.every(isOneOfThem)
  )
}

/** The product's own watch, on an API server in memory. */
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
    return this.#differenceOfWarnings(badKeys)
  }

  /** One for each key whose value is not used, and one for all names together that are no keys: it counts them, and gives the first few. */
  #differenceOfWarnings(badKeys: readonly string[]): string | undefined {
    const told = this.#warnings.filter((text) => text.startsWith('Warning ') && !text.includes('was deleted'))
    const unusable = badKeys.filter((key) => Object.hasOwn(POLICY_SCHEMA, key))
    const unknown = badKeys.filter((key) => !Object.hasOwn(POLICY_SCHEMA, key))
    const toldOfKeys = told.filter((text) => !NO_KEYS.test(text))
    const isEachTold = unusable.every((key) => toldOfKeys.some((text) => text.startsWith(`Warning ${key}: `)))
    const toldOfNames = told.flatMap((text) => NO_KEYS.exec(text)?.[1] ?? [])
    const isRight =
      isEachTold && toldOfKeys.length === unusable.length && toldOfNames.length === (unknown.length === 0 ? 0 : 1)
    if (isRight && toldOfNames.every((names) => isNaming(names, unknown))) return undefined
    return `told: ${JSON.stringify(told)}; bad: ${JSON.stringify(badKeys)}`
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

/** What the ConfigMap of a write holds. */
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
