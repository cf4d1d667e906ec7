import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import { SECRET } from '../../../operator/kube/resource-types.ts'
import { Reflector } from '../../../operator/runtime/reflector.ts'
import { Store } from '../../../operator/runtime/store.ts'
import { settled } from '../kube/fake-clock.ts'
import { type HeldWatch, HeldWatches } from '../kube/held-watches.ts'
import { ScriptedClient } from '../kube/scripted-client.ts'
import { fakeLog } from './fake-log.ts'

/** A cluster, and a reflector of its Secrets once a test starts it. */
export class ReflectorBench {
  readonly client = new ScriptedClient()
  readonly clock = this.client.clock
  readonly watches = new HeldWatches()
  readonly store = new Store<KubeObject>()
  readonly log = fakeLog()
  readonly stop = new AbortController()
  relists = 0
  /** Projects an object; may throw. */
  project = (object: KubeObject) => object

  constructor() {
    this.client.held = this.watches
  }

  async start(chance = 0) {
    const { client, clock, store, log } = this
    const reflector = new Reflector<KubeObject>({
      client,
      clock,
      store,
      type: SECRET,
      selection: { metadataOnly: true },
      random: () => chance,
      log,
      project: (object) => this.project(object),
      onRelist: () => {
        this.relists += 1
      },
    })
    let isSynced = false
    void reflector.synced.then(() => {
      isSynced = true
    })
    const ended = reflector.run(this.stop.signal)
    await settled()
    return { reflector, ended, isSynced: () => isSynced }
  }

  get names(): string[] {
    return [...this.store.values()].map(({ metadata }) => metadata.name)
  }

  get verbs(): string[] {
    return this.client.calls.map(({ verb }) => verb)
  }

  /** The watch that was opened last. */
  get watch(): HeldWatch {
    const last = this.watches.opened.at(-1)
    if (last === undefined) throw new Error('no watch')
    return last
  }

  async end(): Promise<void> {
    this.stop.abort()
    await this.clock.advance(0)
  }
}

export const secret = (name: string, resourceVersion?: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: 'n', uid: name, ...(resourceVersion !== undefined && { resourceVersion }) },
})
