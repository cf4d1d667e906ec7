import { createReadStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** A request of an operator to an API server, no matter how often it was sent. */
export interface Use {
  readonly verb: string
  readonly group: string
  /** With its subresource, such as `vmdiskimages/status`. */
  readonly resource: string
  readonly name?: string
  /** Whether it was in the operator's own namespace. */
  readonly isOwn: boolean
  /** Whether RBAC allowed it, even if admission refused it. An API server that has just started allows nothing for a moment. */
  readonly isAllowed: boolean
}

interface AuditEvent {
  readonly verb: string
  readonly requestURI: string
  readonly userAgent?: string
  readonly user: { readonly username: string }
  readonly objectRef?: {
    readonly resource: string
    readonly subresource?: string
    readonly apiGroup?: string
    readonly namespace?: string
    readonly name?: string
  }
  readonly annotations?: Readonly<Record<string, string>>
}

/** With this each event begins. Inside one, the quotation marks would be escaped. */
const EVENT = '{"kind":"Event","apiVersion":"audit.k8s.io/'
const ACCOUNT = /^system:serviceaccount:(?<namespace>[^:]+):open-terrain-operator$/
/** Tests use the account too, to check its permissions and what admission allows it. */
const OPERATOR = /^(open-terrain-)?operator(\/|$)/

/**
 * Parses a line of an audit log. Undefined if it is about another account or about no object, or if it is truncated. An API server that is
 * killed may truncate its last line; after its restart, the next event is written to the end of that line.
 */
export function parseUse(line: string): Use | undefined {
  const event = parseEvent(line.slice(Math.max(0, line.lastIndexOf(EVENT))))
  if (event === undefined) return undefined
  const { verb, user, userAgent = '', objectRef, annotations = {} } = event
  const own = ACCOUNT.exec(user.username)?.groups?.['namespace']
  if (own === undefined || objectRef === undefined || !OPERATOR.test(userAgent)) return undefined
  const { apiGroup: group = '', resource, subresource, namespace, name } = objectRef
  return {
    verb,
    group,
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    ...(name !== undefined && { name }),
    isOwn: namespace === own,
    isAllowed: annotations['authorization.k8s.io/decision'] === 'allow',
  }
}

function parseEvent(text: string): AuditEvent | undefined {
  try {
    return JSON.parse(text) as AuditEvent
  } catch {
    return undefined
  }
}

/** Reads all audit logs of a folder. */
export async function readUses(folder: string): Promise<readonly Use[]> {
  const uses = new Map<string, Use>()
  for (const file of (await readdir(folder)).filter((one) => one.endsWith('.log'))) {
    for await (const line of createInterface({ input: createReadStream(join(folder, file)) })) {
      const use = parseUse(line)
      if (use === undefined) continue
      const { name, ...rest } = use
      // There are thousands of names. Only these can be granted by name.
      const isNamed = use.isOwn || use.group === 'coordination.k8s.io'
      uses.set(JSON.stringify(isNamed ? use : rest), use)
    }
  }
  return [...uses.values()]
}
