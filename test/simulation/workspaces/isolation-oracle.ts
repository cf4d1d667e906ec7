import { networkNames } from '@open-terrain/constructs/operator'
import { keyOf } from '../../../operator/kube/kube-object.ts'
import { NETWORK_ATTACHMENT_DEFINITION } from '../../../operator/kube/resource-types.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { isOperator } from '../chronicle.ts'
import { WitnessOracle } from '../oracle/oracle.ts'
import type { World } from '../world.ts'
import { parsed } from './lab-content.ts'
import { isForPodsOf } from './lab-parts.ts'
import { NETWORKS } from './labs.ts'

/**
 * Invariant 6: no network of one workspace is that of another, or another of its own. Bridges and names of CNI plug-ins are shared by all namespaces of a
 * node: all definitions of one network have the same, and no others do.
 */
export class IsolationOracle extends WitnessOracle<World> {
  /** The network of each bridge and of each name, and the bridge and the name of each network. */
  readonly #ties = new Map<string, string>()

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
    // A workspace that is created again has other networks.
    const { namespace, ownerReferences } = object.metadata
    const network = `network ${networkOf(object.metadata.name)} of ${namespace} (${ownerReferences?.[0]?.uid})`
    for (const [one, other] of [
      [`bridge ${bridge}`, network],
      [`name ${name}`, network],
      [network, `bridge ${bridge}, name ${name}`],
    ] as const) {
      const known = this.#ties.get(one) ?? other
      if (known !== other) report(`ties ${one} to ${other}, and it was tied to ${known}`)
      this.#ties.set(one, other)
    }
  }
}

/** Returns which network of its workspace a definition is for. */
function networkOf(definition: string): string | undefined {
  // The name of one can look like that of one for a container cluster alone.
  const isShared = (network: string) => Object.values(networkNames(network)).includes(definition)
  return NETWORKS.find(isShared) ?? NETWORKS.find((network) => isForPodsOf(network, definition))
}
