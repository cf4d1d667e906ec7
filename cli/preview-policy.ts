import { type Policy, parseQuantity, vmDiskImage, workspace } from '@open-terrain/constructs/operator'
import { compareTexts } from '../operator/base/messages.ts'
import { toShortTime } from '../operator/base/time.ts'
import { dueImages, isOfOurs } from '../operator/controllers/vm-disk-image/decide/expiry.ts'
import { parsedWorkspaceSpec, viewWorkspace } from '../operator/controllers/workspace/caches.ts'
import { dueLabs } from '../operator/controllers/workspace/decide/policy-ends.ts'
import { type ImageView, parsedImageSpec, viewImage } from '../operator/images/image-view.ts'
import type { KubeClient } from '../operator/kube/kube-client.ts'
import { isTerminating, keyOf } from '../operator/kube/kube-object.ts'
import { listWhole } from '../operator/kube/list-all.ts'
import { policyOfCluster } from './policy.ts'
import type { Surroundings } from './surroundings.ts'
import { bytesText, tableOf } from './table.ts'

export const PREVIEW_FORMS = ['table', 'json'] as const
export type PreviewForm = (typeof PREVIEW_FORMS)[number]

interface PreviewOptions {
  /** Namespace of the operator, which the policy is in. */
  readonly namespace: string
  /** Values that the policy would have, as `KEY=VALUE`. */
  readonly changes: readonly string[]
  readonly output: PreviewForm
  readonly tell: Surroundings['tell']
}

/** What the operator does because of the policy, unless somebody does something before. `-o json` prints a list of them. */
interface Due {
  /** Milliseconds since the epoch. Undefined: never, by itself. */
  readonly atMs: number | undefined
  /** `kept`: an image that nobody uses, and that the operator does not delete. */
  readonly effect: 'deleted' | 'switched off' | 'kept'
  /** Of what disks are cloned from, as the status of the image says: storage may use less. Absent: not known. */
  readonly bytes?: number | undefined
  readonly kind: 'VMDiskImage' | 'Workspace'
  /** With its namespace, if it is in one. */
  readonly name: string
  /** Why an image is kept. */
  readonly why?: string
}

/**
 * Returns the images that nothing refers to, which of them a policy deletes, and which labs it switches off because they say nothing of an end, as text for standard
 * output. Changes nothing. Throws CommandError and ApiError.
 */
export async function previewPolicy(
  client: KubeClient,
  { namespace, changes, output, tell }: PreviewOptions,
  now: number,
): Promise<string> {
  const policy = await policyOfCluster(client, namespace, changes, tell)
  const all = await listWhole(client, vmDiskImage, { project: viewImage })
  const images = dueImages(all, policy, now)
  const dueKeys = new Set(images.map(({ key }) => key))
  const bytes = new Map(all.map((image) => [keyOf(image.metadata), bytesOf(image)]))
  const kept = all.filter((image) => isUnused(image) && !isTerminating(image) && !dueKeys.has(keyOf(image.metadata)))
  const labs = await listWhole(client, workspace, {
    project: (object) => {
      const lab = viewWorkspace(object)
      return { workspace: lab, spec: parsedWorkspaceSpec(lab) }
    },
  })
  const due: Due[] = [
    ...images.map(({ key, inMs }) => ({
      ...({ atMs: now + inMs, effect: 'deleted', kind: 'VMDiskImage', name: key } as const),
      bytes: bytes.get(key),
    })),
    ...kept.map((image) => {
      const name = keyOf(image.metadata)
      const what = { atMs: undefined, effect: 'kept', kind: 'VMDiskImage', name, why: whyKept(image, policy) } as const
      return { ...what, bytes: bytes.get(name) }
    }),
    ...dueLabs(labs, policy, now).map(({ name, atMs }) => ({
      ...({ atMs, effect: 'switched off', kind: 'Workspace', name } as const),
    })),
  ]
  const last = Number.POSITIVE_INFINITY
  const inOrder = due.toSorted(({ atMs: one = last, name: a }, { atMs: other = last, name: b }) => {
    return one === other ? compareTexts(a, b) : one - other
  })
  if (output === 'json') return `${JSON.stringify(inOrder.map(asData), undefined, 2)}\n`
  if (inOrder.length === 0) return 'no image would be deleted, and no lab switched off\n'
  const rows = inOrder.map(({ atMs, effect, kind, name, why = '', bytes: size }) => [
    ...[whenOf(atMs, now), effect, size === undefined ? '' : bytesText(size), `${kind} ${name}`, why],
  ])
  return tableOf(['WHEN', 'EFFECT', 'SIZE', 'OBJECT', 'WHY'], rows) + summaryOf(inOrder)
}

function whenOf(atMs: number | undefined, now: number): string {
  if (atMs === undefined) return 'never'
  return atMs <= now ? 'at once' : toShortTime(atMs)
}

function asData({ atMs, ...rest }: Due): object {
  return { ...(atMs !== undefined && { at: toShortTime(atMs) }), ...rest }
}

/** Reports whether nothing refers to an image, as its status says. */
function isUnused({ status }: ImageView): boolean {
  return status.references?.count === 0
}

/** Returns why the operator does not delete an image that nobody uses. */
function whyKept(image: ImageView, policy: Policy): string {
  const parsed = parsedImageSpec(image)
  if (!parsed.ok) return 'its spec cannot be used'
  const { reclaimPolicy } = parsed.spec
  const key = isOfOurs({ image }) ? 'reclaimPolicy' : 'userReclaimPolicy'
  if (reclaimPolicy === 'Retain') return 'spec.reclaimPolicy is Retain'
  if (reclaimPolicy === undefined && policy[key] === 'Retain') return `${key} of the policy is Retain`
  if (image.status.unreferencedSince === undefined) return 'the operator has not yet said since when nobody uses it'
  return 'its unreferencedTTL is 0, and nobody has ever used it'
}

function bytesOf({ status }: ImageView): number | undefined {
  const bytes = parseQuantity(status.artifact?.restoreSize ?? '')
  return bytes === undefined ? undefined : Number(bytes)
}

/** Returns how many images nobody uses, and how much they hold: `2 images that nobody uses: 30.0 GiB; deleted: 1, 10.0 GiB`. */
function summaryOf(due: readonly Due[]): string {
  const images = due.filter(({ kind }) => kind === 'VMDiskImage')
  if (images.length === 0) return ''
  const sum = (those: readonly Due[]) => {
    const known = bytesText(those.reduce((total, { bytes = 0 }) => total + bytes, 0))
    const unknown = those.filter(({ bytes }) => bytes === undefined).length
    return `${those.length}, ${known}${unknown === 0 ? '' : ` and ${unknown} of unknown size`}`
  }
  const deleted = images.filter(({ effect }) => effect === 'deleted')
  return `\nimages that nobody uses: ${sum(images)}; of these deleted: ${sum(deleted)}\n`
}
