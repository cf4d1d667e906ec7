import {
  type DeploymentObject,
  FINALIZERS,
  isCopiedSecret,
  podNetworksIn,
  type WorkspaceSpec,
} from '@open-terrain/constructs/operator'
import { isSame } from '../../operator/base/equality.ts'
import { viewQuota } from '../../operator/cluster/quotas.ts'
import { viewClaim, viewNamespace, viewSecret } from '../../operator/cluster/views.ts'
import { parsedWorkspaceSpec, viewWorkspace } from '../../operator/controllers/workspace/caches.ts'
import {
  viewConfigMap,
  viewContainerPod,
  viewDeployment,
  viewPersistentVolume,
  viewPlayJob,
  viewRoleBinding,
  viewService,
  viewWithSpec,
} from '../../operator/controllers/workspace/child-views.ts'
import { idOfObject } from '../../operator/controllers/workspace/decide/component.ts'
import { imageNames } from '../../operator/controllers/workspace/decide/components/image.ts'
import { networksOfBefore } from '../../operator/controllers/workspace/decide/components/network.ts'
import { machineRequests } from '../../operator/controllers/workspace/decide/machine-requests.ts'
import { configMapNamesIn, secretNamesIn } from '../../operator/controllers/workspace/decide/missing-secrets.ts'
import { planWorkspace } from '../../operator/controllers/workspace/decide/plan.ts'
import { isSwitchedOff } from '../../operator/controllers/workspace/decide/power.ts'
import { NO_ROLLOUT } from '../../operator/controllers/workspace/decide/rebuilds.ts'
import { leavingIn } from '../../operator/controllers/workspace/decide/removal-order.ts'
import { renderComponents } from '../../operator/controllers/workspace/decide/render.ts'
import { claimsOfVolumes, sizesOfClaims } from '../../operator/controllers/workspace/decide/volume-claims.ts'
import { isChildOfWorkspace } from '../../operator/controllers/workspace/observe.ts'
import {
  type ImageFacts,
  UNDISTURBED,
  type WorkspacePlan,
  type WorkspaceView,
  type WorkspaceWorld,
} from '../../operator/controllers/workspace/world.ts'
import { type KubeObject, keyOf } from '../../operator/kube/kube-object.ts'
import { readyImage } from './plan-image.ts'
import { type Assumptions, idOfPlanned, type Planned, type Present, ROUNDS_MAX, stored } from './planned.ts'

const OFF = { observedGeneration: 1 }
const ON = { observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1 }
const READY = { phase: 'Ready', reason: 'Running', message: 'it runs', observedGeneration: 1 }

/** How caches see what was made, once it is ready. */
const VIEWS: Readonly<Record<string, (object: KubeObject) => KubeObject>> = {
  Namespace: viewNamespace,
  ResourceQuota: viewQuota,
  PersistentVolumeClaim: (object) => viewClaim(stored(object, { status: { phase: 'Bound' } })),
  PersistentVolume: viewPersistentVolume,
  ConfigMap: viewConfigMap,
  Deployment: (object) => viewDeployment(stored(object, { status: isSwitchedOff(object) ? OFF : ON })),
  Job: viewPlayJob,
  NetworkPolicy: viewWithSpec,
  RoleBinding: viewRoleBinding,
  Service: viewService,
  Secret: viewSecret,
  NetworkAttachmentDefinition: viewWithSpec,
  VirtualMachine: (object) => stored(object, { status: READY }),
}

/** Machines say what they were given, and claims whether they are bound. */
const VIEWS_OF_LIVE: typeof VIEWS = {
  ...VIEWS,
  PersistentVolumeClaim: viewClaim,
  VirtualMachine: (object) => ({ status: {}, ...object }),
}

/** What the lab rests on, which a plan does not change. */
interface Ground extends Assumptions {
  readonly workspace: WorkspaceView
  readonly spec: WorkspaceSpec
  /** Children of the stored lab as caches see them, by `idOfObject`. What is decided before anything is rendered follows from them. */
  readonly before: ReadonlyMap<string, KubeObject>
}

/** What the status remembers of requests: each is carried out once. */
type Remembered = Pick<WorkspaceView['status'], 'passedRebuild' | 'passedReset' | 'uncountedRebuild' | 'uncountedReset'>

/**
 * Plans a lab until all its objects are made, in a cluster that has all that it names. Its machines are objects of ours: they are to be planned too.
 * @param present undefined: the lab is not there yet
 */
export function planFreshLab(object: KubeObject, assumptions: Assumptions, present?: Present): Planned {
  const { policy, now } = assumptions
  const view = viewWorkspace(stored(object))
  const parsed = parsedWorkspaceSpec(view)
  if (!parsed.ok) return { objects: [], remarks: [] }
  const workspace = { ...view, metadata: { ...view.metadata, finalizers: [FINALIZERS.workspace] }, status: {} }
  const ground = { ...assumptions, workspace, spec: parsed.spec, before: childrenBefore(view, present) }
  const lab = new FreshLab(ground)
  const remarks: string[] = []
  const { status: known = {} } = (present?.live ?? {}) as Partial<WorkspaceView>
  let status: WorkspaceView['status'] = rememberedIn(known)
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const plan = planWorkspace(worldOf(ground, { status, ...lab }), now)
    status = plan.status
    if (lab.take(plan)) continue
    // What has no template is somebody else's, and there.
    const assumed = lab.assumeImages()
    if (assumed.length === 0) break
    remarks.push(...assumed.map((name) => `image ${keyOf(imageKey(policy, name))} is taken for Ready`))
  }
  const objects = [...lab.objects.values()]
  const staying = stayingIn(worldOf(ground, { status: { ...known, ...status }, ...lab }), ground).map(idOfPlanned)
  return { objects, remarks: [...remarks, ...waitsOf(object, status)], staying }
}

function rememberedIn({ passedRebuild, passedReset, uncountedRebuild, uncountedReset }: Remembered): Remembered {
  return {
    ...(passedRebuild !== undefined && { passedRebuild }),
    ...(passedReset !== undefined && { passedReset }),
    ...(uncountedRebuild !== undefined && { uncountedRebuild }),
    ...(uncountedReset !== undefined && { uncountedReset }),
  }
}

/** What somebody has made under the name of the lab is none of its children. */
function childrenBefore(workspace: WorkspaceView, present: Present | undefined): ReadonlyMap<string, KubeObject> {
  const own = (present?.children ?? []).filter((one) => isChildOfWorkspace(one, workspace))
  return new Map(own.map((one) => [idOfObject(one), (VIEWS_OF_LIVE[one.kind] ?? ((same) => same))(one)] as const))
}

/** Returns the children of before that are not planned and that the operator keeps, also once all others that leave are gone. */
function stayingIn(world: WorkspaceWorld, { before }: Ground): readonly KubeObject[] {
  const children = new Map([...before, ...world.children])
  for (;;) {
    const leaving = leavingIn({ ...world, children })
    for (const one of leaving) children.delete(idOfObject(one))
    if (leaving.length === 0) return [...children.values()].filter((one) => !world.children.has(idOfObject(one)))
  }
}

/** What has been made of a lab. */
class FreshLab {
  /** As caches see them, by `idOfObject`. */
  readonly children = new Map<string, KubeObject>()
  readonly objects = new Map<string, KubeObject>()
  readonly images = new Map<string, ImageFacts>()
  readonly #ground: Ground

  constructor(ground: Ground) {
    this.#ground = ground
    const { policy, images, spec } = ground
    for (const name of imageNames(spec))
      if (images.has(keyOf(imageKey(policy, name)))) this.images.set(name, factsOf(ground, name))
  }

  /** Makes what a plan wants. Returns whether anything has changed by that. */
  take({ apply, applyIf = [] }: WorkspacePlan): boolean {
    let isChanged = false
    for (const wanted of [...apply, ...applyIf.map((one) => one.wanted)]) {
      const id = idOfPlanned(wanted)
      isChanged ||= !isSame(this.objects.get(id), wanted)
      this.objects.set(id, wanted)
      const view = VIEWS[wanted.kind]
      if (view !== undefined) this.children.set(idOfObject(wanted), view(stored(wanted)))
      if (wanted.kind === 'VMDiskImage')
        this.images.set(wanted.metadata.name, factsOfImage(wanted, this.#ground.policy))
    }
    return isChanged
  }

  /** Takes the images that are not there for Ready. Returns their names. */
  assumeImages(): string[] {
    const missing = imageNames(this.#ground.spec).filter((name) => !this.images.has(name))
    for (const name of missing) this.images.set(name, factsOf(this.#ground, name))
    return missing
  }
}

/** Returns what the lab would wait for although everything that it names is there. */
function waitsOf({ metadata: { name } }: KubeObject, { components = [] }: WorkspaceView['status']): string[] {
  const failing = components.filter(({ phase }) => phase === 'Failed')
  return failing.map((one) => `Workspace ${name}: ${one.kind} ${one.name}: ${one.message}`)
}

function imageKey({ imageNamespace: namespace }: Assumptions['policy'], name: string) {
  return { namespace, name }
}

function factsOf({ policy, images, workspace }: Ground, name: string): ImageFacts {
  const metadata = imageKey(policy, name)
  return factsOfImage(
    { apiVersion: workspace.apiVersion, kind: 'VMDiskImage', metadata },
    policy,
    images.get(keyOf(metadata)),
  )
}

function factsOfImage(object: KubeObject, policy: Assumptions['policy'], size?: string): ImageFacts {
  return { image: readyImage(object, size, policy), isShared: false, claims: [] }
}

interface Made {
  readonly status: WorkspaceView['status']
  readonly children: ReadonlyMap<string, KubeObject>
  readonly images: ReadonlyMap<string, ImageFacts>
}

function worldOf(ground: Ground, { status, children, images }: Made): WorkspaceWorld {
  const { workspace: fresh, spec, policy, now, before } = ground
  const workspace = { ...fresh, status }
  // What a machine was given, the one that is there says.
  const seen = new Map([...children, ...before])
  const requests = machineRequests({ workspace, spec, children: seen }, NO_ROLLOUT)
  const secretSources = sourcesIn(spec)
  const { name, uid = '' } = workspace.metadata
  const volumeClaims = claimsOfVolumes(workspace, seen)
  const restoredSizes = sizesOfClaims(volumeClaims, seen)
  const blueprint = { workspace: { name, uid }, spec, policy, requests, secretSources, volumeClaims, restoredSizes }
  // A claim that a volume was restored to is not made again: without it, the volume would be lost.
  const claims = new Set(volumeClaims.values())
  const restored = [...before].filter(
    ([, { kind, metadata }]) => kind === 'PersistentVolumeClaim' && claims.has(metadata.name),
  )
  const none = { image: undefined, isShared: false, claims: [] }
  return {
    ...UNDISTURBED,
    workspace,
    spec: { ok: true, spec },
    policy,
    expiry: { serverNow: now, noticeMs: policy.expiryNoticeMs, isTurn: false },
    components: renderComponents({ ...blueprint, networksOfBefore: networksOfBefore(blueprint, seen) }),
    children: new Map([...restored, ...children]),
    images: new Map(imageNames(spec).map((image) => [image, images.get(image) ?? none])),
    secrets: new Set(secretNamesIn(spec)),
    configMaps: new Set(configMapNamesIn(spec)),
    secretSources,
    pods: podsOf(children),
    rollout: NO_ROLLOUT,
  }
}

/** Every Secret that is to be copied is there, and shared. */
function sourcesIn({ secrets = [] }: WorkspaceSpec): WorkspaceWorld['secretSources'] {
  const source = { uid: '', resourceVersion: '1', type: 'Opaque' } as const
  return new Map(secrets.filter(isCopiedSecret).map(({ name, from }) => [name, { source: { ...from, ...source } }]))
}

/** A pod of each Deployment that is on, as Multus and a kubelet leave it when its containers run. */
function podsOf(children: ReadonlyMap<string, KubeObject>): WorkspaceWorld['pods'] {
  const deployments = [...children.values()].filter(({ kind }) => kind === 'Deployment') as DeploymentObject[]
  return new Map(
    deployments.map((one) => [one.metadata.name, isSwitchedOff(one) ? [] : [viewContainerPod(podOf(one))]] as const),
  )
}

function podOf({ metadata: { name, namespace }, spec }: DeploymentObject): KubeObject {
  const { labels, annotations } = spec.template.metadata
  const { schedulingGates: _gates, ...podSpec } = spec.template.spec
  const networks = podNetworksIn(annotations).map((one) => {
    const ips = (one.ips ?? []).map((ip) => ip.split('/')[0])
    return { name: `${one.namespace}/${one.name}`, interface: one.interface, ips, mac: one.mac }
  })
  const reported = { 'k8s.v1.cni.cncf.io/network-status': JSON.stringify(networks) }
  const head = { namespace, name, labels, annotations: { ...annotations, ...reported } }
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: head, spec: { ...podSpec, nodeName: 'node' } }
  return stored(pod as KubeObject, { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } })
}
