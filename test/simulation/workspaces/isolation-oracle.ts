import { keyOf } from '../../../operator/kube/kube-object.ts'
import { NETWORK_ATTACHMENT_DEFINITION } from '../../../operator/kube/resource-types.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { isOperator } from '../chronicle.ts'
import { WitnessOracle } from '../oracle/oracle.ts'
import type { World } from '../world.ts'
import { parsed } from './lab-content.ts'

/**
 * Invariant 6: no network of one workspace is that of another, or another of its own. Bridges and names of CNI plug-ins are shared by all namespaces of a
 * node: the two definitions of one network have the same, and no others do.
 */
export class IsolationOracle extends WitnessOracle<World> {
  /** `<namespace>/<network>` by the bridge, and by the name, that its definitions have. */
  readonly #owners = new Map<string, string>()

  onCommit({ resource, type, object, actor, revision }: Commit): void {
    if (resource.kind !== NETWORK_ATTACHMENT_DEFINITION.kind || !isOperator(actor) || type === 'DELETED') return
    const config = parsed(object)
    const { bridge, name } = config ?? {}
    const report = (text: string) =>
      this.witness.report(6, `revision ${revision}: network ${keyOf(object.metadata)} ${text}`)
    if (bridge === undefined || name === undefined) {
      report('has no bridge of its own')
      return
    }
    if (bridge.length > 15) report(`has a bridge that no node can have: ${bridge}`)
    const owner = this.#owners.get(bridge)
    const own = `${object.metadata.namespace} ${name}`
    if (owner !== undefined && owner !== own) report(`has bridge ${bridge}, which is that of ${owner}`)
    this.#owners.set(bridge, own)
    const named = this.#owners.get(`name ${name}`)
    if (named !== undefined && named !== bridge) report(`is called ${name}, as one on bridge ${named} is`)
    this.#owners.set(`name ${name}`, bridge)
  }
}
