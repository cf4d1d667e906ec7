import { createHash } from 'node:crypto'
import { parse } from 'yaml'
import { isApiError } from '../../operator/kube/api-error.ts'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { SECRET } from '../../operator/kube/resource-types.ts'
import type { Instance, InterfaceStatus } from './kubevirt-models.ts'
import { uidOf } from './models.ts'
import type { World } from './world.ts'

interface SecretData extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
  readonly stringData?: Readonly<Record<string, string>>
}

interface Ethernets {
  readonly ethernets?: Readonly<
    Record<string, { readonly match?: { readonly macaddress?: string }; readonly addresses?: readonly string[] }>
  >
}

/**
 * What a running guest tells of its interfaces: those on the pod network have an address that is made up from instance and
 * interface, the others the ones that cloud-init's network configuration gives to their MAC address.
 */
export async function guestInterfaces(world: World, instance: Instance): Promise<InterfaceStatus[]> {
  const addresses = await staticAddresses(world, instance)
  const { domain, networks = [] } = instance.spec
  return (domain.devices?.interfaces ?? []).map(({ name, macAddress }, at) => {
    const digest = createHash('sha256')
      .update(`${uidOf(instance)} ${name}`)
      .digest()
    const mac = (macAddress ?? `02:${[...digest.subarray(0, 5)].map(hex).join(':')}`).toLowerCase()
    const isOnPodNetwork = networks.some((network) => network.name === name && network.pod !== undefined)
    const ipAddresses = isOnPodNetwork ? [`10.244.${digest[5]}.${digest[6]}`] : (addresses.get(mac) ?? [])
    const [ipAddress] = ipAddresses
    return {
      name,
      mac,
      interfaceName: `net${at}`,
      infoSource: 'domain, guest-agent',
      queueCount: 1,
      ...(ipAddress !== undefined && { ipAddress, ipAddresses }),
    }
  })
}

async function staticAddresses(world: World, { metadata, spec }: Instance): Promise<Map<string, string[]>> {
  const name = spec.volumes?.find((volume) => volume.cloudInitNoCloud)?.cloudInitNoCloud?.networkDataSecretRef?.name
  const { namespace } = metadata
  if (name === undefined || namespace === undefined) return new Map()
  const text = networkDataIn(await read(world, namespace, name))
  const ethernets = Object.values(ethernetsIn(text))
  return new Map(
    ethernets.map(({ match, addresses = [] }) => [
      (match?.macaddress ?? '').toLowerCase(),
      addresses.map((address) => address.replace(/\/\d+$/, '')),
    ]),
  )
}

async function read(world: World, namespace: string, name: string): Promise<SecretData | undefined> {
  try {
    return await world.client.get<SecretData>(SECRET, { namespace, name }, { signal: world.signal })
  } catch (error) {
    if (isApiError(error, 'NotFound')) return undefined
    throw error
  }
}

function networkDataIn(secret: SecretData | undefined): string {
  const encoded = secret?.data?.['networkdata'] ?? secret?.data?.['networkData']
  if (encoded !== undefined) return Buffer.from(encoded, 'base64').toString()
  // The in-memory API server keeps stringData as it was written.
  return secret?.stringData?.['networkdata'] ?? secret?.stringData?.['networkData'] ?? ''
}

/** A guest ignores a configuration that it cannot read. */
function ethernetsIn(text: string): NonNullable<Ethernets['ethernets']> {
  try {
    const parsed = parse(text) as (Ethernets & { readonly network?: Ethernets }) | null
    return (parsed?.network ?? parsed)?.ethernets ?? {}
  } catch {
    return {}
  }
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, '0')
}
