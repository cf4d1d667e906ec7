import { ANNOTATIONS } from '@open-terrain/constructs'
import {
  type DeploymentObject,
  effectiveRunStrategy,
  isCopiedSecret,
  POLICY_DEFAULTS,
  type Policy,
  parseWorkspaceSpec,
  podNetworksIn,
  type VirtualMachineSpec,
  type WorkspaceSpec,
} from '@open-terrain/constructs/operator'
import { toTime } from '../../../operator/base/time.ts'
import { viewQuota } from '../../../operator/cluster/quotas.ts'
import { viewClaim, viewNamespace, viewSecret } from '../../../operator/cluster/views.ts'
import {
  type ContainerPodView,
  viewConfigMap,
  viewContainerPod,
  viewDeployment,
  viewPersistentVolume,
  viewPlayJob,
  viewRoleBinding,
  viewService,
  viewWithSpec,
} from '../../../operator/controllers/workspace/child-views.ts'
import { type Blueprint, type Component, idOfObject } from '../../../operator/controllers/workspace/decide/component.ts'
import { imageNames } from '../../../operator/controllers/workspace/decide/components/image.ts'
import { networksOfBefore } from '../../../operator/controllers/workspace/decide/components/network.ts'
import { asEnded } from '../../../operator/controllers/workspace/decide/expiry.ts'
import { startingHosts } from '../../../operator/controllers/workspace/decide/host-names.ts'
import { imageTemplate } from '../../../operator/controllers/workspace/decide/image-template.ts'
import { machineRequests } from '../../../operator/controllers/workspace/decide/machine-requests.ts'
import { configMapNamesIn, secretNamesIn } from '../../../operator/controllers/workspace/decide/missing-secrets.ts'
import { planWorkspace } from '../../../operator/controllers/workspace/decide/plan.ts'
import { isSwitchedOff } from '../../../operator/controllers/workspace/decide/power.ts'
import { rebuildsDue } from '../../../operator/controllers/workspace/decide/rebuilds.ts'
import { asItStands, renderComponents, renderEarlier } from '../../../operator/controllers/workspace/decide/render.ts'
import { workspaceThrottleOf } from '../../../operator/controllers/workspace/decide/status.ts'
import { claimsOfVolumes, sizesOfClaims } from '../../../operator/controllers/workspace/decide/volume-claims.ts'
import {
  type ExpiryFacts,
  type ImageFacts,
  type MachineFacts,
  type SecretKeys,
  UNDISTURBED,
  type WorkspacePlan,
  type WorkspaceView,
  type WorkspaceWorld,
} from '../../../operator/controllers/workspace/world.ts'
import type { ImageView } from '../../../operator/images/image-view.ts'
import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import { expectShown } from '../runtime/plan-laws.ts'

export const NOW = Date.parse('2026-01-31T12:00:00Z')
/** One round for namespace and images, one for networks, volumes and plays, one for what runs, and as many again. */
const ROUNDS = 6
const OFF = { observedGeneration: 1 }
const RUNNING = { observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1 }
const VIEWS: Readonly<Record<string, (object: KubeObject, was: KubeObject | undefined) => KubeObject>> = {
  Namespace: viewNamespace,
  ResourceQuota: viewQuota,
  PersistentVolumeClaim: (object) => viewClaim(withStatus(object, { phase: 'Bound' })),
  PersistentVolume: viewPersistentVolume,
  ConfigMap: viewConfigMap,
  Deployment: (object) => viewDeployment(withStatus(object, isSwitchedOff(object) ? OFF : RUNNING)),
  Job: viewPlayJob,
  NetworkPolicy: viewWithSpec,
  RoleBinding: viewRoleBinding,
  Service: viewService,
  Secret: viewSecret,
  NetworkAttachmentDefinition: viewWithSpec,
  VirtualMachine: (object, was) => {
    const { status: { bootedAt } = {} } = (was ?? {}) as Partial<MachineFacts>
    const [reason, message] = isOffMachine(object) ? ['Halted', 'it is off'] : ['Running', 'it runs']
    return withStatus(object, {
      phase: 'Ready',
      reason,
      message,
      observedGeneration: 1,
      ...(bootedAt !== undefined && { bootedAt }),
    })
  },
}

function withStatus(object: KubeObject, status: object): KubeObject {
  return { ...object, status } as KubeObject
}

/** Reports whether the controller of machines leaves a machine off. */
export function isOffMachine({ spec }: KubeObject & { readonly spec?: unknown }): boolean {
  return effectiveRunStrategy((spec ?? {}) as VirtualMachineSpec) === 'Halted'
}

/** Returns the pod of a Deployment as Multus and a kubelet leave it when its containers run. */
export function podOf({ metadata, spec }: DeploymentObject): KubeObject {
  const { name, namespace } = metadata
  const { labels, annotations } = spec.template.metadata
  const { schedulingGates: _gates, ...podSpec } = spec.template.spec
  const attached = podNetworksIn(annotations).map((one) => {
    const ips = (one.ips ?? []).map((ip) => ip.split('/')[0])
    return { name: `${one.namespace}/${one.name}`, interface: one.interface, ips, mac: one.mac }
  })
  const reported = { 'k8s.v1.cni.cncf.io/network-status': JSON.stringify(attached) }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      namespace,
      name: `${name}-pod`,
      uid: `${name}-pod`,
      labels,
      annotations: { ...annotations, ...reported },
    },
    spec: { ...podSpec, nodeName: 'node-1', terminationGracePeriodSeconds: 0 },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  } as KubeObject
}

function rendered(blueprint: Blueprint) {
  return {
    components: renderComponents(blueprint),
    earlierOf: (component: Component) => renderEarlier(blueprint, component),
  }
}

/** A cluster, as caches see it, that carries out each plan at once. */
export class PlannedWorld {
  readonly children = new Map<string, KubeObject>()
  readonly images = new Map<string, ImageFacts>()
  /** Plans do not change these. */
  readonly namesakes = new Map<string, KubeObject>()
  readonly nodes = new Map<string, boolean | undefined>()
  readonly secretKeys = new Map<string, SecretKeys>()
  readonly playPods = new Map<string, ContainerPodView[]>()
  readonly playEnds = new Map<string, string>()
  expiry: ExpiryFacts = { serverNow: NOW, noticeMs: POLICY_DEFAULTS.expiryNoticeMs, isTurn: true }
  generation = 1
  clusterRanges: Blueprint['clusterRanges'] | undefined
  ranges: WorkspaceWorld['ranges'] = []
  readonly namesTaken = new Map<string, string>()
  policy: Policy = POLICY_DEFAULTS
  deletionTimestamp: string | undefined
  rebuildRequestedAt: string | undefined
  resetRequestedAt: string | undefined
  playRequestedAt: string | undefined
  /** Annotation with the claims of its volumes, as a restore writes it. */
  volumeClaims: string | undefined
  /** Set while the spec that is stored cannot be used. */
  unusable: 'InvalidSpec' | 'TooLarge' | undefined
  readonly missingSecrets = new Set<string>()
  readonly missingConfigMaps = new Set<string>()
  status: WorkspaceView['status'] = {}
  #spec: WorkspaceSpec
  #rendered: ReturnType<typeof rendered> | undefined
  #renderedOf: string | undefined
  #uids = 0

  constructor(spec: WorkspaceSpec) {
    this.#spec = spec
  }

  set spec(spec: WorkspaceSpec) {
    this.#spec = spec
    this.#rendered = undefined
  }

  /** Puts other keys of the policy in force. */
  changePolicy(changes: Partial<Policy>): void {
    this.policy = { ...this.policy, ...changes }
    this.#rendered = undefined
  }

  get world(): WorkspaceWorld {
    const metadata = {
      name: 'lab',
      uid: 'lab-uid',
      resourceVersion: '7',
      generation: this.generation,
      creationTimestamp: toTime(NOW),
      finalizers: ['pelotech.ot/workspace'],
    }
    const going = this.deletionTimestamp === undefined ? {} : { deletionTimestamp: this.deletionTimestamp }
    const annotations = {
      ...(this.playRequestedAt !== undefined && { [ANNOTATIONS.playRequestedAt]: this.playRequestedAt }),
      ...(this.rebuildRequestedAt !== undefined && { [ANNOTATIONS.rebuildRequestedAt]: this.rebuildRequestedAt }),
      ...(this.volumeClaims !== undefined && { [ANNOTATIONS.volumeClaims]: this.volumeClaims }),
      ...(this.resetRequestedAt !== undefined && { [ANNOTATIONS.resetRequestedAt]: this.resetRequestedAt }),
    }
    const { policy } = this
    const spec = this.#powered(this.#spec)
    const secretSources = this.#secretSources()
    const { children, status } = this
    const images = new Map(imageNames(spec).map((name) => [name, this.images.get(name)?.image]))
    const rollout = rebuildsDue({ spec, children, images })
    const requests = machineRequests(
      { workspace: { metadata: { ...metadata, annotations }, status }, spec, children },
      rollout,
    )
    const volumeClaims = claimsOfVolumes({ metadata: { ...metadata, annotations } }, children)
    const restoredSizes = sizesOfClaims(volumeClaims, children)
    const facts = { workspace: metadata, spec, policy, requests, secretSources, volumeClaims, restoredSizes }
    const blueprint = { ...facts, ...(this.clusterRanges !== undefined && { clusterRanges: this.clusterRanges }) }
    const renderedOf = JSON.stringify([
      spec.powerState,
      this.clusterRanges,
      ...[requests, volumeClaims, restoredSizes].map((one) => [...one]),
    ])
    if (this.#renderedOf !== renderedOf) this.#rendered = undefined
    this.#renderedOf = renderedOf
    this.#rendered ??= rendered({ ...blueprint, networksOfBefore: networksOfBefore(blueprint, this.children) })
    const { components, earlierOf } = this.#rendered
    const none = { image: undefined, isShared: false, claims: [] }
    return {
      ...UNDISTURBED,
      workspace: {
        apiVersion: 'pelotech.ot/v1alpha1',
        kind: 'Workspace',
        metadata: { ...metadata, ...going, annotations },
        spec: this.#spec,
        status: this.status,
        ...(this.unusable === 'TooLarge' && { isCut: true }),
      },
      spec:
        this.unusable === undefined
          ? { ok: true, spec }
          : { ok: false, problems: [{ path: 'spec', message: 'cannot be used' }] },
      policy,
      expiry: this.expiry,
      components: this.unusable === undefined ? components.map((one) => asItStands(one, children, earlierOf)) : [],
      children: this.children,
      namesTaken: this.namesTaken,
      namesakes: this.namesakes,
      images: new Map(imageNames(spec).map((name) => [name, this.images.get(name) ?? none])),
      secrets: new Set(secretNamesIn(spec).filter((name) => !this.missingSecrets.has(name))),
      configMaps: new Set(configMapNamesIn(spec).filter((name) => !this.missingConfigMaps.has(name))),
      pods: new Map(this.#pods()),
      playPods: this.playPods,
      playEnds: this.playEnds,
      nodes: this.nodes,
      ranges: this.ranges,
      secretKeys: this.secretKeys,
      secretSources,
      rollout,
    }
  }

  /** After its end, it is off. */
  #powered(own: WorkspaceSpec): WorkspaceSpec {
    const asIs = asEnded({ ok: true, spec: own }, this.status)
    return asIs.ok ? asIs.spec : own
  }

  /** Every source is there, in its first version. */
  #secretSources(): WorkspaceWorld['secretSources'] {
    const copied = (this.#spec.secrets ?? []).filter(isCopiedSecret)
    const version = { uid: 'source', resourceVersion: '1', type: 'Opaque' } as const
    return new Map(copied.map(({ name, from }) => [name, { source: { ...from, ...version } }]))
  }

  allImagesReady(): void {
    const artifact = { kind: 'VolumeSnapshot', name: 'snap', revision: 'r' } as const
    for (const name of imageNames(this.#spec)) {
      const metadata = { namespace: this.policy.imageNamespace, name, uid: name, generation: 1 }
      const image: ImageView = {
        apiVersion: 'pelotech.ot/v1alpha1',
        kind: 'VMDiskImage',
        metadata,
        spec: imageTemplate(this.#spec, this.policy, name).spec ?? {},
        status: { artifact },
      }
      this.images.set(name, { image, isShared: false, claims: [] })
    }
  }

  #pods(): [string, ContainerPodView[]][] {
    const deployments = [...this.children.values()].filter(({ kind }) => kind === 'Deployment')
    return deployments.map((one) => {
      if (isSwitchedOff(one)) return [one.metadata.name, []]
      const pod = podOf(one as never)
      const annotations = { ...pod.metadata.annotations, ...startingHosts(this, one.metadata.name) }
      return [one.metadata.name, [viewContainerPod({ ...pod, metadata: { ...pod.metadata, annotations } })]]
    })
  }

  /** Carries out a plan. */
  take(plan: WorkspacePlan): void {
    expectShown(this.world.workspace, plan.status)
    this.status = plan.status
    this.takeChildren(plan)
  }

  /** Carries out a plan as the operator does right after another write of the status: what can wait is not stored. */
  takePaced(plan: WorkspacePlan): void {
    if (workspaceThrottleOf(this.status, plan.status, 0).isStatusDue) this.status = plan.status
    this.takeChildren(plan)
  }

  takeChildren({ apply, remove }: Pick<WorkspacePlan, 'apply' | 'remove'>): void {
    for (const wanted of apply) {
      const view = VIEWS[wanted.kind]
      if (view === undefined) continue
      const id = idOfObject(wanted)
      this.#uids += 1
      const was = this.children.get(id)
      const { uid = `uid-${this.#uids}` } = was?.metadata ?? {}
      this.children.set(id, view({ ...wanted, metadata: { ...wanted.metadata, uid, generation: 1 } }, was))
    }
    for (const { kind, name } of remove) {
      this.children.delete(`${kind} ${name}`)
      if (kind === 'Namespace')
        for (const [id, child] of this.children) if (child.metadata.namespace === name) this.children.delete(id)
    }
  }
}

/** Plans until the workspace is Ready. Throws if it does not become Ready. */
export function settledWorld(spec: unknown, policy: Partial<Policy> = {}): PlannedWorld {
  const planned = new PlannedWorld(parsed(spec))
  planned.policy = { ...planned.policy, ...policy }
  planned.allImagesReady()
  for (let round = 0; round < ROUNDS; round += 1) planned.take(planWorkspace(planned.world, NOW))
  const { phase, message } = planned.status
  if (phase !== 'Ready') throw new Error(`the workspace is ${phase}: ${message}`)
  return planned
}

/** Returns the spec as the API server would return it. */
export function parsed(spec: unknown): WorkspaceSpec {
  const result = parseWorkspaceSpec(spec)
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.spec
}
