import {
  POLICY_DEFAULTS,
  POLICY_NAME,
  type Policy,
  parsePolicy,
  vmDiskImage,
  workspace,
} from '@open-terrain/constructs/operator'
import { toShortTime } from '../operator/base/time.ts'
import { dueImages } from '../operator/controllers/vm-disk-image/decide/expiry.ts'
import { parsedWorkspaceSpec, viewWorkspace } from '../operator/controllers/workspace/caches.ts'
import { dueLabs } from '../operator/controllers/workspace/decide/policy-ends.ts'
import { viewImage } from '../operator/images/image-view.ts'
import { find } from '../operator/kube/find.ts'
import type { KubeClient } from '../operator/kube/kube-client.ts'
import type { KubeObject } from '../operator/kube/kube-object.ts'
import { listWhole } from '../operator/kube/list-all.ts'
import { CONFIG_MAP } from '../operator/kube/resource-types.ts'
import { CommandError } from './exit-codes.ts'
import { tableOf } from './table.ts'

export const PREVIEW_FORMS = ['table', 'json'] as const
export type PreviewForm = (typeof PREVIEW_FORMS)[number]

interface PreviewOptions {
  /** Namespace of the operator, which the policy is in. */
  readonly namespace: string
  /** Values that the policy would have, as `KEY=VALUE`. */
  readonly changes: readonly string[]
  readonly output: PreviewForm
}

/** What the operator does because of the policy, unless somebody does something before. `-o json` prints a list of them. */
interface Due {
  /** Milliseconds since the epoch. */
  readonly atMs: number
  readonly effect: 'deleted' | 'switched off'
  readonly kind: 'VMDiskImage' | 'Workspace'
  /** With its namespace, if it is in one. */
  readonly name: string
}

/**
 * Returns what a policy deletes because nothing refers to it, and which labs it switches off because they say nothing of an end, as text for standard
 * output. Changes nothing. Throws CommandError and ApiError.
 */
export async function previewPolicy(
  client: KubeClient,
  { namespace, changes, output }: PreviewOptions,
  now: number,
): Promise<string> {
  const policy = await changedPolicy(client, namespace, changes)
  const images = dueImages(await listWhole(client, vmDiskImage, { project: viewImage }), policy, now)
  const labs = await listWhole(client, workspace, {
    project: (object) => {
      const lab = viewWorkspace(object)
      return { workspace: lab, spec: parsedWorkspaceSpec(lab) }
    },
  })
  const due: Due[] = [
    ...images.map(({ key, inMs }) => ({
      ...({ atMs: now + inMs, effect: 'deleted', kind: 'VMDiskImage', name: key } as const),
    })),
    ...dueLabs(labs, policy, now).map(({ name, atMs }) => ({
      ...({ atMs, effect: 'switched off', kind: 'Workspace', name } as const),
    })),
  ]
  const inOrder = due.toSorted((one, other) => one.atMs - other.atMs)
  if (output === 'json') return `${JSON.stringify(inOrder.map(asData), undefined, 2)}\n`
  if (inOrder.length === 0) return 'no image would be deleted, and no lab switched off\n'
  const rows = inOrder.map(({ atMs, effect, kind, name }) => [
    ...[atMs <= now ? 'at once' : toShortTime(atMs), effect, `${kind} ${name}`],
  ])
  return tableOf(['WHEN', 'EFFECT', 'OBJECT'], rows)
}

function asData({ atMs, ...rest }: Due): object {
  return { at: toShortTime(atMs), ...rest }
}

/** Returns the policy of the cluster with some other values. Throws a CommandError if one of those cannot be used. */
async function changedPolicy(client: KubeClient, namespace: string, changes: readonly string[]): Promise<Policy> {
  type Stored = KubeObject & { readonly data?: Readonly<Record<string, string>> }
  const stored = await find<Stored>(client, CONFIG_MAP, { namespace, name: POLICY_NAME })
  const values = changes.map((text) => text.split(/=(.*)/s).slice(0, 2))
  const { policy, problems } = parsePolicy({ ...stored?.data, ...Object.fromEntries(values) }, POLICY_DEFAULTS)
  const wrong = problems.filter(({ key }) => values.some(([name]) => name === key))
  if (wrong.length > 0)
    throw new CommandError('usage', wrong.map(({ key, message }) => `${key}: ${message}`).join('; '))
  return policy
}
