import {
  ANSIBLE_VOLUME,
  type Policy,
  renderContainerCluster,
  type WorkspaceContainerCluster,
} from '@open-terrain/constructs'
import type { DeploymentView } from '../../../../cluster/workspace-views.ts'
import { DEPLOYMENT } from '../../../../kube/resource-types.ts'
import { redactUrls } from '../../../../runtime/redact.ts'
import type { WorkspaceWorld } from '../../world.ts'
import {
  type Blueprint,
  type Component,
  componentFailed,
  componentReady,
  componentWaiting,
  heldByDeploy,
  idOf,
} from '../component.ts'
import type { ComponentKind, Judgement } from '../component-kind.ts'
import { podTrouble } from '../pod-trouble.ts'
import { ansibleIdOf } from './ansible.ts'
import { networkIds } from './network.ts'
import { volumeIdOf } from './volume.ts'

const KIND = 'ContainerCluster'

/** Container clusters: each is a Deployment of one pod, whose containers share their interfaces. */
export const CONTAINER_CLUSTER_KIND: ComponentKind = {
  kind: KIND,
  // Its pods must be gone before the networks and the volumes that they use.
  types: [{ type: DEPLOYMENT, propagationPolicy: 'Foreground' }],
  uses: ['Network', 'Volume', 'Ansible'],
  children: (blueprint) =>
    (blueprint.spec.containerClusters ?? []).map(
      (cluster): Component => ({
        kind: KIND,
        name: cluster.name,
        objects: [
          renderContainerCluster({
            ...blueprint,
            cluster,
            driver: blueprint.policy.networkDriver,
            quota: blueprint.policy.workspaceQuota,
          }),
        ],
        needs: [...networkIds(cluster.interfaces), ...volumeIds(blueprint, cluster)],
        ...(heldByPolicy(cluster, blueprint.policy) ?? heldByDeploy(cluster)),
      }),
    ),
  standing: judgeCluster,
}

function volumeIds(blueprint: Blueprint, { containers }: WorkspaceContainerCluster): string[] {
  const names = containers.flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name))
  return [...new Set(names)].map((name) =>
    name === ANSIBLE_VOLUME ? ansibleIdOf(blueprint.workspace) : volumeIdOf(name),
  )
}

/** A cluster that the policy does not allow is not created, and not changed if it was created before. */
function heldByPolicy({ containers }: WorkspaceContainerCluster, policy: Policy): Pick<Component, 'held'> | undefined {
  const { allowHostPorts, allowedCapabilities } = policy
  for (const { name, portMappings = [], capabilities } of containers) {
    const port = portMappings.find(({ hostPort }) => hostPort !== undefined)
    if (port !== undefined && !allowHostPorts)
      return held(
        componentFailed(
          'HostPortNotAllowed',
          `container ${name} asks for port ${port.hostPort} of its node, and the policy key allowHostPorts is false: remove hostPort, or have the policy allow it`,
        ),
      )
    const capability = capabilities?.add?.find((one) => !allowedCapabilities.includes(one))
    if (capability !== undefined)
      return held(
        componentFailed(
          'CapabilityNotAllowed',
          `container ${name} adds ${capability}, which the policy key allowedCapabilities does not name: remove it from capabilities.add, or have the policy allow it`,
        ),
      )
  }
  return undefined
}

function held(absent: ReturnType<typeof componentFailed>): Pick<Component, 'held'> {
  const stays = 'the Deployment of that name exists and stays as it is: delete it to stop its pod'
  return { held: { absent, present: { ...absent, message: `${absent.message}; ${stays}` } } }
}

function judgeCluster(world: WorkspaceWorld, { name }: Component): Judgement {
  const deployment = world.children.get(idOf(DEPLOYMENT.kind, name)) as DeploymentView
  const { metadata, observedGeneration, updated, available, replicas, progressing, replicaFailure } = deployment
  const isSeen = observedGeneration >= (metadata.generation ?? 0)
  if (isSeen && available > 0 && updated > 0 && replicas === updated)
    return { standing: componentReady(`the containers of ${name} run`) }
  const isLate = isSeen && progressing.status === 'False' && progressing.reason === 'ProgressDeadlineExceeded'
  const trouble = podTrouble(world, name)
  if (trouble !== undefined) {
    const { reason, message, isLasting } = trouble
    const standing =
      isLate || isLasting ? componentFailed('ContainersFailed', message) : componentWaiting('ContainersFailed', message)
    return { standing: { ...standing, reason } }
  }
  if (isSeen && replicaFailure.status === 'True')
    return {
      standing: {
        ...componentWaiting(
          'Refused',
          `the pod of Deployment ${name} is refused: ${redactUrls(replicaFailure.message)}`,
        ),
        reason: replicaFailure.reason,
      },
    }
  if (isLate)
    return {
      standing: componentFailed(
        'ContainersFailed',
        `the pod of Deployment ${name} is not ready in time: ${redactUrls(progressing.message)}`,
      ),
    }
  return { standing: componentWaiting('ContainersPending', `the containers of ${name} are being started`) }
}
