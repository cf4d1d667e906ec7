import { ANNOTATIONS } from '@open-terrain/constructs'
import {
  ansibleName,
  areVariablesTooLarge,
  hasPlays,
  isAnsibleTooLarge,
  PLAYS_POLICY,
  playImage,
  playsName,
  renderPlaysNetworkPolicy,
  renderWorkspaceAnsible,
  renderWorkspacePlays,
  type WorkspaceSpec,
  workspace as workspaceKind,
} from '@open-terrain/constructs/operator'
import type { KubeObject } from '../../../../kube/kube-object.ts'
import { JOB } from '../../../../kube/resource-types.ts'
import { WORKSPACE_CONFIG_MAP } from '../../child-views.ts'
import type { WorkspaceWorld } from '../../world.ts'
import { isAsWanted } from '../as-wanted.ts'
import {
  type Blueprint,
  type Component,
  type ComponentRemark,
  type ComponentSummary,
  componentFailed,
  componentReady,
  componentWaiting,
  idOf,
  idOfObject,
  withWarnings,
} from '../component.ts'
import type { ComponentKind, Judgement } from '../component-kind.ts'
import { missingSecrets, PLAYER } from '../missing-secrets.ts'
import { isPlaying, isPlayJobNeeded, type PlayStep, playWarnings, stepPlays } from '../plays.ts'

const KIND = PLAYER
/** The Ansible inventory and plays, for containers that mount them, and the Jobs that play them. */
export const ANSIBLE_KIND: ComponentKind = {
  kind: KIND,
  types: [
    { type: WORKSPACE_CONFIG_MAP, propagationPolicy: 'Background' },
    // Its pod is on a network, and has Secrets.
    { type: JOB, propagationPolicy: 'Foreground' },
  ],
  uses: ['Secret', 'Network'],
  children: (blueprint): Component[] => {
    const { workspace, spec, policy } = blueprint
    const isTooLarge = areVariablesTooLarge(spec)
    const configMap = renderWorkspaceAnsible({ workspace, spec: isTooLarge ? withoutRoles(spec) : spec })
    const { name } = configMap.metadata
    const held = isTooLarge || isAnsibleTooLarge(configMap) ? { held: heldBySize() } : {}
    const objects = [configMap, ...playersIn(blueprint)]
    return [{ kind: KIND, name, objects, needs: [], ...withWarnings(playWarnings(spec, policy)), ...held }]
  },
  isNeeded: (world, object) =>
    object.kind === JOB.kind ? isPlayJobNeeded(world, object) : isPlayer(world, object) && isPlaying(world),
  summary: judgePlays,
}

export function ansibleIdOf({ name }: { readonly name: string }): string {
  return idOf(KIND, ansibleName(name))
}

/** What plays, where there is anything to play. */
function playersIn({ workspace, spec, policy }: Blueprint): Component['objects'] {
  if (!hasPlays(spec) || playImage(spec, policy) === undefined) return []
  return [renderWorkspacePlays({ workspace, spec }), renderPlaysNetworkPolicy({ workspace })]
}

/** Reports whether a pod that plays needs an object. */
function isPlayer({ workspace }: WorkspaceWorld, { kind, metadata }: KubeObject): boolean {
  const names = { ConfigMap: playsName(workspace.metadata.name), NetworkPolicy: PLAYS_POLICY }
  return names[kind as keyof typeof names] === metadata.name
}

/** What is held is never written, so it need not be complete. */
function withoutRoles({ vms = [], ...spec }: WorkspaceSpec): WorkspaceSpec {
  return { ...spec, vms: vms.map(({ ansible: _left, ...vm }) => vm) }
}

function heldBySize(): NonNullable<Component['held']> {
  const absent = componentFailed(
    'AnsibleTooLarge',
    'the inventory and the plays are more than a ConfigMap holds (1 MiB): shorten the variables of the roles',
  )
  const present = { ...absent, message: `${absent.message}; those of before stay` }
  return { absent, present }
}

function judgePlays(world: WorkspaceWorld, component: Component): Judgement {
  const steps = stepPlays(world)
  const summary = summaryOf(world, component, steps)
  const hasImage = world.spec.ok && playImage(world.spec.spec, world.policy) !== undefined
  const unplayed = steps.filter(({ record }) => hasImage && record.phase === 'NotPlayed')
  const remarks = unplayed.length === 0 ? {} : { remarks: [notPlayed(world, unplayed)] }
  // A Job plays what the files say when it starts.
  const areCurrent = component.objects.every((wanted) => {
    const actual = world.children.get(idOfObject(wanted))
    return actual !== undefined && isAsWanted(wanted, actual)
  })
  if (!areCurrent) return { summary, ...remarks }
  const apply = steps.flatMap((step) => step.apply ?? [])
  const touch = steps.flatMap((step) => step.touch ?? [])
  return { summary, apply, touch, ...remarks }
}

function summaryOf(world: WorkspaceWorld, { name }: Component, steps: readonly PlayStep[]): ComponentSummary {
  const failed = steps.filter(({ record }) => record.phase === 'Failed')
  const [first] = failed
  if (first !== undefined) {
    const { job, message = '' } = first.record
    const log = job === undefined ? '' : `; its log: kubectl logs -n ${world.workspace.metadata.name} job/${job}`
    const more = failed.length > 1 ? `; ${failed.length - 1} more failed, see status.plays` : ''
    return componentFailed('PlayFailed', `${titleOf(first)} failed: ${message}${log}; ${again(world)}${more}`)
  }
  const waiting = steps.filter(({ waits }) => waits !== undefined)
  const troubled = waiting.find(({ trouble }) => trouble !== undefined)
  if (troubled?.trouble !== undefined) {
    const { message, reason } = troubled.trouble
    return { ...componentWaiting('PlayFailed', `${titleOf(troubled)} cannot go on: ${message}`), reason }
  }
  const secret = waiting.some(({ isSecretMissing }) => isSecretMissing === true) && missingSecrets(world, PLAYER)
  if (secret) return secret
  const [next] = waiting
  if (next !== undefined) {
    const more = waiting.length > 1 ? `; ${waiting.length - 1} more to be played, see status.plays` : ''
    return componentWaiting('Playing', `${titleOf(next)} ${next.waits}${more}`)
  }
  const played = steps.some(({ record }) => record.phase === 'Succeeded') ? ', and the roles were played' : ''
  return componentReady(`ConfigMap ${name} has the inventory and the plays${played}`)
}

const { crdName } = workspaceKind

function titleOf({ record: { vm, play } }: PlayStep): string {
  return `${play} of ${vm}`
}

function notPlayed(world: WorkspaceWorld, steps: readonly PlayStep[]): ComponentRemark {
  const [first] = steps
  const more = steps.length > 1 ? ` and ${steps.length - 1} more` : ''
  const message = `${first && titleOf(first)}${more} not played, because nobody knows what was done on the disk; ${again(world)}`
  return { why: 'NotPlayed', message }
}

function again({ workspace }: WorkspaceWorld): string {
  return `to have it played: kubectl annotate ${crdName} ${workspace.metadata.name} --overwrite ${ANNOTATIONS.playRequestedAt}="$(date)"`
}
