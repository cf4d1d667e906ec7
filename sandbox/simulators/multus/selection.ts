import { isIP } from 'node:net'
import { isMac, parseCidr } from './addresses.ts'

/** One network that a pod asks for. */
export interface NetworkSelection {
  readonly name: string
  readonly namespace: string
  /** Name of the interface in the pod. Undefined: `net1` and so on. */
  readonly interface: string | undefined
  readonly mac: string | undefined
  /** As written; undefined if none are requested. */
  readonly ips: readonly string[] | undefined
}

/** What keeps a pod from its networks, with the message of the component that reports it. */
export class NetworkError extends Error {}

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/
const LONGEST_INTERFACE = 15

/**
 * Parses the annotation `k8s.v1.cni.cncf.io/networks` as Multus does: JSON, or names separated by commas, as in
 * `net1,other/net2@eth1`. Of the elements in JSON it checks only MAC and IP addresses. Throws {@link NetworkError}.
 * @param namespace namespace of the pod, and of networks that name none
 */
export function parseSelections(annotation: string, namespace: string): readonly NetworkSelection[] {
  const found = /[[{"]/.test(annotation)
    ? fromJson(annotation)
    : annotation.split(',').map((item) => named(item.trim()))
  return found.map((one) => {
    if (one.mac !== undefined && !isMac(one.mac)) {
      throw failed(`parsePodNetworkAnnotation: failed to mac: address ${one.mac}: invalid MAC address`)
    }
    for (const ip of one.ips ?? []) checkIp(ip)
    return { ...one, namespace: one.namespace || namespace }
  })
}

function fromJson(annotation: string): NetworkSelection[] {
  const intro = 'parsePodNetworkAnnotation: failed to parse pod Network Attachment Selection Annotation JSON format'
  let parsed: unknown
  try {
    parsed = JSON.parse(annotation)
  } catch (error) {
    throw failed(`${intro}: ${(error as Error).message}`)
  }
  if (!Array.isArray(parsed)) throw failed(`${intro}: json: cannot unmarshal object into Go value of type []`)
  return parsed.map((element: Readonly<Record<string, unknown>>) => {
    const textOf = (field: string) => {
      const value = element[field] ?? ''
      if (typeof value !== 'string')
        throw failed(`${intro}: json: cannot unmarshal into Go struct field .${field} of type string`)
      return value
    }
    const ips = element['ips'] ?? undefined
    if (ips !== undefined && !(Array.isArray(ips) && ips.every((ip) => typeof ip === 'string'))) {
      throw failed(
        `${intro}: json: cannot unmarshal string into Go struct field NetworkSelectionElement.ips of type []string`,
      )
    }
    return {
      name: textOf('name'),
      namespace: textOf('namespace'),
      interface: textOf('interface') || undefined,
      mac: textOf('mac') || undefined,
      ips: ips as readonly string[] | undefined,
    }
  })
}

function named(item: string): NetworkSelection {
  const intro = 'parsePodNetworkAnnotation: parsePodNetworkObjectName'
  const slashed = item.split('/')
  if (slashed.length > 2) throw failed(`${intro}: Invalid network object (failed at '/')`)
  const [last = '', namespace = ''] = slashed.reverse()
  const [name = '', device, ...more] = last.split('@').map((part) => part.trim())
  if (more.length > 0) throw failed(`${intro}: Invalid network object (failed at '@')`)
  for (const part of [namespace.trim(), name]) {
    if (part === '' || LABEL.test(part)) continue
    throw failed(
      `${intro}: Failed to parse: one or more items did not match comma-delimited format (must consist of lower case alphanumeric characters). Must start and end with an alphanumeric character), mismatch @ '${part}'`,
    )
  }
  if (device !== undefined && (device.length > LONGEST_INTERFACE || /[\s/]/.test(device))) {
    throw failed(
      `${intro}: Failed to parse interface name: must be less than 15 chars and not contain '/' or spaces. interface name '${device}'`,
    )
  }
  return { name, namespace: namespace.trim(), interface: device || undefined, mac: undefined, ips: undefined }
}

function checkIp(ip: string): void {
  if (ip.includes('/')) {
    if (parseCidr(ip) === undefined) throw failed(`failed to parse CIDR "${ip}": invalid CIDR address: ${ip}`)
  } else if (isIP(ip) === 0) {
    throw failed(`failed to parse IP address "${ip}"`)
  }
}

function failed(why: string): NetworkError {
  return new NetworkError(`TryLoadPodDelegates: error in getting k8s network for pod: ${why}`)
}
