import {
  machineDiskWarnings,
  machineNetworkWarnings,
  renderWorkspaceMachine,
  templateWarnings,
  type VirtualMachineReason,
  virtualMachine,
  type WorkspaceMachineObject,
  type WorkspaceReason,
  type WorkspaceVm,
  warningsOf,
} from '@open-terrain/constructs/operator'
import { isTerminating } from '../../../../kube/kube-object.ts'
import type { MachineFacts, WorkspaceWorld } from '../../world.ts'
import {
  type Component,
  type ComponentSummary,
  componentFailed,
  componentReady,
  componentWaiting,
  hadData,
  heldByDeploy,
  idOf,
  LOSS_REASONS,
  withWarnings,
} from '../component.ts'
import type { ComponentKind, Judgement } from '../component-kind.ts'
import { dependencyWarnings } from '../dependencies.ts'
import { goneForGood, isNamespaceGone, lossRecordOf } from '../losses.ts'
import { missingSecrets } from '../missing-secrets.ts'
import { machineAge } from '../outdated.ts'
import { refusedOverrides } from '../overrides.ts'
import { placedBefore } from '../placement.ts'
import { isLabHalted, isSwitchedOff } from '../power.ts'
import { imageIdsOf } from './image.ts'
import { networkIds, refusedMove, refusedNetworks } from './network.ts'
import { secretIds } from './secret.ts'
import { volumeIdOf } from './volume.ts'

const KIND = 'VirtualMachine'

/** The machines. Each is an Open Terrain VirtualMachine with its own controller, whose status the workspace reports. */
export const VIRTUAL_MACHINE_KIND: ComponentKind = {
  kind: KIND,
  // Its own finalizer orders the deletion of its parts. Foreground deletion would delete all of them at once.
  types: [{ type: virtualMachine, propagationPolicy: 'Background' }],
  uses: ['Secret', 'Network', 'Volume'],
  children: ({ workspace, spec, policy, requests, volumeClaims }) =>
    (spec.vms ?? []).map((vm): Component => {
      const refused = refusedNetworks({ spec, policy }, vm.interfaces) ?? refusedOverrides('vm', vm.overrides, policy)
      const { imageNamespace, networkDriver: driver } = policy
      const asked = { requests: requests?.get(vm.name), volumeClaims }
      const machine = renderWorkspaceMachine({ workspace, spec, vm, imageNamespace, driver, ...asked })
      return {
        kind: KIND,
        name: vm.name,
        objects: [machine],
        needs: [
          ...secretIds(spec, idOf(KIND, vm.name)),
          ...imageIdsOf(vm),
          ...networkIds(vm.interfaces),
          ...volumeIds(vm),
        ],
        ...withWarnings(
          [
            ...templateWarnings(spec, vm),
            ...machineNetworkWarnings(spec, vm),
            ...machineDiskWarnings(spec, vm),
            ...dependencyWarnings(spec, vm.name),
          ],
          warningsOf(machine.spec).map(({ message }) => message),
        ),
        ...(refused === undefined ? heldByDeploy(vm) : { held: { absent: refused, present: staysWith(refused) } }),
      }
    }),
  unchangeable: ({ spec, ...world }, { name }) => {
    const vms = spec.ok ? spec.spec.vms : []
    const vm = vms?.find((one) => one.name === name)
    return refusedMove({ ...world, spec }, vm?.interfaces, world.children.get(idOf(KIND, name)))
  },
  obstacle: (world, component, now) => secretLacking(world, component) ?? withoutNode(world, component, now),
  summary: (world, { name }) => judgeMachine(world, name),
  loss,
  isLost: isGoneWithNamespace,
  hasData,
}

/** Says that what its guest has written is gone: with the machine, or as the machine itself says, also while nobody deploys it. */
function loss(world: WorkspaceWorld, component: Component): ComponentSummary | undefined {
  const machine = machineIn(world, component.name)
  if (machine === undefined && isGoneWithNamespace(world, component))
    return goneForGood(
      world,
      'DiskLost',
      `VirtualMachine ${component.name} is gone with its namespace, and with it what its guest has written to its disks`,
    )
  const isTold = machine !== undefined && !isTerminating(machine) && LOSS_REASONS.has(machine.status.reason ?? '')
  return isTold ? judgeMachine(world, component.name).summary : undefined
}

function machineIn({ children }: WorkspaceWorld, name: string): MachineFacts | undefined {
  return children.get(idOf(KIND, name)) as MachineFacts | undefined
}

/** Who deletes a machine wants it to begin again. Who deletes a namespace has named none of what is in it. */
function isGoneWithNamespace(world: WorkspaceWorld, component: Component): boolean {
  const { children, workspace } = world
  if (children.has(idOf(KIND, component.name))) return false
  if (lossRecordOf(workspace, component) !== undefined) return true
  return isNamespaceGone(world) && hadData(workspace, component)
}

/** Of one that is not deployed any more, and that somebody deletes, nothing is lost with the namespace later. */
function hasData(world: WorkspaceWorld, component: Component): boolean | undefined {
  const machine = machineIn(world, component.name)
  if (machine !== undefined) return machine.status.bootedAt !== undefined
  return component.held !== undefined && !isGoneWithNamespace(world, component) ? false : undefined
}

function staysWith({ message, ...refused }: ComponentSummary): ComponentSummary {
  return {
    ...refused,
    message: `${message}; the VirtualMachine of that name exists and stays as it is: delete it to stop its guest`,
  }
}

function volumeIds({ disks = [] }: WorkspaceVm): string[] {
  return disks.flatMap(({ volume }) => (volume === undefined ? [] : [volumeIdOf(volume)]))
}

/** Reasons of a machine that are reasons of a workspace too. */
const SAME: ReadonlySet<string> = new Set<VirtualMachineReason & WorkspaceReason>([
  'KubeVirtMissing',
  'CDIMissing',
  'KubeVirtNotResponding',
  'CDINotResponding',
  'NameConflict',
  'NamespaceTerminating',
  'Refused',
  'NetworkNotAllowed',
  'OverrideNotAllowed',
  'ImageFailed',
  'DiskLost',
  'DiskBeingDeleted',
])
/** Reasons of a machine that is off, or that runs and is not as the spec says. */
const SHOWN: ReadonlySet<string> = new Set<WorkspaceReason>([
  'Halted',
  'ImageMismatch',
  'RebuildRequired',
  'RestartRequired',
  'NamesNotCurrent',
  'Replacing',
])
/** Reasons whose messages contain progress. */
const MOVING: ReadonlySet<string> = new Set<VirtualMachineReason>(['Cloning', 'ImageSyncing', 'WaitingForImage'])

function judgeMachine(world: WorkspaceWorld, name: string): Judgement {
  const machine = world.children.get(idOf(KIND, name)) as MachineFacts
  return { ...summaryOfMember(world, machine), age: machineAge(machine) }
}

function summaryOfMember(world: WorkspaceWorld, machine: MachineFacts): Judgement {
  const { name } = machine.metadata
  const { phase, reason = 'VirtualMachinePending', message = '' } = machine.status
  const halting = haltingOf(world, machine)
  if (halting !== undefined) return { summary: halting }
  if (!isJudged(machine))
    return { summary: componentWaiting('VirtualMachinePending', `VirtualMachine ${name} has not been looked at yet`) }
  if (phase === 'Ready')
    return {
      summary: { ...componentReady(message, SHOWN.has(reason) ? (reason as WorkspaceReason) : 'Ready'), reason },
    }
  const secret = isSecret(reason) ? missingSecrets(world, idOf(KIND, name)) : undefined
  if (secret !== undefined) return { summary: secret }
  const why = (isSecret(reason) ? 'SecretMissing' : SAME.has(reason) ? reason : undefined) as
    | WorkspaceReason
    | undefined
  if (phase === 'Failed') return { summary: { ...componentFailed(why ?? 'VirtualMachineFailed', message), reason } }
  const text = MOVING.has(reason) ? `the machine is ${phase}: ${reason}` : message
  return { summary: { ...componentWaiting(why ?? 'VirtualMachinePending', text), reason } }
}

/** Returns what to say of a machine of a workspace that is off, as long as its guest may run. That its disk is lost comes first. */
function haltingOf(world: WorkspaceWorld, machine: MachineFacts): ComponentSummary | undefined {
  const { phase, reason = '', message = '' } = machine.status
  if (!isLabHalted(world) || LOSS_REASONS.has(reason)) return undefined
  if (!isSwitchedOff(machine))
    return componentWaiting('Halting', `VirtualMachine ${machine.metadata.name} is being switched off`)
  const isStopping = isJudged(machine) && phase === 'Provisioning' && reason === 'Stopping'
  return isStopping ? { ...componentWaiting('Halting', message), reason } : undefined
}

/** Reports whether its status is about its present spec. A change of the spec brings no disk back. */
function isJudged({ metadata, status }: MachineFacts): boolean {
  const { phase, reason = '', observedGeneration = 0 } = status
  return phase !== undefined && (observedGeneration >= (metadata.generation ?? 0) || LOSS_REASONS.has(reason))
}

function isSecret(reason: string): boolean {
  return reason === 'MissingPasswordSecret' || reason === 'MissingUserDataSecret'
}

/** A machine that is there has been given its passwords, or says itself what it waits for. */
function secretLacking(world: WorkspaceWorld, { name }: Component): ComponentSummary | undefined {
  return machineIn(world, name) === undefined ? missingSecrets(world, idOf(KIND, name)) : undefined
}

function withoutNode(world: WorkspaceWorld, { objects }: Component, now: number): ComponentSummary | undefined {
  // What is off takes no node.
  if (isLabHalted(world)) return undefined
  const [machine] = objects as readonly WorkspaceMachineObject[]
  const { nodeGroup } = machine?.spec ?? {}
  const first = nodeGroup && placedBefore(world, nodeGroup, now)
  if (!first) return undefined
  return componentWaiting('Provisioning', `waits for container cluster ${first}, whose node is to be the node of both`)
}
