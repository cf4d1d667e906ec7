import { randomInt } from 'node:crypto'
import {
  asksForInternet,
  FINALIZERS,
  type Policy,
  quietReasons,
  WORKSPACE_CONDITION_RULES,
  WORKSPACE_REASON_HELP,
  type WorkspaceStatus,
} from '@open-terrain/constructs/operator'
import { isAsMadeBy } from '../../images/decide/ensure-image.ts'
import type { ClaimsOn } from '../../images/references.ts'
import { isTerminating, type KubeObject, keyOf, namespaceOf } from '../../kube/kube-object.ts'
import { ChildRefusals } from '../../runtime/child-refusals.ts'
import { ObjectController } from '../../runtime/object-controller.ts'
import type { ReferenceCount } from '../../runtime/preconditions.ts'
import { Refusals } from '../../runtime/refusals.ts'
import type { Services } from '../../runtime/services.ts'
import { AsideChildren } from './aside-children.ts'
import { BY_SECRET_SOURCE, parsedWorkspaceSpec, viewWorkspace, WORKSPACE, type WorkspaceCaches } from './caches.ts'
import { type ClusterRange, ClusterRanges } from './cluster-ranges.ts'
import { isDeletionDue } from './decide/expiry.ts'
import { keysKnownOf } from './decide/generated-keys.ts'
import { WRITTEN_TYPES } from './decide/kinds.ts'
import { planWorkspace } from './decide/plan.ts'
import { podlessPlays } from './decide/plays.ts'
import { hangingPods } from './decide/pod-trouble.ts'
import { workspaceThrottleOf } from './decide/status.ts'
import { ExpiryLimits } from './expiry-limits.ts'
import { type DrawInt, withGeneratedValues } from './generated-values.ts'
import { LostKeys } from './lost-keys.ts'
import { withChoicesOfPeople } from './machine-choices.ts'
import { isChildOfWorkspace, observeWorkspace } from './observe.ts'
import { PlayEnds } from './play-ends.ts'
import { PodWarnings } from './pod-warnings.ts'
import { SecretCopies, secretSourcesOf, withCopiedValues } from './secret-copies.ts'
import { SecretCopyRule } from './secret-copy-rule.ts'
import { listenForWorkspaceTriggers } from './triggers.ts'
import type { WorkspaceMetrics } from './workspace-metrics.ts'
import type { WorkspacePlan, WorkspaceView } from './world.ts'

/** Dozens of children of one workspace may change at once. This delay lets one reconcile handle them together. */
const CHILDREN_SETTLE_MS = 100

type Options = Services & {
  readonly caches: WorkspaceCaches
  readonly metrics: WorkspaceMetrics
  /** Counts the references to an image with live reads. Throws ApiError. */
  readonly countReferences: ReferenceCount
  readonly claimsOn: ClaimsOn
  /** For values of Secrets. Default: `randomInt` of node:crypto. */
  readonly draw?: DrawInt
  readonly policy: () => Policy
  /** Time of the API server. */
  readonly serverNow: () => number | undefined
  /** Calls `listener` on each change of the policy. Returns a function that stops this. */
  readonly onPolicyChange: (listener: () => void) => () => void
}

/** Reconciles Workspaces while this process leads. */
export class WorkspaceController extends ObjectController<WorkspaceView, WorkspacePlan, undefined> {
  constructor(options: Options) {
    const { client, caches, metrics, clock, countReferences, claimsOn, policy, onPolicyChange } = options
    const { draw = (max) => randomInt(max), serverNow } = options
    const limits = new ExpiryLimits(options)
    const refusals = new Refusals()
    const childRefusals = new ChildRefusals(options)
    const onChange = (key: string) => this.queue.add(key)
    const podWarnings = new PodWarnings({ ...options, onChange })
    const aside = new AsideChildren({ ...options, onChange })
    const lostKeys = new LostKeys({ ...options, secrets: caches.cluster.secrets, onChange })
    const playEnds = new PlayEnds({ ...options, onChange })
    const keysKnown = ({ metadata: { namespace = '', name } }: KubeObject) =>
      keysKnownOf(caches.workspaces.get(namespace)?.status ?? {}, name)
    const onChangeForAll = () => {
      for (const key of caches.workspaces.keys()) this.queue.add(key)
    }
    const ranges = new ClusterRanges({ ...options, onChange: onChangeForAll })
    const copyRule = new SecretCopyRule({
      ...options,
      onChange: (key) => (key === undefined ? onChangeForAll() : onChange(key)),
    })
    const { secrets } = caches.cluster
    const copies = new SecretCopies({
      ...options,
      secrets,
      onChange: (key) => {
        for (const { metadata } of caches.workspaces.find(BY_SECRET_SOURCE, key)) onChange(keyOf(metadata))
        if (caches.workspaces.get(namespaceOf(key)) !== undefined) onChange(namespaceOf(key))
      },
    })
    const sourcesOf = (workspace: WorkspaceView) => {
      if (isTerminating(workspace)) return new Map()
      const spec = parsedWorkspaceSpec(workspace)
      const wanted = spec.ok ? (spec.spec.secrets ?? []) : undefined
      return secretSourcesOf(workspace, wanted, { policy: policy(), secrets, copies, rule: copyRule })
    }
    super(options, caches.reflectors, {
      type: WORKSPACE,
      finalizer: FINALIZERS.workspace,
      // It deletes itself at its end.
      children: [...WRITTEN_TYPES, { type: WORKSPACE, propagationPolicy: 'Background' }],
      store: caches.workspaces,
      // Each workspace is a group of its own.
      groupOf: (key) => key,
      listen: (queue) => [
        ...listenForWorkspaceTriggers(
          caches,
          () => policy().imageNamespace,
          (key) => queue.addAfter(key, CHILDREN_SETTLE_MS),
        ),
        limits.listen(),
        onPolicyChange(onChangeForAll),
        lostKeys.listen(),
        copies.listen(),
        caches.workspaces.onChange(({ before, after }) => {
          if (before === undefined || after === undefined) return
          metrics.noteLosses(before.status, after.status)
          metrics.notePlays(before.status, after.status)
        }),
      ],
      completed: async (wanted, existing, signal) => {
        const chosen = withChoicesOfPeople(wanted, existing)
        const whole = await withGeneratedValues(chosen, existing, { client, draw, keysKnown }, signal)
        return await withCopiedValues(whole, existing, client, signal)
      },
      alsoEventsIn,
      onGone: ({ metadata }) => {
        podWarnings.forget(keyOf(metadata))
        caches.renderings.forget(metadata.uid ?? '')
        copyRule.forget(metadata.uid ?? '')
      },
      whole: viewWorkspace,
      gauges: metrics,
      quietReasons: quietReasons(WORKSPACE_REASON_HELP),
      states: {
        reasons: WORKSPACE_REASON_HELP,
        conditions: WORKSPACE_CONDITION_RULES,
      },
      loops: [podWarnings, aside, lostKeys, playEnds, copies, ranges, copyRule],
      plan: (workspace) => {
        if (!caches.childCaches.isComplete) return undefined
        const known = rangesFor(policy(), ranges)
        if (known === undefined) return undefined
        const spec = parsedWorkspaceSpec(workspace)
        const needsRanges = policy().allowInternetAccess && spec.ok && asksForInternet(spec.spec)
        const shown = needsRanges ? ranges.lookWhole() : []
        if (shown === undefined) return undefined
        const secretSources = sourcesOf(workspace)
        const { uid = '' } = workspace.metadata
        const expiry = { serverNow: serverNow(), noticeMs: limits.noticeMs }
        const seen = { workspace, spec, policy: policy() }
        const isTurn = isDeletionDue({ ...seen, expiry: { ...expiry, isTurn: false } }) && limits.take(uid)
        const world = observeWorkspace(workspace, caches, {
          aside,
          lostKeys,
          playEnds,
          copies,
          secretSources,
          claimsOn,
          policy: policy(),
          expiry: { ...expiry, isTurn },
          ranges: known,
          clusterRanges: needsRanges ? cidrsOf(shown) : undefined,
          refusals: childRefusals.of(uid),
          isUndecided: childRefusals.isUndecided(uid),
          refusal: refusals.of(uid),
        })
        const key = keyOf(workspace.metadata)
        const warnings = podWarnings.look(key, key, [...hangingPods(world), ...podlessPlays(world)])
        return planWorkspace({ ...world, podWarnings: warnings }, clock.now())
      },
      reads: { hasOurs: (found, workspace) => found.some((one) => isOurs(one, workspace)), countReferences },
      throttle: ({ status }, plan, sinceWriteMs) => workspaceThrottleOf(status, plan.status, sinceWriteMs),
      factsBetween: (_before, status) => ({ components: (status as WorkspaceView['status']).ready }),
      refusals,
      childRefusals,
      isOurs,
    })
  }
}

/** Who works in a lab may have no right to read the Workspace, nor the Events of what is in no namespace. */
function alsoEventsIn({ spec }: WorkspaceView, status: WorkspaceStatus): string | undefined {
  const { owners } = (spec ?? {}) as { readonly owners?: unknown }
  return Array.isArray(owners) && owners.length > 0 ? status.namespace : undefined
}

/** Returns the ranges that networks must not overlap, or undefined until they were looked for. Overlays do not pass the rules of a node. */
function rangesFor(
  { networkDriver, clusterCidrs }: Policy,
  ranges: ClusterRanges,
): readonly ClusterRange[] | undefined {
  if (networkDriver !== 'bridge') return []
  if (clusterCidrs === undefined) return ranges.look()
  return clusterCidrs.map((cidr) => ({ cidr, what: 'the policy key clusterCidrs' }))
}

function cidrsOf(ranges: readonly ClusterRange[] | 'unknown'): readonly string[] | 'unknown' {
  return ranges === 'unknown' ? ranges : ranges.map(({ cidr }) => cidr)
}

/** No workspace owns an image. An image to be corrected counts as ours if this workspace was the last to write its spec. */
function isOurs(found: KubeObject, workspace: WorkspaceView): boolean {
  return isChildOfWorkspace(found, workspace) || isAsMadeBy(workspace, found)
}
