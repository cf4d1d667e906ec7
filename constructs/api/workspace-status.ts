import { z } from 'zod'
import type { ConditionRules, WithConditions } from '../schema/condition-rules.ts'
import { namesIn } from './reason-help.ts'
import { conditionOfPhase, count, maybeText, PROGRESS_CONDITIONS, statusOf } from './shared.ts'
import { PLAYS, playRecord } from './workspace-ansible.ts'
import { expiryStatusFields } from './workspace-expiry.ts'
import { WORKSPACE_LIMITS } from './workspace-limits.ts'
import type { WorkspaceReason } from './workspace-reasons.ts'

export const WORKSPACE_PHASES = {
  /** The workspace is being set up, or waits for something. */
  Provisioning: 'Provisioning',
  /** At least one component failed. The workspace leaves this phase by itself when the cause is gone. */
  Failed: 'Failed',
  /** Every component is ready. */
  Ready: 'Ready',
} as const
export type WorkspacePhase = (typeof WORKSPACE_PHASES)[keyof typeof WORKSPACE_PHASES]

export const WORKSPACE_CONDITION_RULES = {
  Ready: conditionOfPhase('every component is ready'),
  ...PROGRESS_CONDITIONS,
  Settled: conditionOfPhase('the workspace is Ready or Failed with this spec: processing of this spec has ended'),
  // A machine may wait for a restart or a new disk although it is ready.
  UpToDate: {
    means:
      'everything is as the spec says; False if a machine is outdated, a change cannot be made, or an image differs from its template; Unknown if that is not recorded of a machine',
    presence: 'always',
    told: 'whenFalse',
    gauge: 'phase',
  },
  // Only workspaces with networks have it.
  NetworksIsolated: {
    means:
      'members do not reach the node, its services and the Services of the cluster over the networks of the workspace; Unknown if nothing shows it',
    presence: 'passing',
    told: 'whenFalse',
    gauge: 'reason',
    reasons: ['NodeIsolated', 'NodeNotIsolated', 'IsolationUnknown'],
  },
  // It stays: that the volume is there again does not bring the data back.
  VolumeLost: {
    means:
      'what was on a volume is gone, the one that went last if there are several; it stays as long as the workspace, also when the volume is there again, empty',
    presence: 'lasting',
    told: 'whenTrue',
    // A counter of its own counts losses, and an alert looks at that.
    gauge: 'none',
    reasons: ['VolumeLost'],
  },
  // It stays: what was made with the values goes on with them.
  SecretLost: {
    means: 'values of a Secret of spec.secrets are gone, and it is there again with others',
    presence: 'lasting',
    told: 'whenTrue',
    gauge: 'none',
    reasons: ['SecretLost'],
  },
  SpecWarning: {
    means:
      'what in the spec is not applied as written, or may not work, of all members; absent where there is nothing of the kind',
    presence: 'passing',
    told: 'whenTrue',
    gauge: 'reason',
    reasons: ['SpecWarning'],
  },
} as const satisfies ConditionRules<WorkspaceReason>
export const WORKSPACE_CONDITIONS = namesIn(WORKSPACE_CONDITION_RULES)

/** Maximum number of listed components: more than a spec can request. */
const COMPONENTS_MAX = 512
/** Maximum length of the message of one component in characters. Where there are more than 128 components, the operator cuts them shorter. */
export const COMPONENT_MESSAGE_MAX = 1_024

const phase = z.enum(WORKSPACE_PHASES)

const component = z
  .object({
    kind: z.string().max(63).describe('What the component is, such as VirtualMachine or Network.'),
    name: z.string().max(253).describe('Its name, as in the spec where it has one there.'),
    phase: phase.describe('Current phase: Provisioning, Failed or Ready.'),
    reason: z.string().max(1024).describe('One word that says why it is in this phase.'),
    message: maybeText(COMPONENT_MESSAGE_MAX, 'A sentence that says what is going on or what it waits for.'),
  })
  .describe('One component.')

const lostComponent = z
  .object({
    component: z.string().max(317).describe('Its kind and name.'),
    request: maybeText(
      64,
      'Hash of the annotation pelotech.ot/rebuild-requested-at when the loss was reported. With another value the component is made again.',
    ),
  })
  .describe('One component.')

const keysOfSecret = z.array(z.string().max(253).describe('Name of a key.')).max(WORKSPACE_LIMITS.secretKeys)

const generatedKeys = z
  .object({
    name: z.string().max(253).describe('Name of the Secret.'),
    keys: keysOfSecret.describe('Names of its keys.'),
    lost: keysOfSecret.describe('Those of them that are gone now. Absent where there is none.').optional(),
  })
  .describe('Keys of one Secret.')

export const workspaceStatus = statusOf(
  phase,
  'workspace',
  {
    phase: 'Current phase: Provisioning, Failed or Ready.',
    conditions: WORKSPACE_CONDITION_RULES,
  },
  {
    ready: maybeText(16, 'Components that are ready, of all that are deployed, such as 3/7.'),
    outdated: maybeText(16, 'Machines that are outdated, of all that are deployed, such as 6/18. Absent if none is.'),
    counts: z
      .object({
        total: count().describe('Components of the workspace that are deployed.'),
        ready: count().describe('Components that are ready.'),
        provisioning: count().describe('Components that are being created, or wait.'),
        failed: count().describe('Components that failed.'),
        halted: count().describe('Of those that are ready: members that are off. Absent if there is none.').optional(),
        outdated: count().describe('Machines that are outdated. Absent if none is.').optional(),
        ignored: count().describe('Components with ignoreOnDeploy. Absent if there is none.').optional(),
      })
      .describe('How many components are in which phase.')
      .optional(),
    warnings: count().describe('How many warnings the condition SpecWarning has. Absent where it has none.').optional(),
    waitingFor: maybeText(256, 'What the workspace waits for, in a few words. Absent where it waits for nothing.'),
    ...expiryStatusFields,
    namespace: maybeText(63, 'Namespace that everything of the workspace is in. Absent until it exists.'),
    components: z
      .array(component)
      .max(COMPONENTS_MAX)
      .meta({
        description: 'Every component of the workspace, in the order in which they are made.',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['kind', 'name'],
      })
      .optional(),
    irreplaceable: z
      .array(z.string().max(317).describe('Kind and name of a component.'))
      .max(WORKSPACE_LIMITS.secrets + WORKSPACE_LIMITS.volumes + WORKSPACE_LIMITS.vms)
      .describe(
        'Components with data that the operator cannot make again, such as Secret logins, Volume data, or VirtualMachine web once its guest has run. When one of them is gone, its message and a condition say so. Absent where there is none.',
      )
      .optional(),
    lost: z
      .array(lostComponent)
      .max(WORKSPACE_LIMITS.volumes + WORKSPACE_LIMITS.vms)
      .meta({
        description:
          'Components whose data is gone, and that are not made again before somebody asks for it. Absent where there is none.',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['component'],
      })
      .optional(),
    generatedKeys: z
      .array(generatedKeys)
      .max(WORKSPACE_LIMITS.secrets)
      .meta({
        description:
          'Names of the keys of spec.secrets that have had a value. If one of them is gone, the status says so before the key gets another value, even if an earlier version of the Secret was restored. Absent where there is none.',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
      })
      .optional(),
    uncountedReset: maybeText(
      64,
      'Hash of annotation pelotech.ot/reset-requested-at as first seen; it does not count.',
    ),
    passedReset: maybeText(128, 'Hashes of the last values of that annotation that all machines were given.'),
    uncountedRebuild: maybeText(64, 'As uncountedReset, of pelotech.ot/rebuild-requested-at.'),
    passedRebuild: maybeText(128, 'As passedReset, of that annotation.'),
    plays: z
      .array(playRecord)
      .max(WORKSPACE_LIMITS.vms * PLAYS.length)
      .meta({
        description:
          'What was played, of the machines with roles. It is what keeps the roles of a disk from being played twice. Absent where nobody plays.',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['vm', 'play'],
      })
      .optional(),
  },
)

export type WorkspaceStatus = WithConditions<z.output<typeof workspaceStatus>, typeof WORKSPACE_CONDITION_RULES>
export type WorkspaceComponent = z.output<typeof component>
