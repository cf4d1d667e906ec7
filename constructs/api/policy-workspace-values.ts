import { z } from 'zod'
import { imageReference } from './image-reference.ts'
import { isAttachment } from './interface-words.ts'
import { ipText, parseCidr, parseIp } from './ip-address.ts'
import { isOverrideEntry } from './overrides.ts'
import { CONTAINER_DEVICES, SERVICE_TYPES } from './policy-fields.ts'
import { QUANTITY_PATTERN } from './quantity.ts'
import { DNS_LABEL } from './shared.ts'

/** Schemas for the policy values about workspaces, which are strings in a ConfigMap. */

/** Capabilities that a container may add at the level `baseline` of the Kubernetes Pod Security Standards. */
export const BASELINE_CAPABILITIES: ReadonlySet<string> = new Set([
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
])

const CAPABILITY = /^[A-Z][A-Z_]{0,31}$/

/** Names separated by commas or whitespace, each once. The list may be empty. */
const namesThat = (isGood: (name: string) => boolean, mustBe: string) =>
  z.string().transform((text, context): readonly string[] => {
    const names = text.split(/[\s,]+/).filter((name) => name !== '')
    const bad = names.find((name) => !isGood(name))
    if (bad === undefined) return [...new Set(names)]
    context.addIssue({ code: 'custom', message: `must be ${mustBe} (see ${bad})` })
    return z.NEVER
  })

export const capabilities = namesThat(
  (name) => CAPABILITY.test(name) && !name.startsWith('CAP_'),
  'capabilities of Linux in upper case without CAP_, such as NET_BIND_SERVICE,NET_ADMIN',
)

/** NetworkAttachmentDefinitions as `<namespace>/<name>`. */
export const attachments = namesThat(
  isAttachment,
  'namespaces and names of NetworkAttachmentDefinitions, such as vlans/vlan-100,vlans/vlan-200',
)

const NAMESPACE = new RegExp(DNS_LABEL)

/** Names of namespaces. */
export const namespaceNames = namesThat(
  (name) => NAMESPACE.test(name),
  'names of namespaces, such as registry-logins,licences',
)

/** Paths that `overrides` may set, as `<root>:<path>`. Something at or below each can be allowed. */
export const overrideEntries = namesThat(
  isOverrideEntry,
  'paths that can be overridden, such as vm:template.spec.domain.cpu.model,vm:template.spec.domain.features',
)

/** Registries and repositories have small letters. */
export const playerImage = imageReference('').refine((text) => /^[a-z0-9]/.test(text), {
  error: 'must be the reference of a container image such as registry.example.com/ansible:2.19, with small letters',
})

/** A text with some of these words, in their order, whatever that of the text is. */
function someOf<Word extends string>(words: readonly Word[]) {
  return namesThat((name) => words.some((word) => word === name), `some of ${words.join(', ')}`).transform(
    (names): readonly Word[] => words.filter((word) => names.includes(word)),
  )
}

export const serviceTypes = someOf(SERVICE_TYPES)

export const containerDevices = someOf(CONTAINER_DEVICES)

/** Resources that a ResourceQuota counts in whole objects. */
const COUNTED = [
  'pods',
  'services',
  'services.nodeports',
  'services.loadbalancers',
  'replicationcontrollers',
  'resourcequotas',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
] as const
/** Resources that it measures. A name with a slash is a resource that is not built in, or `count/<resource>`. */
const MEASURED =
  /^((requests[.]|limits[.])?(cpu|memory|ephemeral-storage)|requests[.]storage|(requests[.])?hugepages-[0-9]+[KMGT]i)$/
const QUALIFIED = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/[a-zA-Z0-9]([-a-zA-Z0-9_.]{0,61}[a-zA-Z0-9])?$/
const QUANTITY = new RegExp(QUANTITY_PATTERN)
const WHOLE = /^[0-9]{1,15}$/

/** `spec.hard` of a ResourceQuota, such as `requests.cpu=16,pods=50`. */
export const quota = z.string().transform((text, context): Readonly<Record<string, string>> => {
  const entries = text.split(/[\s,]+/).filter((entry) => entry !== '')
  const limits = new Map<string, string>()
  for (const entry of entries) {
    const [name = '', limit = '', ...more] = entry.split('=')
    if (more.length > 0 || limits.has(name) || !isLimit(name, limit)) {
      const message = `must be limits such as requests.cpu=16,requests.memory=64Gi,pods=50, each name once (see ${entry})`
      context.addIssue({ code: 'custom', message })
      return z.NEVER
    }
    limits.set(name, limit)
  }
  return Object.fromEntries(limits)
})

/** Reports whether the API server accepts the limit. */
function isLimit(name: string, limit: string): boolean {
  if ((COUNTED as readonly string[]).includes(name) || name.startsWith('count/')) {
    return WHOLE.test(limit) && (!name.includes('/') || QUALIFIED.test(name))
  }
  return (MEASURED.test(name) || QUALIFIED.test(name)) && QUANTITY.test(limit) && !limit.startsWith('-')
}

/** Public ranges in CIDR notation, or addresses, each once, or `none` for an empty list. An address becomes the range with it alone. */
export const publicCidrs = rangesThat(
  rangeOf,
  'ranges in CIDR notation or addresses such as 198.51.100.0/24,2001:db8::7',
).transform((ranges) => [...new Set(ranges)])

function rangeOf(text: string): string | undefined {
  if (parseCidr(text) !== undefined) return text
  const address = parseIp(text)
  return address && `${ipText(address)}/${address.family === 4 ? 32 : 128}`
}

/** Ranges separated by commas or whitespace, or `none` for an empty list. */
export const cidrs = rangesThat(
  (text) => (parseCidr(text) === undefined ? undefined : text),
  'ranges in CIDR notation such as 10.96.0.0/16,10.244.0.0/16',
)

/** A list separated by commas or whitespace, or `none` for an empty one. @param read returns the range that a text stands for; undefined: none */
function rangesThat(read: (text: string) => string | undefined, what: string) {
  return z.string().transform((text, context): readonly string[] => {
    if (text === 'none') return []
    const given = text.split(/[\s,]+/).filter((one) => one !== '')
    const ranges = given.flatMap((one) => read(one) ?? [])
    const bad = given.find((one) => read(one) === undefined)
    if (bad === undefined) return ranges
    context.addIssue({ code: 'custom', message: `must be ${what}, or none (see ${bad})` })
    return z.NEVER
  })
}
