import { isDeepStrictEqual } from 'node:util'
import { POLICY_NAME, POLICY_STATUS_NAME, type Policy, policyTexts } from '@open-terrain/constructs/operator'
import { find } from './kube/find.ts'
import { type KubeObject, keyOf } from './kube/kube-object.ts'
import { CONFIG_MAP } from './kube/resource-types.ts'
import { LiveReadLoop, type LiveReadServices } from './runtime/live-read-loop.ts'

/** What the operator makes of the policy. */
export interface PolicyVerdict {
  readonly policy: Policy
  /** One sentence for each key that is not used as it is. */
  readonly problems: readonly string[]
  /** Whether there is a ConfigMap. */
  readonly isThere: boolean
}

interface PolicyStatusOptions extends LiveReadServices {
  readonly namespace: string
  readonly verdict: () => PolicyVerdict
  /** Reports whether a cache has the ConfigMap with this `<namespace>/<name>`. Nothing is read where it has none. */
  readonly isCached: (key: string) => boolean
}

interface StatusObject extends KubeObject {
  readonly immutable?: boolean
  readonly data?: Readonly<Record<string, string>>
}

/**
 * ConfigMap `sync-operator-policy-status` beside the policy: whether all of the policy is used, and the values in force. Events about it are gone after an
 * hour. It is looked at when a replica begins to lead and when the policy changes, and written only if it says something else.
 */
export class PolicyStatus extends LiveReadLoop {
  readonly #key: { readonly namespace: string; readonly name: string }

  constructor(options: PolicyStatusOptions) {
    const { client, namespace, verdict, isCached } = options
    const key = { namespace, name: POLICY_STATUS_NAME }
    super(options, 'policy-status', async (_key, signal) => {
      const data = dataOf(verdict())
      // If the cache is behind, the API server refuses the creation, and this runs again.
      const existing = isCached(keyOf(key)) ? await find<StatusObject>(client, CONFIG_MAP, key, { signal }) : undefined
      const present = Object.fromEntries(Object.keys(data).map((name) => [name, existing?.data?.[name]]))
      if (isDeepStrictEqual(present, data)) return undefined
      const { uid, resourceVersion } = existing?.metadata ?? {}
      if (existing !== undefined && existing.immutable !== true) {
        await client.mergePatch(CONFIG_MAP, key, { metadata: { uid, resourceVersion }, data }, { signal })
        return undefined
      }
      // Nobody can change what is immutable, or make it mutable again.
      if (existing !== undefined) await client.delete(CONFIG_MAP, key, { uid, resourceVersion, signal })
      await client.create(CONFIG_MAP, { apiVersion: 'v1', kind: 'ConfigMap', metadata: key, data } as StatusObject, {
        signal,
      })
      return undefined
    })
    this.#key = key
  }

  /** The verdict may have changed. */
  look(): void {
    this.readAfter(keyOf(this.#key), 0)
  }
}

function dataOf({ policy, problems, isThere }: PolicyVerdict): Record<string, string> {
  const values = Object.entries(policyTexts(policy)).map(([name, text]) => `${name}: ${JSON.stringify(text)}`)
  const absent = `there is no ConfigMap ${POLICY_NAME}: the values below stay in force until there is one`
  return {
    valid: String(problems.length === 0),
    problems: (isThere ? problems : [absent]).join('\n'),
    values: values.join('\n'),
  }
}
