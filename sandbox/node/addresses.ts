/** Addresses inside of the network namespaces of a cluster. No other namespace sees them, so each cluster has the same ones. */
export const CONTROL_PLANE = '10.250.0.1'
export const WEBHOOKS = '10.250.0.2'
export const API_PORT = 6443
/** A name of images that nodes pull, from a registry that is started beside the API server when it is needed. */
export const REGISTRY = { name: 'registry.open-terrain.invalid', port: 5000 } as const
/** On the address of the control plane: a registry and an S3 server with disks, where tests start them. */
export const DISK_REGISTRY_PORT = 5080
export const S3_PORT = 9000
export const SERVICES = '10.96.0.0/16'
export const PODS = '10.244.0.0/16'

export interface NodeAddresses {
  readonly name: string
  readonly address: string
  readonly pods: string
  readonly gateway: string
}

export function nodeAddresses(index: number): NodeAddresses {
  const number = index + 1
  return {
    name: `node-${number}`,
    address: `10.250.0.${10 + number}`,
    pods: `10.244.${number}.0/24`,
    gateway: `10.244.${number}.1`,
  }
}
