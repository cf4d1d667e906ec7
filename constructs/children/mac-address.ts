import { sha256Hex } from '../api/sha256.ts'

/**
 * Returns the interfaces of a machine, in their order, each with its MAC address, such as `02:1a:2b:3c:4d:01`: locally administered, unicast, lower
 * case with colons. A network of a machine always has the same address, wherever it is in the list, and no two networks of a machine share one. Those
 * of KubeVirt would change with every start, but the network configuration of the guest is matched by them. One that the spec gives is taken.
 * @param scope UID of the Workspace, or of a VirtualMachine that belongs to none
 */
export function withMacAddresses<
  Interface extends { readonly network: string; readonly macAddress?: string | undefined },
>(
  scope: string,
  vmName: string,
  interfaces: readonly Interface[],
): (Omit<Interface, 'macAddress'> & { readonly macAddress: string })[] {
  const taken = new Map<string, string>()
  for (const network of interfaces.map((each) => each.network).sort()) {
    taken.set(
      firstFree(taken, network, (round) => macAddress(JSON.stringify([scope, vmName, network, round]))),
      network,
    )
  }
  const byNetwork = new Map([...taken].map(([address, network]) => [network, address]))
  return interfaces.map((each) => ({ ...each, macAddress: each.macAddress ?? byNetwork.get(each.network) ?? '' }))
}

function firstFree(taken: ReadonlyMap<string, string>, network: string, choice: (round: number) => string): string {
  let address = choice(0)
  for (let round = 1; (taken.get(address) ?? network) !== network; round++) address = choice(round)
  return address
}

function macAddress(seed: string): string {
  return ['02', ...(sha256Hex(seed).slice(0, 10).match(/../g) ?? [])].join(':')
}
