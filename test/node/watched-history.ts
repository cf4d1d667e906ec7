import { systemClock } from '../../operator/base/clock.ts'
import { LEDGER_NAME } from '../../operator/controllers/vm-disk-image/admission/slot-ledger.ts'
import type { HttpKubeClient } from '../../operator/kube/http-client.ts'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP, DATA_VOLUME, POD } from '../../operator/kube/resource-types.ts'
import type { SeenEvent } from '../harness/etcd-history.ts'
import { IMAGE } from '../harness/kinds.ts'

/**
 * Every revision of the images, DataVolumes and pods of one namespace, and of the slots of an operator, by watches that go on where they
 * broke off. A world of simulators asks etcd itself; a cluster that somebody made shows only its API server.
 */
export class WatchedHistory {
  /** Events of one kind are in order. */
  readonly events: SeenEvent[] = []
  readonly #client: HttpKubeClient
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>[]

  constructor(client: HttpKubeClient, namespace: string, operatorNamespace: string) {
    this.#client = client
    this.#running = [
      ...[IMAGE, DATA_VOLUME, POD].map((type) => this.#follow(type, namespace)),
      this.#follow(CONFIG_MAP, operatorNamespace, `metadata.name=${LEDGER_NAME}`),
    ]
    for (const running of this.#running) running.catch(() => undefined)
  }

  /** Throws if revisions may be missing. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all(this.#running)
  }

  async #follow(type: ResourceType, namespace: string, fieldSelector?: string): Promise<void> {
    const { signal } = this.#stopping
    let resourceVersion: string | undefined
    while (!signal.aborted) {
      const from = { ...(resourceVersion && { resourceVersion }), ...(fieldSelector && { fieldSelector }) }
      for await (const event of this.#client.watch<KubeObject>(type, { namespace, signal, ...from })) {
        if (event.type === 'BOOKMARK') resourceVersion = event.resourceVersion
        else {
          resourceVersion = event.object.metadata.resourceVersion
          this.events.push({ kind: type.kind, type: event.type, object: event.object, at: systemClock.monotonic() })
        }
      }
    }
  }
}
