import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { isCopiedSecret, isGeneratedSecret, type Policy, type WorkspaceSpec } from '@open-terrain/constructs/operator'
import { BY_NAMESPACE } from '../../cluster/caches.ts'
import { namespaceState } from '../../cluster/namespace-state.ts'
import { BY_OWNER, familyKey, isChildOf, type Owner } from '../../cluster/ownership.ts'
import { type ClaimsOn, hasOthers } from '../../images/references.ts'
import { type KubeObject, keyOf, type ResourceType } from '../../kube/kube-object.ts'
import { JOB, SECRET } from '../../kube/resource-types.ts'
import type { AsideChildren } from './aside-children.ts'
import { parsedWorkspaceSpec, type WorkspaceCaches } from './caches.ts'
import { BY_CONTAINER_CLUSTER, BY_LINK, BY_NODE, BY_PLAY, BY_PLAYING, BY_REPORTED_NETWORKS } from './child-caches.ts'
import { type ContainerPodView, makesPrivileged, type PlayJobView } from './child-views.ts'
import { type Blueprint, type Component, idOf, idOfObject, type Rollout } from './decide/component.ts'
import { imageNames, ownReferences } from './decide/components/image.ts'
import { linkNamesIn, networksOfBefore } from './decide/components/network.ts'
import { asEnded } from './decide/expiry.ts'
import { OWNED_TYPES } from './decide/kinds.ts'
import { machineRequests } from './decide/machine-requests.ts'
import { configMapNamesIn, secretNamesIn } from './decide/missing-secrets.ts'
import { isRecreate } from './decide/outdated.ts'
import { isPlayRecorded } from './decide/plays.ts'
import { NO_ROLLOUT, rebuildsDue } from './decide/rebuilds.ts'
import { isFrozenCopy, isOfAnotherSource } from './decide/secret-sources.ts'
import { claimsOfVolumes, sizesOfClaims } from './decide/volume-claims.ts'
import type { LostKeys } from './lost-keys.ts'
import type { PlayEnds } from './play-ends.ts'
import type { SecretCopies } from './secret-copies.ts'
import type { ImageFacts, WorkspaceView, WorkspaceWorld } from './world.ts'

/** Facts that do not come from caches. Events about pods do not either, and are added later. */
type More = Pick<
  WorkspaceWorld,
  'policy' | 'expiry' | 'ranges' | 'secretSources' | 'refusals' | 'isUndecided' | 'refusal'
>

interface Looks {
  readonly aside: Pick<AsideChildren, 'look'>
  readonly lostKeys: Pick<LostKeys, 'of'>
  readonly playEnds: Pick<PlayEnds, 'of'>
  readonly copies: Pick<SecretCopies, 'differs'>
  readonly claimsOn: ClaimsOn
  readonly clusterRanges?: Blueprint['clusterRanges'] | undefined
}

/** Gathers the facts about a workspace from the caches. Sends no request to the API server. */
export function observeWorkspace(
  workspace: WorkspaceView,
  caches: WorkspaceCaches,
  { aside, lostKeys, playEnds, copies, claimsOn, clusterRanges, ...more }: Looks & More,
): Omit<WorkspaceWorld, 'podWarnings'> {
  const { name } = workspace.metadata
  const { cluster } = caches
  const spec = asEnded(parsedWorkspaceSpec(workspace), workspace.status)
  const kept = new Map(childrenIn(caches, workspace).map((one) => [idOfObject(one), one]))
  const wanted: WorkspaceSpec = spec.ok ? spec.spec : {}
  // What is not wanted any more, or cannot be read any more, may still run.
  const existing = caches.childCaches.deployments.find(BY_OWNER, familyKey(name, workspace.metadata.uid ?? ''))
  const clusters = new Set(
    [...(wanted.containerClusters ?? []), ...existing.map(({ metadata }) => metadata)].map((one) => one.name),
  )
  const pods = new Map([...clusters].map((one) => [one, podsOf(caches, name, one)]))
  const runsPrivileged = existing.some(makesPrivileged) || [...pods.values()].flat().some((one) => one.isPrivileged)
  const rollout = rolloutOf(workspace, spec, kept, caches, more.policy)
  const blueprint = spec.ok
    ? blueprintOf(workspace, spec.spec, { ...more, rollout, runsPrivileged, clusterRanges }, kept)
    : undefined
  const isKept = caches.workspaces.get(name)?.spec === workspace.spec
  const components = blueprint === undefined ? [] : caches.renderings.componentsOf(blueprint, kept, isKept)
  const children = aside.look(keyOf(workspace.metadata), kept, components)
  return {
    workspace,
    spec,
    ...more,
    rollout,
    components,
    children,
    namesTaken: blueprint === undefined ? new Map() : namesTakenIn(caches, blueprint),
    namesakes: namesakesIn(caches, components, children),
    missingKinds: new Set(
      OWNED_TYPES.filter(({ type }) => !caches.reflectors.isInstalled(type)).map(({ type }) => type.kind),
    ),
    images: new Map(
      (spec.ok ? imageNames(spec.spec) : []).map((image) => [
        image,
        imageFacts(image, ownReferences({ workspace, children }, image), caches, more.policy, claimsOn),
      ]),
    ),
    imageNamespace: namespaceState(cluster.namespaces.get(more.policy.imageNamespace)),
    secrets: existingIn(name, secretNamesIn(wanted), cluster.secrets),
    configMaps: existingIn(name, configMapNamesIn(wanted), cluster.configMaps),
    secretKeys: new Map(
      (wanted.secrets ?? []).filter(isGeneratedSecret).flatMap(({ name: secret, generate }) => {
        const child = kept.get(idOf(SECRET.kind, secret))
        const keys = generate.map(({ key }) => key)
        return child === undefined ? [] : [[secret, lostKeys.of(child, keys)] as const]
      }),
    ),
    copiesToMend: copiesToMend(wanted, kept, more.secretSources, copies),
    pods,
    ...playsIn(caches, workspace, kept, playEnds),
    nodes: nodesOf(caches, name, [...pods.values()].flat()),
    areNetworksReported: caches.childCaches.pods.count(BY_REPORTED_NETWORKS, 'yes') > 0,
  }
}

function existingIn(
  namespace: string,
  names: readonly string[],
  objects: { get(key: string): KubeObject | undefined },
): ReadonlySet<string> {
  return new Set(names.filter((name) => objects.get(keyOf({ namespace, name })) !== undefined))
}

/** Returns the pods that play roles, and what those of them said that failed. */
function playsIn(
  { childCaches }: WorkspaceCaches,
  { metadata: { name: namespace }, status }: WorkspaceView,
  children: ReadonlyMap<string, KubeObject>,
  playEnds: Pick<PlayEnds, 'of'>,
): Pick<WorkspaceWorld, 'playPods' | 'playEnds'> {
  const jobs = [...children.values()].filter((one): one is PlayJobView => one.kind === JOB.kind)
  // Everybody who may create pods can give one this label.
  const ofJob = ({ metadata: { name, uid } }: PlayJobView) =>
    childCaches.pods
      .find(BY_PLAY, keyOf({ namespace, name }))
      .filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid) === true)
  const ended = jobs
    .filter((job) => job.failed.status === 'True' && isPlayRecorded(status, job))
    .flatMap((job) => ofJob(job).flatMap((pod) => (pod.lastWords === undefined ? [] : [[job, pod] as const])))
  const playPods = new Map(jobs.map((job) => [job.metadata.name, ofJob(job)]))
  for (const pod of childCaches.pods.find(BY_PLAYING, namespace)) {
    const name = pod.metadata.labels?.[LABELS.play] ?? ''
    if (!playPods.has(name)) playPods.set(name, childCaches.pods.find(BY_PLAY, keyOf({ namespace, name })))
  }
  return {
    playPods,
    playEnds: new Map(ended.map(([job, pod]) => [pod.metadata.uid ?? '', playEnds.of(job, pod)])),
  }
}

function copiesToMend(
  { secrets = [] }: WorkspaceSpec,
  children: ReadonlyMap<string, KubeObject>,
  sources: WorkspaceWorld['secretSources'],
  copies: Pick<SecretCopies, 'differs'>,
): ReadonlySet<string> {
  const names = secrets.filter(isCopiedSecret).map(({ name }) => name)
  return new Set(
    names.filter((name) => {
      const [copy, wanted] = [children.get(idOf(SECRET.kind, name)), sources.get(name)]
      return copy !== undefined && wanted !== undefined && 'source' in wanted && copies.differs(copy, wanted.source)
    }),
  )
}

/** Returns the nodes of all members. */
function nodesOf(
  { childCaches, machines }: WorkspaceCaches,
  namespace: string,
  pods: readonly ContainerPodView[],
): WorkspaceWorld['nodes'] {
  const running = machines.find(BY_NAMESPACE, namespace).map(({ status }) => status.kubevirt?.nodeName ?? '')
  const names = [...pods.map(({ node }) => node), ...running].filter((node) => node !== '')
  return new Map(
    names.toSorted().map((node) => {
      const guards = childCaches.isolation.find(BY_NODE, node)
      return [node, guards.length === 0 ? undefined : guards.some(({ isReady }) => isReady)]
    }),
  )
}

function blueprintOf(
  workspace: WorkspaceView,
  spec: WorkspaceSpec,
  {
    policy,
    rollout,
    secretSources,
    refusals,
    runsPrivileged,
    clusterRanges,
  }: Pick<More & WorkspaceWorld, 'policy' | 'rollout' | 'secretSources' | 'refusals'> & {
    readonly runsPrivileged: boolean
    readonly clusterRanges: Blueprint['clusterRanges'] | undefined
  },
  children: ReadonlyMap<string, KubeObject>,
): Blueprint {
  const { name, uid = '' } = workspace.metadata
  const replaced = (spec.secrets ?? []).flatMap(({ name: secret }) => {
    const existing = children.get(idOf(SECRET.kind, secret))
    const source = secretSources.get(secret)
    if (existing === undefined) return []
    return isOfAnotherSource(existing, source) || isFrozenCopy(existing, source, refusals) ? [secret] : []
  })
  const ofSecrets = { secretSources, secretsToReplace: new Set(replaced) }
  const requests = machineRequests({ workspace, spec, children }, rollout)
  const volumeClaims = claimsOfVolumes(workspace, children)
  const restored = volumeClaims.size > 0 && { volumeClaims, restoredSizes: sizesOfClaims(volumeClaims, children) }
  const blueprint = { workspace: { name, uid }, spec, policy, requests, runsPrivileged, ...ofSecrets, ...restored }
  const shown = clusterRanges !== undefined && { clusterRanges }
  return { ...blueprint, ...shown, networksOfBefore: networksOfBefore(blueprint, children) }
}

/** Decides before anything is rendered: what machines are asked is a part of them. */
function rolloutOf(
  { metadata }: WorkspaceView,
  spec: WorkspaceWorld['spec'],
  children: ReadonlyMap<string, KubeObject>,
  { images }: WorkspaceCaches,
  { imageNamespace }: Policy,
): Rollout {
  if (!spec.ok || metadata.deletionTimestamp !== undefined || !isRecreate(spec.spec)) return NO_ROLLOUT
  const names = imageNames(spec.spec)
  const seen = names.map((name) => [name, images.get(keyOf({ namespace: imageNamespace, name }))] as const)
  return rebuildsDue({ spec: spec.spec, children, images: new Map(seen) })
}

/** Returns which networks of the workspace have a bridge or a name that a network elsewhere has. */
function namesTakenIn({ childCaches }: WorkspaceCaches, blueprint: Blueprint): ReadonlyMap<string, string> {
  const { workspace, spec } = blueprint
  const { networks, foreignNetworks } = childCaches
  const taken = new Map<string, string>()
  for (const { name, attach } of spec.networks ?? []) {
    if (attach !== undefined) continue
    const { bridge, cni } = linkNamesIn(blueprint, name)
    const others = [bridge, cni].flatMap((link) => [
      ...networks.find(BY_LINK, link),
      ...foreignNetworks.find(BY_LINK, link),
    ])
    const other = others.find(({ metadata }) => metadata.namespace !== workspace.name)
    if (other !== undefined) taken.set(name, keyOf(other.metadata))
  }
  return taken
}

/** Returns the children of the workspace. Objects forged in other namespaces are not even looked at. */
function childrenIn({ cluster, childCaches, machines }: WorkspaceCaches, workspace: WorkspaceView): KubeObject[] {
  const { name, uid = '' } = workspace.metadata
  const family = familyKey(name, uid)
  const namespace = cluster.namespaces.get(name)
  const candidates: readonly KubeObject[] = [
    ...(namespace === undefined ? [] : [namespace]),
    ...childCaches.networkPolicies.find(BY_OWNER, family),
    ...childCaches.roleBindings.find(BY_OWNER, family),
    ...cluster.quotas.find(BY_NAMESPACE, name),
    ...childCaches.networks.find(BY_OWNER, family),
    ...cluster.secrets.find(BY_OWNER, family),
    ...cluster.claims.find(BY_OWNER, family),
    ...childCaches.volumes.find(BY_OWNER, familyKey(undefined, uid)),
    ...childCaches.configMaps.find(BY_OWNER, family),
    ...childCaches.deployments.find(BY_OWNER, family),
    ...childCaches.jobs.find(BY_OWNER, family),
    ...machines.find(BY_NAMESPACE, name),
    ...childCaches.services.find(BY_OWNER, family),
  ]
  return candidates.filter((one) => isChildOfWorkspace(one, workspace))
}

/** Everybody who may create a Secret can give it any owner. Only with an annotation that every version sets is it one that we made. */
export function isChildOfWorkspace(object: KubeObject, workspace: Owner): boolean {
  if (!isChildOf(object, workspace)) return false
  return object.kind !== SECRET.kind || isSecretOfWorkspace(object)
}

/** Reports whether a Secret has an annotation of those that the operator makes for workspaces. */
export function isSecretOfWorkspace({ metadata: { annotations = {} } }: KubeObject): boolean {
  return [ANNOTATIONS.generatedKeys, ANNOTATIONS.copiedVersion].some((one) => annotations[one] !== undefined)
}

const TYPES: ReadonlyMap<string, ResourceType> = new Map(OWNED_TYPES.map(({ type }) => [type.kind, type]))

function namesakesIn(
  { reflectors }: WorkspaceCaches,
  components: readonly Component[],
  children: ReadonlyMap<string, KubeObject>,
): ReadonlyMap<string, KubeObject> {
  const namesakes = new Map<string, KubeObject>()
  for (const wanted of components.flatMap(({ objects }) => objects)) {
    const id = idOfObject(wanted)
    const type = TYPES.get(wanted.kind)
    const found = children.has(id) || type === undefined ? undefined : reflectors.get(type, keyOf(wanted.metadata))
    if (found !== undefined) namesakes.set(id, found)
  }
  return namesakes
}

/** @param own references of the workspace and its machines */
function imageFacts(
  name: string,
  own: ReadonlySet<string>,
  caches: WorkspaceCaches,
  { imageNamespace }: Policy,
  claimsOn: ClaimsOn,
): ImageFacts {
  const image = caches.images.get(keyOf({ namespace: imageNamespace, name }))
  // An image that has an artifact is taken as it is, no matter who refers to it.
  if (image === undefined || image.status.artifact !== undefined) return { image, isShared: false, claims: [] }
  const claims = claimsOn(image.metadata).filter(({ by, isKeeper }) => isKeeper === true || !own.has(by))
  return { image, isShared: hasOthers(image, new Set([...own, ...claims.map(({ by }) => by)])), claims }
}

function podsOf({ childCaches }: WorkspaceCaches, namespace: string, name: string): ContainerPodView[] {
  return childCaches.pods.find(BY_CONTAINER_CLUSTER, keyOf({ namespace, name }))
}
