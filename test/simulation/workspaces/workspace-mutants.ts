import type { NetworkDefinitionsProps, PlayRecord } from '@open-terrain/constructs/operator'
import type { ComponentKind } from '../../../operator/controllers/workspace/decide/component-kind.ts'
import type { Mutant } from '../mutant.ts'
import { SHARED, WORKSPACES } from '../mutants/product-modules.ts'
import { countingFromCaches, countingNothing, takingOver } from '../mutants/reference-breaks.ts'
import { seam } from '../seam.ts'

type Judge = ComponentKind['summary']

/** Components of a kind are judged in another way. */
const judged = (which: string, judge: (...args: [...Parameters<Judge>, ReturnType<Judge>]) => ReturnType<Judge>) =>
  seam(WORKSPACES.kinds, 'KINDS', (kinds) =>
    kinds.map((kind) => {
      if (kind.kind !== which) return kind
      return { ...kind, summary: (...args) => judge(...args, kind.summary(...args)) }
    }),
  )

/** A kind of component reports that it is ready. */
const alwaysReady = (which: string) =>
  judged(which, (_world, _component, _now, judgement) => {
    return { ...judgement, summary: { phase: 'Ready', why: 'Ready', message: 'it works' } }
  })

/** A network has the configuration of another one. */
const bridgedAs = (other: (props: NetworkDefinitionsProps) => NetworkDefinitionsProps) =>
  seam(SHARED.constructs, 'renderWorkspaceNetwork', (renderWorkspaceNetwork) => (props) => {
    const others = renderWorkspaceNetwork(other(props))
    return renderWorkspaceNetwork(props).map((one, at) => ({ ...one, spec: others[at]?.spec ?? one.spec }))
  })

/** Plays of one phase are remembered as if nothing had been played yet. */
const forgetting = (which: PlayRecord['phase']) =>
  seam(WORKSPACES.plays, 'playRecordsIn', (playRecordsIn) => (world) => {
    return playRecordsIn(world).map((record) => {
      const { vm, play, phase, request } = record
      return phase === which ? { vm, play, phase: 'Pending', ...(request !== undefined && { request }) } : record
    })
  })

/** Deliberate defects in what the operator does for workspaces. */
export const WORKSPACE_MUTANTS: readonly Mutant[] = [
  {
    name: 'all of a workspace is removed at once',
    invariant: 7,
    seam: seam(WORKSPACES.planDeletion, 'planWorkspaceDeletion', (planWorkspaceDeletion) => (world, now) => {
      const plan = planWorkspaceDeletion(world, now)
      const remove = [...world.children.values()].map(
        ({ apiVersion, kind, metadata: { name, namespace, uid = '' } }) => {
          return { apiVersion, kind, name, uid, ...(namespace !== undefined && { namespace }) }
        },
      )
      return plan.finalizer === 'release' ? plan : { ...plan, remove }
    }),
    kind: 'workspacesCalm',
  },
  {
    name: 'a workspace is let go before all of it is gone',
    invariant: 7,
    alsoCaughtAs: [6],
    seam: seam(WORKSPACES.planDeletion, 'planWorkspaceDeletion', () => ({ workspace }) => {
      return { status: workspace.status, finalizer: 'release', apply: [], remove: [], events: [] }
    }),
    kind: 'workspacesCalm',
  },
  {
    name: 'a machine that the spec does not name any more stays',
    invariant: 7,
    seam: seam(WORKSPACES.removalOrder, 'leavingIn', (leavingIn) => (world) => {
      return leavingIn(world).filter(({ kind }) => kind !== 'VirtualMachine')
    }),
    kind: 'workspacesCalm',
    seed: 4,
  },
  {
    name: 'what has the name of a part is one',
    invariant: 6,
    seam: takingOver((_object, { kind }) => kind === 'Workspace'),
    kind: 'workspacesLate',
  },
  {
    name: 'networks of two workspaces have one bridge',
    invariant: 6,
    seam: bridgedAs((props) => ({ ...props, workspace: { name: 'lab', uid: 'lab' } })),
    kind: 'workspacesCalm',
  },
  {
    name: 'both networks of a workspace have one bridge',
    invariant: 6,
    seam: bridgedAs((props) => ({ ...props, network: { ...props.network, name: 'lan' } })),
    kind: 'workspacesCalm',
  },
  {
    name: 'nothing keeps others out of a workspace',
    invariant: 7,
    seam: seam(SHARED.constructs, 'renderWorkspaceNetworkPolicies', (renderWorkspaceNetworkPolicies) => (props) => {
      return renderWorkspaceNetworkPolicies(props).filter(({ metadata }) => metadata.name !== 'default-deny')
    }),
    kind: 'workspacesCalm',
  },
  {
    name: 'access to the internet leads to private addresses',
    invariant: 7,
    seam: seam(SHARED.constructs, 'renderWorkspaceInternetAccess', (renderWorkspaceInternetAccess) => (props) => {
      const made = renderWorkspaceInternetAccess(props)
      return { ...made, spec: { ...made.spec, egress: [{ to: [{ ipBlock: { cidr: '0.0.0.0/0', except: [] } }] }] } }
    }),
    kind: 'workspaces',
    seed: 3,
  },
  {
    name: 'a machine looks for its image in its own namespace',
    invariant: 7,
    alsoCaughtAs: [5],
    seam: seam(SHARED.constructs, 'renderWorkspaceMachine', (renderWorkspaceMachine) => (props) => {
      return renderWorkspaceMachine({ ...props, imageNamespace: props.workspace.name })
    }),
    kind: 'workspacesCalm',
    seed: 4,
  },
  {
    name: 'a new address of a member does not reach the file with the names of the others',
    invariant: 7,
    seam: seam(SHARED.constructs, 'renderClusterHosts', (renderClusterHosts) => {
      const first = new Map<string, ReturnType<typeof renderClusterHosts>>()
      return (props) => {
        const key = `${props.workspace.uid}/${props.cluster.name}`
        const made = renderClusterHosts(props)
        const old = first.get(key) ?? made
        first.set(key, old)
        return made.map((one, at) => ({ ...one, data: old[at]?.data ?? one.data }))
      }
    }),
    kind: 'workspaces',
    seed: 14,
  },
  {
    name: 'machines do not wait for their images',
    invariant: 7,
    seam: judged('Image', (_world, _component, _now, judgement) => ({ ...judgement, isThere: true })),
    kind: 'workspacesCalm',
  },
  {
    name: 'an image that does not exist is left to others, and no machine waits for it',
    invariant: 7,
    seam: judged('Image', ({ images }, { name }, _now, judgement) => {
      const { summary } = judgement
      return images.get(name)?.image === undefined ? { summary, isThere: true } : judgement
    }),
    kind: 'workspacesCalm',
  },
  {
    name: 'a workspace is Ready though its machines are not',
    invariant: 7,
    seam: alwaysReady('VirtualMachine'),
    kind: 'workspacesHanging',
    seed: 13,
  },
  {
    name: 'a workspace is Ready though its containers are not',
    invariant: 7,
    seam: alwaysReady('ContainerCluster'),
    kind: 'workspacesHanging',
    seed: 41,
  },
  {
    name: 'what somebody changed stays as it is',
    invariant: 7,
    seam: seam(WORKSPACES.asWanted, 'isAsWanted', () => () => true),
    kind: 'workspacesCalm',
    seed: 4,
  },
  {
    name: 'a part is written though it is as it should be',
    invariant: 7,
    seam: seam(WORKSPACES.asWanted, 'isAsWanted', () => () => false),
    kind: 'workspacesCalm',
  },
  {
    name: 'the components of a workspace are not counted',
    invariant: 7,
    seam: seam(WORKSPACES.status, 'workspaceStatusOf', (workspaceStatusOf) => (world, facts, now) => {
      const { counts: _counts, ready: _ready, ...status } = workspaceStatusOf(world, facts, now)
      return status
    }),
    kind: 'workspacesCalm',
  },
  {
    name: 'the status of a workspace is written though it says nothing new',
    invariant: 7,
    seam: seam(WORKSPACES.status, 'workspaceThrottleOf', () => () => ({ isStatusDue: true })),
    kind: 'workspacesCalm',
  },
  {
    name: 'nobody looks again when a part of a workspace changes',
    invariant: 7,
    seam: seam(WORKSPACES.triggers, 'listenForWorkspaceTriggers', () => () => []),
    kind: 'workspacesCalm',
  },
  {
    name: 'what is refused is tried again at once',
    invariant: 7,
    seam: seam(
      SHARED.childRefusals,
      'ChildRefusals',
      (ChildRefusals) =>
        class extends ChildRefusals {
          override isDue() {
            return true
          }

          override requeue(uid: string) {
            const requeue = super.requeue(uid)
            return requeue && { ...requeue, afterMs: 0 }
          }
        },
    ),
    kind: 'workspacesLate',
    seed: 4,
  },
  {
    name: 'a copy of a Secret keeps the values that it was made with',
    invariant: 7,
    seam: seam(WORKSPACES.secretCopies, 'withCopiedValues', (withCopiedValues) => async (wanted, existing, ...more) => {
      return existing === undefined ? await withCopiedValues(wanted, existing, ...more) : wanted
    }),
    kind: 'workspacesSharing',
    seed: 5,
  },
  {
    name: 'what somebody changed in a copy of a Secret is not noticed',
    invariant: 7,
    seam: seam(
      WORKSPACES.secretCopies,
      'SecretCopies',
      (SecretCopies) =>
        class extends SecretCopies {
          override differs() {
            return false
          }
        },
    ),
    kind: 'workspacesSharing',
    seed: 9,
  },
  {
    name: 'a key that a Secret of a workspace has lost is not noticed',
    invariant: 7,
    seam: seam(
      WORKSPACES.lostKeys,
      'LostKeys',
      (LostKeys) =>
        class extends LostKeys {
          override of() {
            return { has: [], lacks: [], marked: [] }
          }
        },
    ),
    kind: 'workspaces',
    seed: 108,
  },
  {
    name: 'a key that a Secret of a workspace has lost is made again, and nobody is told',
    invariant: 9,
    seam: alwaysReady('Secret'),
    kind: 'workspacesCalm',
    seed: 23,
  },
  {
    name: 'a Job that plays roles is started as soon as it is made',
    invariant: 7,
    seam: seam(SHARED.constructs, 'renderPlayJob', (renderPlayJob) => (props) => {
      const { spec, ...job } = renderPlayJob(props)
      return { ...job, spec: { ...spec, suspend: false as unknown as true } }
    }),
    kind: 'workspacesPlayedCalm',
  },
  {
    name: 'roles are played again when nobody saw how they ended',
    invariant: 7,
    seam: forgetting('Failed'),
    kind: 'workspacesPlayedCalm',
    seed: 3,
  },
  {
    name: 'roles are played on machines that were there before anybody played',
    invariant: 7,
    seam: forgetting('NotPlayed'),
    kind: 'workspacesPlayedCalm',
    seed: 23,
  },
  {
    name: 'a Job that somebody suspended is started again',
    invariant: 7,
    seam: seam(WORKSPACES.views, 'viewPlayJob', (viewPlayJob) => (object) => {
      const view = viewPlayJob(object)
      return { ...view, metadata: { ...view.metadata, generation: 1 } }
    }),
    kind: 'workspacesPlayedCalm',
    seed: 18,
  },
  {
    name: 'a workspace does not keep its images',
    invariant: 5,
    alsoCaughtAs: [7],
    seam: seam(WORKSPACES.references, 'WorkspaceReferences', countingNothing),
    kind: 'workspacesCalm',
  },
  {
    name: 'the references of workspaces are not counted at the moment of the decision',
    invariant: 5,
    seam: seam(WORKSPACES.references, 'WorkspaceReferences', countingFromCaches),
    kind: 'workspacesUnseen',
  },
  {
    name: 'a machine of a lab is not asked whether its guest is ready',
    invariant: 7,
    seam: seam(
      SHARED.constructs,
      'fieldsFromSpec',
      (fieldsFromSpec) =>
        ({ readiness: _readiness, ...spec }, ...more) => {
          return fieldsFromSpec(spec, ...more)
        },
    ),
    kind: 'workspacesCalm',
    seed: 5,
  },
  {
    name: 'machines stay on when their lab is switched off',
    invariant: 7,
    seam: seam(SHARED.constructs, 'renderWorkspaceMachine', (renderWorkspaceMachine) => (props) => {
      return renderWorkspaceMachine({ ...props, spec: { ...props.spec, powerState: 'Running' } })
    }),
    kind: 'workspacesSwitchedCalm',
    seed: 8,
  },
  {
    name: 'container clusters stay on when their lab is switched off, and it says that they are off',
    invariant: 7,
    seam: seam(WORKSPACES.kinds, 'KINDS', (kinds) =>
      kinds.map((kind) => {
        if (kind.kind !== 'ContainerCluster') return kind
        const off = { phase: 'Ready', why: 'Halted', message: 'it is off' } as const
        return {
          ...kind,
          children: ({ spec, ...more }) => kind.children({ ...more, spec: { ...spec, powerState: 'Running' } }),
          summary: (...args) => {
            const judgement = kind.summary(...args)
            return judgement.summary.why === 'Halting' ? { ...judgement, summary: off } : judgement
          },
        }
      }),
    ),
    kind: 'workspacesSwitchedCalm',
  },
  {
    name: 'a lab ends when it says, however late the warning was',
    invariant: 5,
    seam: seam(WORKSPACES.expiry, 'expiryRecordOf', (expiryRecordOf) => (world) => {
      const { expiresAt, expiry } = expiryRecordOf(world)
      if (expiry === undefined || expiresAt === undefined) return {}
      const noticeTime = new Date(0).toISOString()
      const isOwn = expiry.announced !== undefined && expiry.source === 'expiresAt'
      return isOwn ? { expiresAt: expiry.value, expiry: { ...expiry, noticeTime } } : { expiresAt, expiry }
    }),
    kind: 'workspacesEndingCalm',
  },
  {
    name: 'all labs whose end is reached are deleted at once',
    invariant: 5,
    seam: seam(
      WORKSPACES.expiry,
      'removalAtEnd',
      (removalAtEnd) => (world) => removalAtEnd({ ...world, expiry: { ...world.expiry, isTurn: true } }),
    ),
    kind: 'workspacesEndingCalm',
  },
  {
    name: 'the policy ends labs that say when they end themselves',
    invariant: 5,
    seam: seam(WORKSPACES.expiry, 'expiryRecordOf', (expiryRecordOf) => (world) => {
      const { spec, policy } = world
      if (!spec.ok || policy.workspaceLifetimeMs === undefined) return expiryRecordOf(world)
      const { expiresAt: _at, lifetime: _for, ...silent } = spec.spec
      return expiryRecordOf({ ...world, spec: { ok: true, spec: silent } })
    }),
    kind: 'workspacesEndingCalm',
  },
  {
    name: 'a lab is not looked at again when its end is near',
    invariant: 7,
    seam: seam(WORKSPACES.expiry, 'expiryRequeue', () => () => undefined),
    kind: 'workspacesEndingCalm',
  },
  {
    name: 'overrides of a lab are taken whatever the policy says',
    invariant: 7,
    seam: seam(WORKSPACES.overrides, 'refusedOverrides', () => () => undefined),
    kind: 'workspacesCalm',
  },
]
