import { POLICY_DEFAULTS, POLICY_KEYS, POLICY_STATUS_NAME } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { settled } from '../test/prepared/kube/fake-clock.ts'
import { aLiveReadBench } from '../test/prepared/runtime/look-bench.ts'
import { type KubeObject, keyOf } from './kube/kube-object.ts'
import { PolicyStatus, type PolicyVerdict } from './policy-status.ts'

const BAD = 'concurrency: "lots" is not used: must be a whole number'
const GOOD: PolicyVerdict = { policy: POLICY_DEFAULTS, problems: [], isThere: true }

interface Bench {
  readonly client: ReturnType<typeof aLiveReadBench>['client']
  readonly said: () => Readonly<Record<string, string>>
  readonly writes: () => readonly string[]
  /** The policy changes. */
  readonly change: (to: PolicyVerdict) => Promise<void>
}

/** A replica begins to lead. */
async function lead({ client, basics, run } = aLiveReadBench()): Promise<Bench> {
  let verdict = GOOD
  const isCached = (key: string) => client.all('ConfigMap').some(({ metadata }) => keyOf(metadata) === key)
  const status = run(new PolicyStatus({ ...basics, namespace: 'default', verdict: () => verdict, isCached }))
  const change = async (to: PolicyVerdict) => {
    verdict = to
    status.look()
    await settled()
  }
  await change(GOOD)
  const said = () => {
    const found = client.all('ConfigMap').find(({ metadata }) => metadata.name === POLICY_STATUS_NAME)
    return (found as { readonly data?: Readonly<Record<string, string>> } | undefined)?.data ?? {}
  }
  return { client, said, writes: () => client.callsOf('create', 'patch', 'replace', 'delete'), change }
}

describe('the status of the policy', () => {
  it('says whether all of it is used, and every value in force', async () => {
    const { said } = await lead()
    expect(said()).toMatchObject({ valid: 'true', problems: '' })
    const lines = said()['values']?.split('\n') ?? []
    expect(lines.map((line) => line.split(':')[0])).toEqual([...POLICY_KEYS])
    expect(lines).toEqual(expect.arrayContaining(['concurrency: "4"', 'stallTimeout: "15m"', 'imageUrlTemplate: ""']))
  })

  it('says what is not used as long as it is so, and that there is no policy', async () => {
    const { said, change } = await lead()
    await change({ ...GOOD, problems: [BAD] })
    expect(said()).toMatchObject({ valid: 'false', problems: BAD })
    await change({ ...GOOD, isThere: false })
    expect(said()).toMatchObject({ valid: 'true', problems: expect.stringMatching(/there is no ConfigMap/) })
  })

  it('replaces one that somebody has made immutable', async () => {
    const { said, change, client } = await lead()
    client.put({ ...(client.all('ConfigMap')[0] as KubeObject), immutable: true } as KubeObject)
    await change({ ...GOOD, problems: [BAD] })
    expect(said()).toMatchObject({ valid: 'false', problems: BAD })
  })

  it('is written only where it says something else, also by the next leader', async () => {
    const bench = aLiveReadBench()
    const { change } = await lead(bench)
    await change(GOOD)
    const { writes, client } = await lead(bench)
    expect(writes()).toEqual([`create ConfigMap default/${POLICY_STATUS_NAME}`])
    // Nobody reads what a cache has not.
    expect(client.callsOf('get')).toHaveLength(2)
  })
})
