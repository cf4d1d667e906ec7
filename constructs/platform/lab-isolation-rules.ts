import { BRIDGE_PREFIX } from '../children/workspace-names.ts'

/** Name of the tables, in the families `inet` and `arp`. */
export const LAB_TABLE = 'open_terrain_labs'

/** All bridges of workspaces on a node, as `nft` writes it. */
const LABS = `"${BRIDGE_PREFIX}*"`
/** Before everything that others may have on the hook, connection tracking and its NAT included. */
const FIRST = 'priority -300; policy accept;'

/**
 * Returns rules for `nft -f` that keep a node out of the networks that its Linux bridges carry. The bridge of a network is also an interface of the
 * node: without rules a member reaches the node by its link-local address, and the node answers ARP requests for its own addresses there. Where
 * `bridge-nf-call-iptables` is on, as Kubernetes asks for, frames between members also pass the NAT rules of the node: one to an address that is
 * that of a Service goes there. What is not tracked is not translated. Members reach each other as before.
 *
 * The rules name no bridge and hold no state, so they are loaded once for all bridges to come. Loading them again replaces them.
 */
export function labIsolationRules(): string {
  return `# Keeps this node, its Services and its pods out of the networks of workspaces. Load it with: nft -f FILE
table inet ${LAB_TABLE} { }
delete table inet ${LAB_TABLE}
table inet ${LAB_TABLE} {
  chain prerouting {
    type filter hook prerouting ${FIRST}
    iifname ${LABS} notrack
  }
  chain input {
    type filter hook input ${FIRST}
    iifname ${LABS} drop
  }
  chain forward {
    type filter hook forward ${FIRST}
    iifname ${LABS} oifname != ${LABS} drop
    iifname != ${LABS} oifname ${LABS} drop
  }
  chain output {
    type filter hook output ${FIRST}
    oifname ${LABS} drop
  }
}
table arp ${LAB_TABLE} { }
delete table arp ${LAB_TABLE}
table arp ${LAB_TABLE} {
  chain input {
    type filter hook input ${FIRST}
    iifname ${LABS} drop
  }
  chain output {
    type filter hook output ${FIRST}
    oifname ${LABS} drop
  }
}
`
}
