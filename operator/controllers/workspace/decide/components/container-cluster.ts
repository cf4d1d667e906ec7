import {
  ANSIBLE_VOLUME,
  type ContainerClusterProps,
  clusterWarnings,
  containersOf,
  hasHostPort,
  hostsVolume,
  DEFAULT_ROUTE_LEFT_OUT as LEFT_OUT,
  podNames,
  podNetworksIn,
  podOverrideWarnings,
  renderClusterFiles,
  renderClusterHosts,
  renderClusterNetworks,
  renderContainerCluster,
  routesNotShared,
  type WorkspaceContainerCluster,
} from '@open-terrain/constructs/operator'
import { redactUrls } from '../../../../base/messages.ts'
import { withoutSecretsOf } from '../../../../base/secrets-of.ts'
import { isTerminating } from '../../../../kube/kube-object.ts'
import { CONFIG_MAP, DEPLOYMENT } from '../../../../kube/resource-types.ts'
import { type ContainerPodView, configMapsOf, type DeploymentView, hasPodEnded } from '../../child-views.ts'
import type { WorkspaceWorld } from '../../world.ts'
import {
  type Blueprint,
  type Component,
  type ComponentRemark,
  componentFailed,
  componentReady,
  componentWaiting,
  type EarlierRendering,
  heldByDeploy,
  idOf,
  withWarnings,
} from '../component.ts'
import type { ComponentKind, Judgement } from '../component-kind.ts'
import { dependencyWarnings, placementWarnings } from '../dependencies.ts'
import { staleHosts, unnamed } from '../host-names.ts'
import { missingSecrets } from '../missing-secrets.ts'
import { isHolding, memberOf } from '../node-group.ts'
import { refusedOverrides } from '../overrides.ts'
import { forgotten, judgeEnding, judgePlacement, type Placement } from '../placement.ts'
import { judgeNetworks } from '../pod-networks.ts'
import { livePod, podTrouble } from '../pod-trouble.ts'
import { isLabHalted, isSwitchedOff } from '../power.ts'
import { ansibleIdOf } from './ansible.ts'
import { networkIds, refusedMove, refusedNetworks } from './network.ts'
import { secretIds } from './secret.ts'
import { volumeIdOf } from './volume.ts'

const KIND = 'ContainerCluster'

/** Container clusters: each is a Deployment of one pod, whose containers share their interfaces. */
export const CONTAINER_CLUSTER_KIND: ComponentKind = {
  kind: KIND,
  // Its pods must be gone before the networks and the volumes that they use. Its own networks are deleted with those of the workspace.
  types: [{ type: DEPLOYMENT, propagationPolicy: 'Foreground' }],
  uses: ['Secret', 'Network', 'Volume', 'Ansible'],
  children: (blueprint) =>
    (blueprint.spec.containerClusters ?? []).map((cluster): Component => {
      const props = propsOf(blueprint, cluster)
      const warnings = clusterWarnings(props)
      return {
        kind: KIND,
        name: cluster.name,
        objects: renderedAs(props),
        needs: [
          ...secretIds(blueprint.spec, idOf(KIND, cluster.name)),
          ...networkIds(cluster.interfaces),
          ...volumeIds(blueprint, cluster),
        ],
        ...(warnings.includes(LEFT_OUT) && { remarks: [DEFAULT_ROUTE_LEFT_OUT] }),
        ...withWarnings([
          ...warnings,
          ...podOverrideWarnings(props),
          ...dependencyWarnings(blueprint.spec, cluster.name),
          ...placementWarnings(blueprint.spec, cluster, props.driver),
        ]),
        ...(heldByPolicy(cluster, blueprint) ?? heldByDeploy(cluster)),
      }
    }),
  earlier: (blueprint, { name }) => {
    const cluster = blueprint.spec.containerClusters?.find((one) => one.name === name)
    return cluster === undefined ? [] : earlierRenderings(blueprint, propsOf(blueprint, cluster))
  },
  unchangeable: ({ spec, ...world }, { name }) => {
    const cluster = clusterOf({ spec }, name)
    return refusedMove({ ...world, spec }, cluster?.interfaces, world.children.get(idOf(DEPLOYMENT.kind, name)))
  },
  // A cluster that stays as it is keeps the files that its pod mounts.
  isNeeded: ({ children }, object) => object.kind === CONFIG_MAP.kind && isMounted(children, object.metadata.name),
  obstacle: (world, { name }) => missingSecrets(world, idOf(KIND, name)),
  summary: judgeCluster,
  tended: (world, { name }, now) => {
    const { touch, remove, requeue } = judgePlacement(world, name, now) ?? {}
    return { touch, remove, requeue }
  },
}

function propsOf(blueprint: Blueprint, cluster: WorkspaceContainerCluster): ContainerClusterProps {
  const { networkDriver: driver, workspaceQuota: quota } = blueprint.policy
  return { ...blueprint, cluster, driver, quota }
}

/** A way in which a container cluster may have been rendered, and what such a one lacks. */
interface Way {
  readonly props: ContainerClusterProps
  readonly remarks: readonly ComponentRemark[]
}

/** What runs is not replaced for the names of the members, for routes that it gets in another way since, nor to be rid of variables. */
function earlierRenderings({ workspace, spec }: Blueprint, props: ContainerClusterProps): EarlierRendering[] {
  const { cluster } = props
  const hasNames = hostsVolume(spec, cluster) !== undefined
  const plain = { ...props, spec: { ...spec, names: undefined } }
  const ways = [
    { props, remarks: [] },
    ...(hasNames ? [{ props: plain, remarks: [unnamed(workspace.name, cluster.name)] }] : []),
  ]
    .flatMap(waysOfRoutes)
    .flatMap(waysOfVariables)
  const { why, message } = outdated(workspace.name, cluster)
  const more = hasNames ? 'its containers do not have the names of the members; ' : ''
  return [
    ...ways
      .slice(1)
      .map((way): EarlierRendering => ({ objects: renderedAs(way.props), remarks: way.remarks, lacksOneThing: true })),
    {
      objects: [
        renderContainerCluster({ ...plain, defaultRoute: 'requested', placement: 'free', serviceLinks: 'added' }),
      ],
      remarks: [{ why, message: `${more}${message}` }, ...withoutRoutes(props)],
    },
  ]
}

/** The pod is replaced when its Deployment changes, and needs its networks and files then. */
function renderedAs(props: ContainerClusterProps) {
  return [
    ...renderClusterNetworks(props),
    ...renderClusterFiles(props),
    ...renderClusterHosts(props),
    renderContainerCluster(props),
  ]
}

/**
 * Returns the ways in which a pod may have its static routes, the one of now first. Whether it needs a NetworkAttachmentDefinition of its own depends on
 * the other pods of the network, and it is not replaced when one of those comes or goes.
 */
function waysOfRoutes(way: Way): Way[] {
  const { props, remarks } = way
  const has = ownNetworks(props)
  const other = (ownRoutes: 'always' | 'never', more: readonly ComponentRemark[]): Way[] => {
    const changed = { ...props, ownRoutes }
    return ownNetworks(changed) === has ? [] : [{ props: changed, remarks: [...remarks, ...more] }]
  }
  return [way, ...other('always', []), ...other('never', withoutRoutes(props))]
}

/** A pod that was made with a variable for each Service keeps them: its programs may need them. */
function waysOfVariables(way: Way): Way[] {
  return [way, { ...way, props: { ...way.props, serviceLinks: 'added' } }]
}

function ownNetworks(props: ContainerClusterProps): string {
  return renderClusterNetworks(props)
    .map(({ metadata }) => metadata.name)
    .join()
}

/** What to say of a pod that has the routes of each network that all of its pods share. */
function withoutRoutes(props: ContainerClusterProps): ComponentRemark[] {
  const { workspace, cluster } = props
  const lacks = routesNotShared(props).map(({ network, routes }) => {
    const named = routes.map(({ to, via }) => `${to} by ${via}`).join(', ')
    return `it has the routes that all pods of network ${network} share, without that to ${named}`
  })
  if (lacks.length === 0) return []
  const message = `${lacks.join('; ')}; to have it made again: ${deletionOf(workspace.name, cluster)}`
  return [{ why: 'Outdated', message }]
}

function deletionOf(workspace: string, { name }: WorkspaceContainerCluster): string {
  return `kubectl delete deployment -n ${workspace} ${name}`
}

function isMounted(children: WorkspaceWorld['children'], configMap: string): boolean {
  for (const child of children.values())
    if (child.kind === DEPLOYMENT.kind && configMapsOf(child as DeploymentView).includes(configMap)) return true
  return false
}

function clusterOf({ spec }: Pick<WorkspaceWorld, 'spec'>, name: string): WorkspaceContainerCluster | undefined {
  return spec.ok ? spec.spec.containerClusters?.find((one) => one.name === name) : undefined
}

/** Replies to clients of the node's port would leave by the workspace, and nobody outside would get one. */
const DEFAULT_ROUTE_LEFT_OUT: ComponentRemark = {
  why: 'DefaultRouteLeftOut',
  message: LEFT_OUT,
}

/** What the pod lacks depends on the version of Multus. */
function outdated(workspace: string, cluster: WorkspaceContainerCluster): ComponentRemark {
  const lacks = hasHostPort(cluster) ? 'its default route or its hostPort does' : 'its default route may'
  const command = deletionOf(workspace, cluster)
  return {
    why: 'Outdated',
    message: `made by an earlier version: ${lacks} not work, and two pods may have its addresses at once; to have it made again: ${command}`,
  }
}

function volumeIds(blueprint: Blueprint, cluster: WorkspaceContainerCluster): string[] {
  const names = containersOf(cluster).flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name))
  return [...new Set(names)].map((name) =>
    name === ANSIBLE_VOLUME ? ansibleIdOf(blueprint.workspace) : volumeIdOf(name),
  )
}

/** A cluster that the policy does not allow is not created, and not changed if it was created before. */
function heldByPolicy(cluster: WorkspaceContainerCluster, blueprint: Blueprint): Pick<Component, 'held'> | undefined {
  const { allowHostPorts, allowedCapabilities, allowedDevices, allowPrivileged } = blueprint.policy
  const attachment = refusedNetworks(blueprint, cluster.interfaces)
  if (attachment !== undefined) return held(attachment)
  const override = refusedOverrides('pod', cluster.overrides, blueprint.policy, podNames(cluster))
  if (override !== undefined) return held(override)
  for (const { name, portMappings = [], capabilities, privileged } of containersOf(cluster)) {
    if (privileged === true && !allowPrivileged)
      return held(
        componentFailed(
          'PrivilegedNotAllowed',
          `container ${name} is to be privileged, and the policy key allowPrivileged is false: remove privileged, and add the capabilities that it needs, or have the policy allow it`,
        ),
      )
    const port = portMappings.find(({ hostPort }) => hostPort !== undefined)
    if (port !== undefined && !allowHostPorts)
      return held(
        componentFailed(
          'HostPortNotAllowed',
          `container ${name} asks for port ${port.hostPort} of its node, and the policy key allowHostPorts is false: remove hostPort, or have the policy allow it`,
        ),
      )
    const others = capabilities?.add?.filter((one) => !allowedCapabilities.includes(one)) ?? []
    if (others.length > 0)
      return held(
        componentFailed(
          'CapabilityNotAllowed',
          `container ${name} adds ${others.join(', ')}, which the policy key allowedCapabilities does not name: remove that from capabilities.add, or have the policy allow it`,
        ),
      )
  }
  for (const { name, devices = [] } of cluster.containers) {
    const others = devices.filter((one) => !allowedDevices.includes(one))
    if (others.length > 0)
      return held(
        componentFailed(
          'DeviceNotAllowed',
          `container ${name} asks for device ${others.join(', ')}, which the policy key allowedDevices does not name: remove that from devices, or have the policy allow it`,
        ),
      )
  }
  return undefined
}

function held(absent: ReturnType<typeof componentFailed>): Pick<Component, 'held'> {
  const stays = 'the Deployment of that name exists and stays as it is: delete it to stop its pod'
  return { held: { absent, present: { ...absent, message: `${absent.message}; ${stays}` } } }
}

function judgeCluster(world: WorkspaceWorld, component: Component, now: number): Judgement {
  const { name } = component
  const deployment = world.children.get(idOf(DEPLOYMENT.kind, name)) as DeploymentView
  if (isLabHalted(world)) return judgeHalted(world, name, deployment, now)
  const { updated, available, replicas } = deployment
  // Not what the spec asks for: a Deployment that may not be changed keeps the networks that it has.
  const networks = podNetworksIn(memberOf(world, name)?.template.metadata.annotations)
  const pod = livePod(world, name)
  // A pod of before has the networks of before.
  const isCurrent = isSeen(deployment) && updated > 0 && replicas === updated
  const unconnected = pod && isCurrent ? judgeNetworks(world, { cluster: name, networks, pod }, now) : undefined
  if (unconnected !== undefined) return unconnected
  const isConnected = networks.length === 0 || pod?.isReady === true
  if (isCurrent && isConnected && available > 0)
    return { ...running(world, component, pod), touch: forgotten(world, name) }
  const placement = judgePlacement(world, name, now)
  return placement?.summary === undefined
    ? judgeDown(world, component, deployment, placement ?? {})
    : { ...placement, summary: placement.summary }
}

/** Judges a cluster of a workspace that is off. It is off when none of its pods may run any more. */
function judgeHalted(world: WorkspaceWorld, name: string, deployment: DeploymentView, now: number): Judgement {
  const left = (world.pods.get(name) ?? []).filter((pod) => !hasPodEnded(pod))
  const isOff = isSwitchedOff(deployment) && isSeen(deployment) && deployment.replicas === 0 && left.length === 0
  if (isOff) return { summary: componentReady(`the containers of ${name} are off, as the workspace is`, 'Halted') }
  const holder = left.find((pod) => isTerminating(pod) && isHolding(pod))
  return holder === undefined
    ? { summary: componentWaiting('Halting', `the containers of ${name} are being stopped`) }
    : judgeEnding(holder, now)
}

function running(
  world: WorkspaceWorld,
  component: Component,
  pod: ContainerPodView | undefined,
): Pick<Judgement, 'summary' | 'remarks'> {
  const summary = componentReady(`the containers of ${component.name} run`)
  const stale = pod && staleHosts(world, component, pod)
  return { summary, ...(stale !== undefined && { remarks: [stale] }) }
}

function isSeen({ metadata, observedGeneration }: DeploymentView): boolean {
  return observedGeneration >= (metadata.generation ?? 0)
}

/** Judges a cluster whose pod may be started, and is not ready. */
function judgeDown(
  world: WorkspaceWorld,
  { name, objects }: Component,
  deployment: DeploymentView,
  { note, ...more }: Omit<Placement, 'summary'>,
): Judgement {
  const { progressing, replicaFailure } = deployment
  const isLate =
    isSeen(deployment) && progressing.status === 'False' && progressing.reason === 'ProgressDeadlineExceeded'
  // The refusal of a pod may quote its variables.
  const withoutSecrets = (text: string) => withoutSecretsOf(redactUrls(text), DEPLOYMENT.kind, objects)
  const trouble = podTrouble(world, name)
  if (trouble !== undefined) {
    const { reason, isLasting } = trouble
    const message = withoutSecrets(trouble.message)
    const text = note === undefined ? message : `${message}; ${note}`
    const summary =
      isLate || isLasting ? componentFailed('ContainersFailed', text) : componentWaiting('ContainersFailed', text)
    return { ...more, summary: { ...summary, reason } }
  }
  if (isSeen(deployment) && replicaFailure.status === 'True')
    return {
      summary: {
        ...componentWaiting(
          'Refused',
          `the pod of Deployment ${name} is refused: ${withoutSecrets(replicaFailure.message)}`,
        ),
        reason: replicaFailure.reason,
      },
    }
  const first = livePod(world, name)?.initializing ?? ''
  if (isLate) {
    const cause =
      first === '' ? withoutSecrets(progressing.message) : `its init container ${first} has not ended; see its log`
    const message = `the pod of Deployment ${name} is not ready in time: ${cause}`
    return { summary: componentFailed('ContainersFailed', message) }
  }
  const message =
    first === ''
      ? `the containers of ${name} are being started`
      : `init container ${first} of ${name} runs: the others start when it has ended`
  return { summary: componentWaiting('ContainersPending', message) }
}
