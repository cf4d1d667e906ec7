import { createReadStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** What an operator asked of an API server, however often. */
export interface Use {
  readonly verb: string
  readonly group: string
  /** With its subresource: `vmdiskimages/status`. */
  readonly resource: string
  readonly name?: string
  /** Of the operator's own namespace. */
  readonly isOwn: boolean
  /** By RBAC; what admission refuses is allowed. An API server that has just started allows nothing for a moment. */
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

const ACCOUNT = /^system:serviceaccount:(?<namespace>[^:]+):open-terrain-operator$/
/** Tests ask in the name of the account too: whether it has its rights, and what admission says of it. */
const OPERATOR = /^(open-terrain-)?operator(\/|$)/

/** What a line of an audit log tells; undefined where it is about somebody else, or about no object. */
export function parseUse(line: string): Use | undefined {
  const { verb, user, userAgent = '', objectRef, annotations = {} } = JSON.parse(line) as AuditEvent
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

/** What all audit logs of a folder tell. */
export async function readUses(folder: string): Promise<readonly Use[]> {
  const uses = new Map<string, Use>()
  for (const file of (await readdir(folder)).filter((one) => one.endsWith('.log'))) {
    for await (const line of createInterface({ input: createReadStream(join(folder, file)) })) {
      // The last line of an API server that was killed may be cut.
      const use = line.endsWith('}') ? parseUse(line) : undefined
      if (use === undefined) continue
      const { name, ...rest } = use
      // Thousands of names; those that are granted by name are of these.
      const isNamed = use.isOwn || use.group === 'coordination.k8s.io'
      uses.set(JSON.stringify(isNamed ? use : rest), use)
    }
  }
  return [...uses.values()]
}
