import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import {
  COPIED_TYPES,
  type CopiedSecret,
  type CopiedType,
  type CopiedWorkspaceSecret,
  copiedUidOf,
  type Policy,
  SHARED_LABEL,
  virtualMachine,
  workspace,
} from '@open-terrain/constructs/operator'
import { controllerOfKind } from '../../../cluster/ownership.ts'
import { isTerminating, type KubeObject } from '../../../kube/kube-object.ts'
import { type ChildRefusal, childId } from '../../../runtime/child-refusals.ts'
import type { CopyRule } from '../secret-copy-rule.ts'

/** What a Secret of a workspace is to be a copy of, or why it cannot be one. */
export type SecretSource =
  | { readonly source: CopiedSecret }
  | {
      /** A sentence for people. */
      readonly obstacle: string
      /** Whether a copy that is there stays as it is. Default: it goes. */
      readonly isKept?: true
    }
  | {
      /** A sentence for people that says what is not known yet. Until then, a copy that is there stays as it is. */
      readonly pending: string
      /** The source as far as it is known: all but its type. */
      readonly seen: Omit<CopiedSecret, 'type'>
    }

/** Reports whether a copy that is there is to go. */
export function isWithdrawn(wanted: SecretSource | undefined): boolean {
  return wanted !== undefined && 'obstacle' in wanted && wanted.isKept !== true
}

/** Reports whether a copy that is there stays, although it is not to be written. */
export function isCopyKept(wanted: SecretSource | undefined): boolean {
  return wanted !== undefined && ('pending' in wanted || ('obstacle' in wanted && wanted.isKept === true))
}

type From = CopiedWorkspaceSecret['from']

/** Returns why nothing of that namespace is copied, in words for people. */
export function refusedNamespace({ namespace, name }: From, { sharedSecretNamespaces }: Policy): string | undefined {
  if (sharedSecretNamespaces.includes(namespace)) return undefined
  return `it is to be a copy of Secret ${namespace}/${name}, and the policy key sharedSecretNamespaces does not list namespace ${namespace}: have it added, or name a Secret of a namespace that is listed`
}

/** Returns why nothing is copied while nobody checks the rights of who asks for it, in words for people. */
export function refusedByRule({ namespace, name }: From, rule: CopyRule): string | undefined {
  if (rule.isSeen) return undefined
  return `it is to be a copy of Secret ${namespace}/${name}, and nothing is copied while the cluster does not check who may read what is copied: ${rule.why}; have the admission policies of Open Terrain installed again`
}

/** Returns why nothing is copied for a request of which nobody knows whether it was checked, in words for people. */
export function refusedUnchecked({ namespace, name }: From): string {
  return `it is to be a copy of Secret ${namespace}/${name}, and this was written while the rule that checks who may read that was not there, or was changed: take the entry out of secrets, wait for a minute, and add it again`
}

/** Returns why a Secret cannot be copied, in words for people. @param seen its metadata; undefined if there is none */
export function refusedSource({ namespace, name }: From, seen: KubeObject | undefined): string | undefined {
  const title = `Secret ${namespace}/${name}`
  if (seen === undefined)
    return `it is to be a copy of ${title}, which does not exist: have it created there, with label ${SHARED_LABEL}: "true"`
  if (isTerminating(seen)) return `it is to be a copy of ${title}, which is being deleted: have it created again`
  if (isMadeByUs(seen))
    return `it is to be a copy of ${title}, which the operator made: such Secrets are not copied, so name another one`
  if (!isShared(seen))
    return `it is to be a copy of ${title}, which is not shared: its owner shares it with: kubectl -n ${namespace} label secret ${name} ${SHARED_LABEL}=true`
  return undefined
}

/** Returns why Secrets of that type are not copied, in words for people. */
export function refusedType({ namespace, name }: From, type: string): string | undefined {
  if (isCopiedType(type)) return undefined
  return `it is to be a copy of Secret ${namespace}/${name}, which is of type ${type.slice(0, TYPE_MAX)}: only Secrets of these types are copied: ${COPIED_TYPES.join(', ')}`
}

/** Characters of a type that a message has. The API server limits none. */
const TYPE_MAX = 100

export function isCopiedType(type: string): type is CopiedType {
  return (COPIED_TYPES as readonly string[]).includes(type)
}

export function isShared({ metadata }: KubeObject): boolean {
  return metadata.labels?.[SHARED_LABEL] === 'true'
}

/** Reports whether a Secret is one of those that the operator makes for machines and workspaces. */
export function isMadeByUs(secret: KubeObject): boolean {
  const { labels, annotations = {} } = secret.metadata
  const marks = [ANNOTATIONS.generatedKeys, ANNOTATIONS.copiedFrom, ANNOTATIONS.copiedVersion, ANNOTATIONS.cloudInit]
  return (
    labels?.[LABELS.vmUid] !== undefined ||
    labels?.[LABELS.workspaceUid] !== undefined ||
    marks.some((mark) => annotations[mark] !== undefined) ||
    [virtualMachine, workspace].some((kind) => controllerOfKind(secret, kind) !== undefined)
  )
}

/** Reports whether a Secret that is there has other values than it is to have: it is a copy of another Secret, or is to be one, or is not to be one any more. */
export function isOfAnotherSource(existing: KubeObject, wanted: SecretSource | undefined): boolean {
  const uid = copiedUidOf(existing.metadata.annotations)
  if (wanted === undefined) return uid !== undefined
  return 'source' in wanted && wanted.source.uid !== uid
}

/** Reports whether a copy cannot be changed any more: somebody has made it immutable. Its metadata does not show that, and its values are those of its source. */
export function isFrozenCopy(
  existing: KubeObject,
  wanted: SecretSource | undefined,
  refusals: ReadonlyMap<string, ChildRefusal>,
): boolean {
  const isCopy = wanted !== undefined && 'source' in wanted && copiedUidOf(existing.metadata.annotations) !== undefined
  const { why, message = '' } = refusals.get(childId(existing)) ?? {}
  return isCopy && why === 'Refused' && message.includes('field is immutable')
}
