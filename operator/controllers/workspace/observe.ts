import type { Policy, WorkspaceSpec } from '@open-terrain/constructs'
import { BY_NAMESPACE } from '../../cluster/caches.ts'
import { namespaceState } from '../../cluster/namespace-state.ts'
import { BY_OWNER, childrenOf, familyKey } from '../../cluster/ownership.ts'
import { BY_CONTAINER_CLUSTER } from '../../cluster/workspace-child-caches.ts'
import type { ContainerPodView } from '../../cluster/workspace-views.ts'
import { type KubeObject, keyOf, type ResourceType } from '../../kube/kube-object.ts'
import { BY_IMAGE_NAME, parsedWorkspaceSpec, type WorkspaceCaches } from './caches.ts'
import { type Component, idOfObject } from './decide/component.ts'
import { imageNames, ownReferences } from './decide/components/image.ts'
import { passwordSecretsOf } from './decide/components/virtual-machine.ts'
import { OWNED_TYPES } from './decide/kinds.ts'
import { renderComponents } from './decide/render.ts'
import type { ImageFacts, WorkspaceView, WorkspaceWorld } from './world.ts'

/** Facts that do not come from caches. Events about pods do not either, and are added later. */
type More = Pick<WorkspaceWorld, 'policy' | 'refusals' | 'isUndecided' | 'refusal'>

/** Gathers the facts about a workspace from the caches. Sends no request to the API server. */
export function observeWorkspace(
  workspace: WorkspaceView,
  caches: WorkspaceCaches,
  more: More,
): Omit<WorkspaceWorld, 'podWarnings'> {
  const { name } = workspace.metadata
  const { cluster } = caches
  const spec = parsedWorkspaceSpec(workspace.spec)
  const components = spec.ok ? componentsOf(workspace, spec.spec, more.policy) : []
  const children = new Map(childrenIn(caches, workspace).map((one) => [idOfObject(one), one]))
  const { vms = [], containerClusters = [] }: WorkspaceSpec = spec.ok ? spec.spec : {}
  const secrets = vms.flatMap(passwordSecretsOf).map((ref) => ref.name)
  return {
    workspace,
    spec,
    ...more,
    components,
    children,
    namesakes: namesakesIn(caches, components, children),
    missingKinds: new Set(
      OWNED_TYPES.filter(({ type }) => !caches.reflectors.isInstalled(type)).map(({ type }) => type.kind),
    ),
    images: new Map(
      (spec.ok ? imageNames(spec.spec) : []).map((image) => [
        image,
        imageFacts(image, ownReferences({ workspace, children }, image), caches, more.policy),
      ]),
    ),
    imageNamespace: namespaceState(cluster.namespaces.get(more.policy.imageNamespace)),
    secrets: new Set(
      secrets.filter((secret) => cluster.secrets.get(keyOf({ namespace: name, name: secret })) !== undefined),
    ),
    pods: new Map(containerClusters.map((one) => [one.name, podsOf(caches, name, one.name)])),
  }
}

/** Rendering takes longer than everything else, and its result is the same until the spec or the policy changes. */
const rendered = new WeakMap<
  object,
  { readonly policy: Policy; readonly uid: string; readonly components: readonly Component[] }
>()

function componentsOf({ metadata }: WorkspaceView, spec: WorkspaceSpec, policy: Policy): readonly Component[] {
  const { name, uid = '' } = metadata
  const known = rendered.get(spec)
  if (known !== undefined && known.policy === policy && known.uid === uid) return known.components
  const components = renderComponents({ workspace: { name, uid }, spec, policy })
  rendered.set(spec, { policy, uid, components })
  return components
}

/** Returns the children of the workspace. Objects forged in other namespaces are not even looked at. */
function childrenIn({ cluster, machines }: WorkspaceCaches, workspace: WorkspaceView): KubeObject[] {
  const { name, uid = '' } = workspace.metadata
  const { workspaces } = cluster
  const family = familyKey(name, uid)
  const namespace = cluster.namespaces.get(name)
  return childrenOf<KubeObject>(workspace, [
    ...(namespace === undefined ? [] : [namespace]),
    ...workspaces.networkPolicies.find(BY_OWNER, family),
    ...cluster.quotas.find(BY_NAMESPACE, name),
    ...workspaces.networks.find(BY_OWNER, family),
    ...cluster.claims.find(BY_OWNER, family),
    ...workspaces.volumes.find(BY_OWNER, familyKey(undefined, uid)),
    ...workspaces.configMaps.find(BY_OWNER, family),
    ...workspaces.deployments.find(BY_OWNER, family),
    ...machines.find(BY_NAMESPACE, name),
  ])
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
): ImageFacts {
  const image = caches.images.get(keyOf({ namespace: imageNamespace, name }))
  // The names are only the first few.
  const { count = 0, names = [] } = image?.status.references ?? {}
  const isCounted = count > own.size || names.some((one) => !own.has(one))
  const isShared = caches.workspaces.count(BY_IMAGE_NAME, name) > 1 || isCounted
  return { image, isShared: image !== undefined && isShared }
}

function podsOf({ cluster }: WorkspaceCaches, namespace: string, name: string): ContainerPodView[] {
  return cluster.workspaces.pods.find(BY_CONTAINER_CLUSTER, keyOf({ namespace, name }))
}
