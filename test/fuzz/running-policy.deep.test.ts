import { POLICY_NAME } from '@open-terrain/constructs/operator'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isApiError } from '../../operator/kube/api-error.ts'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP } from '../../operator/kube/resource-types.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import { World } from '../harness/world.ts'
import { dataOf, differenceOfWarnings } from './policy-campaign.ts'
import { PolicyModel } from './policy-model.ts'
import { concurrencyValue, type PolicyWrite, policyWrites } from './policy-writes.ts'

const SEED = Number(process.env['FUZZ_SEED'] ?? 20778)
const IMAGES = 8
/** Number of consecutive writes of the policy. */
const WRITES = 60
const LIMIT_AT_START = 2

const isTakenByServer = (key: string) => /^[-._a-zA-Z0-9]{1,253}$/.test(key) && key !== '.' && key !== '..'
const isSmall = ({ text }: { readonly text: string }) => text.length < 1_000 && (Number(text.trim()) || 0) <= IMAGES

/** Keys whose usable values can make running downloads fail, or make images wait for something else. */
const STEERS_IMAGES = /^(default|attemptTimeout|stallTimeout|allowedSourceUrls)/

/** Writes that the API server accepts. A usable concurrency is small, because the existing images have to show it. */
const write = fc.tuple(policyWrites, concurrencyValue.filter(isSmall)).map(([[first], concurrency]): PolicyWrite => {
  const { values = {}, binary = [], isWithoutData = false, isNew = false } = first ?? {}
  const kept = Object.entries(values).filter(
    ([key, { text, reading }]) =>
      isTakenByServer(key) && text.length < 100_000 && (reading === undefined || !STEERS_IMAGES.test(key)),
  )
  const keys = binary.filter((key) => key !== 'concurrency')
  return { values: { ...Object.fromEntries(kept), concurrency }, binary: keys, isWithoutData, isNew }
})

describe('an operator whose policy is written over and over', () => {
  const cluster = useOwnCluster()

  it('admits by the last good limit, and says which values it does not use', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: String(LIMIT_AT_START) } })
    world.gate.hold('https://images.example.com/')
    await Promise.all(Array.from({ length: IMAGES }, (_, at) => world.createImage(`image-${at}`)))
    await world.until('the first policy is in force', () => world.ledger?.limit === LIMIT_AT_START)
    // A later policy may pause: only what has begun by then is held.
    await world.until('the first slots', () => world.ledger?.holders.length === LIMIT_AT_START)
    const model = new PolicyModel()
    model.take({
      values: { concurrency: { text: '', reading: { value: LIMIT_AT_START } } },
      binary: [],
      isWithoutData: false,
      isNew: true,
    })
    let most = LIMIT_AT_START
    for (const [at, one] of fc.sample(write, { seed: SEED, numRuns: WRITES }).entries()) {
      const before = world.logs.lines.length
      await writePolicy(world, one)
      model.take(one)
      const { concurrency } = model.policy
      most = Math.max(most, concurrency)
      const place = `write ${at} of seed ${SEED}: ${JSON.stringify(dataOf(one)).slice(0, 2_000)}`
      const told = () => world.logs.lines.slice(before)
      await world.until(`the policy was read after ${place}`, () => told().some(isAboutPolicy))
      expect(differenceOfWarnings(told().flatMap(warningIn), model.badKeys), place).toBeUndefined()
      await world.until(`limit ${concurrency} after ${place}`, () => world.ledger?.limit === concurrency)
      await world.until(`${most} slots after ${place}`, () => world.ledger?.holders.length === Math.min(most, IMAGES))
      const text = (await world.operator?.operator.metrics.render()) ?? ''
      expect(text, place).toContain(`ot_config_valid ${model.badKeys.length === 0 ? 1 : 0}\n`)
    }
    world.mostDownloads = Math.max(most, 3)
    await world.until('a Warning of a value', () => isWarned(world))
    await writePolicy(world, { values: { concurrency: { text: '3' } }, binary: [], isWithoutData: false, isNew: true })
    world.gate.releaseAll()
    for (let at = 0; at < IMAGES; at += 1) await world.untilSynced(`image-${at}`)
    await world.finish()
  })
})

const isAboutPolicy = (line: string) => line.includes('policy in force')

/** The logger tells its facts and then the message. */
function warningIn(line: string): string[] {
  const [, level, facts, message] = JSON.parse(line)
  return level === 'warn' && facts.reason === 'InvalidPolicy' ? [`Warning ${message}`] : []
}

const isWarned = (world: World) =>
  world.eventsOf(POLICY_NAME).some(({ type, reason }) => type === 'Warning' && reason === 'InvalidPolicy')

async function writePolicy(world: World, one: PolicyWrite): Promise<void> {
  const metadata = { namespace: world.operatorNamespace, name: POLICY_NAME }
  const wanted = { apiVersion: 'v1', kind: 'ConfigMap', metadata, ...dataOf(one) } as KubeObject
  if (!one.isNew) {
    const { resourceVersion = '' } = (await world.client.get(CONFIG_MAP, metadata)).metadata
    await world.client.replace(CONFIG_MAP, { ...wanted, metadata: { ...metadata, resourceVersion } })
    return
  }
  await world.client.delete(CONFIG_MAP, metadata).catch((error: unknown) => {
    if (!isApiError(error, 'NotFound')) throw error
  })
  await world.client.create(CONFIG_MAP, wanted)
}
