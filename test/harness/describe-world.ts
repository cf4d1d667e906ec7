import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { type Image, reasonOf } from './kinds.ts'
import type { LogBook } from './log.ts'
import type { Mirror } from './mirror.ts'
import { inNamespaces } from './own-objects.ts'

interface Describable {
  readonly mirror: Mirror
  readonly namespaces: readonly string[]
  readonly ledger: unknown
  readonly logs: LogBook
}

const SHOWN = 12

/** Describes the objects of a world, for the error of a wait that timed out. Unfinished ones come first, because the text may be truncated. */
export function describeWorld(world: Describable): string {
  const { images, dataVolumes, claims, pods, snapshots } = world.mirror
  const mine = <T extends KubeObject>(store: { values(): IterableIterator<T> }) =>
    inNamespaces(store, world.namespaces)
      .sort((one, other) => Number(isSucceeded(one)) - Number(isSucceeded(other)))
      .slice(0, SHOWN)
  const volumes = mine(dataVolumes).map(
    ({ metadata, status }) => `DataVolume ${metadata.name}: ${status?.phase} ${status?.progress}${gone(metadata)}`,
  )
  const rest = [...mine(claims), ...mine(pods), ...mine(snapshots)].map(
    ({ kind, metadata }) => `${kind} ${metadata.name}${gone(metadata)}`,
  )
  const logs = world.logs.lines.slice(-8).map((line) => `log ${line.slice(0, 400)}`)
  const ledger = `ledger: ${JSON.stringify(world.ledger)}`
  return [...mine(images).map(line), ledger, ...logs, ...volumes, ...rest].map((text) => `  ${text}`).join('\n')
}

function isSucceeded(object: KubeObject & { readonly status?: { readonly phase?: string } }): boolean {
  return object.status?.phase === 'Succeeded'
}

function line(image: Image): string {
  const { metadata, status } = image
  const attempts = status?.attempts?.map(({ outcome, reason }) => `${outcome}/${reason}`).join(', ') ?? ''
  return (
    `VMDiskImage ${metadata.name}: ${status?.phase} (${reasonOf(image)}) ${status?.message}; attempts: ${attempts}; ` +
    `finalizers: ${metadata.finalizers ?? ''}${gone(metadata)}`
  )
}

function gone({ deletionTimestamp }: KubeObject['metadata']): string {
  return deletionTimestamp === undefined ? '' : `, deleted at ${deletionTimestamp}`
}
