import { z } from 'zod'
import { imageReference } from './image-reference.ts'
import { dataKey, dnsLabel, duration, maybeText, objectName } from './shared.ts'
import { WORKSPACE_LIMITS } from './workspace-limits.ts'

/** When the roles of a machine are played. */
export const PLAYS = ['build', 'deploy'] as const
export type Play = (typeof PLAYS)[number]

/** How long one Job may take whose `timeout` is not given. */
export const PLAY_TIMEOUT_MS = 30 * 60_000

export const ansibleField = z
  .object({
    image: imageReference(
      'Image with ansible-playbook and the roles. Default: that of the policy key ansibleImage, unless a container mounts the volume ansible. Without one, nobody plays the roles.',
    )
      .meta({ example: 'registry.example.com/ansible:2.19' })
      .optional(),
    pullSecrets: z
      .array(objectName().describe('Name of one Secret.').meta({ example: 'registry-login' }))
      .max(WORKSPACE_LIMITS.pullSecrets)
      .describe('Secrets with the logins for the image. Default: none.')
      .optional(),
    sshKeySecretRef: z
      .object({
        name: dnsLabel().describe('Name of the Secret.').meta({ example: 'ansible' }),
        key: dataKey('Secret', 63).describe('Key whose value is the private key.').meta({ example: 'id_ed25519' }),
      })
      .describe(
        'Private key, in the namespace of the workspace, of the first user with ssh_authorized_keys. Default: none; the first user with passwordSecretRef logs in with that.',
      )
      .optional(),
    timeout: duration()
      .describe('How long the roles of one machine may take. Default: 30m.')
      .meta({ example: '45m' })
      .optional(),
  })
  .describe('Who plays the roles of the machines, and how. Default: see image.')

/** Where a play is. */
export const PLAY_PHASES = {
  /** It waits for its machine, or for what it logs in with. */
  Pending: 'Pending',
  /** It was started, and nobody has seen it end. */
  Running: 'Running',
  /** It was played to its end. */
  Succeeded: 'Succeeded',
  /** A task failed, or its end is not known. It is played again only on request. */
  Failed: 'Failed',
  /** Its machine was there before anybody played: it is played only on request. */
  NotPlayed: 'NotPlayed',
} as const
export type PlayPhase = (typeof PLAY_PHASES)[keyof typeof PLAY_PHASES]

/** Maximum length of the message of one play in characters. */
export const PLAY_MESSAGE_MAX = 512

export const playRecord = z
  .object({
    vm: z.string().max(63).describe('Name of the machine.'),
    play: z.enum(PLAYS).describe('build, once for each new disk, or deploy, for each start.'),
    phase: z.enum(PLAY_PHASES).describe('Pending, Running, Succeeded, Failed or NotPlayed.'),
    of: maybeText(64, 'Uid of the claim, or of the instance of KubeVirt, that it is about.'),
    restored: maybeText(64, 'Uid of the claim of a restore on which somebody had it played instead.'),
    job: maybeText(63, 'Name of its Job.'),
    jobUID: maybeText(64, 'Uid of its Job. Recorded before the Job starts: none is started twice.'),
    request: maybeText(64, 'Fingerprint of the last annotation pelotech.ot/play-requested-at.'),
    message: maybeText(PLAY_MESSAGE_MAX, 'Why it failed, and where.'),
  })
  .describe('One play.')

export type PlayRecord = z.output<typeof playRecord>
