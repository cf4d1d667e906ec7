import type { Construct } from 'constructs'
import { parseDuration } from '../api/duration.ts'
import { isOnPodNetwork, staticAddresses } from '../api/interface-words.ts'
import {
  type IpPrefix,
  ipText,
  isHostAddress,
  networkOf,
  parseCidr,
  plainAddress,
  prefixText,
} from '../api/ip-address.ts'
import { LABELS } from '../api/labels.ts'
import { childName, shortHash } from '../api/names.ts'
import type { NetworkDriver } from '../api/policy.ts'
import { ROOT, safeLogin } from '../api/virtual-machine-logins.ts'
import type { WorkspaceNetwork, WorkspaceSpec, WorkspaceVm } from '../api/workspace.ts'
import { PLAY_TIMEOUT_MS, PLAYS, type Play } from '../api/workspace-ansible.ts'
import { memoized } from '../schema/memoized.ts'
import { ansibleYaml } from './ansible-yaml.ts'
import { withMacAddresses } from './mac-address.ts'
import { type NodeGroupAffinity, sameNodeAs } from './node-group.ts'
import { PLAYS_FOLDER, playEnv, playFiles } from './play-files.ts'
import { RenderedObject, renderOne } from './rendered-object.ts'
import {
  type WorkspaceChild,
  type WorkspaceChildMetadata,
  type WorkspaceRef,
  workspaceChildMetadata,
  workspaceLabels,
} from './workspace-child.ts'
import { ansibleName, playsName } from './workspace-names.ts'
import { podNetworkName } from './workspace-network.ts'
import type { NetworkPolicyObject } from './workspace-network-policies.ts'
import { ANSIBLE_VOLUME, machineNodeGroup, mountedVolumes } from './workspace-node-group.ts'
import { NETWORKS_ANNOTATION, type PodNetwork } from './workspace-pod-network.ts'

/** Where the files are in the container. */
const LAB = '/ot/lab'
const LOGIN = '/ot/login'
const KEY_FILE = 'key'
const PASSWORD_FILE = 'password'

/**
 * Returns the image that plays the roles of a workspace's machines. The policy's is not for a workspace whose containers mount the plays: those would be played
 * twice.
 */
export function playImage(
  { ansible, containerClusters = [] }: WorkspaceSpec,
  { ansibleImage }: { readonly ansibleImage?: string | undefined },
): string | undefined {
  return ansible?.image ?? (areMounted({ containerClusters }) ? undefined : ansibleImage)
}

/** Reports whether a container mounts the inventory and the plays. */
export function areMounted({ containerClusters = [] }: Pick<WorkspaceSpec, 'containerClusters'>): boolean {
  return containerClusters.some((cluster) => mountedVolumes(cluster).has(ANSIBLE_VOLUME))
}

/** Returns when a machine has roles to be played. */
export function playsOf({ ansible }: WorkspaceVm): readonly Play[] {
  return PLAYS.filter((play) => (ansible?.roles?.[play] ?? []).length > 0)
}

/** Reports whether any machine has roles to be played. */
export function hasPlays({ vms = [] }: Pick<WorkspaceSpec, 'vms'>): boolean {
  return vms.some((vm) => playsOf(vm).length > 0)
}

/** Returns why the roles of a machine cannot be played, in words that follow "because", or undefined. */
export function whyNotPlayable(spec: WorkspaceSpec, vm: WorkspaceVm): string | undefined {
  if (vm.os === 'windows') return 'it is a Windows machine, in which nothing is known to listen for Ansible'
  const place = placeOf(spec, vm)
  if (place === undefined) return 'it has no static address: give one of its interfaces an ipAddress'
  if (place.network?.attach !== undefined)
    return `its first address is in network ${place.network.name}, which is of the cluster: give it an interface on a network of the workspace first`
  if (freePlayAddress(spec, vm) === undefined)
    return `the network of its first address, ${prefixText(networkOf(place.address))}, has no address for what plays them: give it an interface on a larger network first`
  return undefined
}

/** Where a machine is found. */
interface Place {
  readonly address: IpPrefix
  readonly network: WorkspaceNetwork | undefined
}

/** The first static address, as in the inventory. */
function placeOf({ networks = [] }: WorkspaceSpec, { interfaces = [] }: WorkspaceVm): Place | undefined {
  for (const nic of interfaces) {
    const address = parseCidr(staticAddresses(nic)[0] ?? '')
    if (address !== undefined && !isOnPodNetwork(nic))
      return { address, network: networks.find(({ name }) => name === nic.network) }
  }
  return undefined
}

/** How Ansible logs in to a machine. */
interface Login {
  readonly user?: string
  readonly key?: { readonly name: string; readonly key: string }
  readonly password?: { readonly name: string; readonly key: string }
}

/** A key of the workspace comes first, for the first user who has a public one. Without it, the first user whose password is in a Secret. */
function loginOf({ ansible }: WorkspaceSpec, { users = [] }: WorkspaceVm): Login {
  const key = ansible?.sshKeySecretRef
  const withKey = users.find(({ ssh_authorized_keys: keys = [] }) => keys.length > 0)
  const withPassword = users.find(({ passwordSecretRef }) => passwordSecretRef !== undefined)
  const user = (key === undefined ? withPassword : withKey) ?? withKey ?? users[0]
  if (user === undefined) return key === undefined ? {} : { key }
  const names = users.map(({ name }) => name)
  return {
    user: safeLogin(user.name, names),
    ...(key !== undefined && { key }),
    ...(user.passwordSecretRef !== undefined && { password: user.passwordSecretRef }),
  }
}

/**
 * Reports whether a guest may have a login that Ansible can use: a user with a key or with a password from a Secret, or one that user data make.
 */
export function hasPlayLogin({ users = [], userData, userDataSecretRef }: WorkspaceVm): boolean {
  const isUsable = users.some(
    ({ passwordSecretRef, ssh_authorized_keys: keys = [] }) => passwordSecretRef !== undefined || keys.length > 0,
  )
  return isUsable || userData !== undefined || userDataSecretRef !== undefined
}

/** Returns why the roles of a machine are not played, or may not be, where something plays those of the workspace. */
export function unplayedWarnings(spec: WorkspaceSpec, vm: WorkspaceVm): string[] {
  if (vm.ignoreOnDeploy === true || playsOf(vm).length === 0) return []
  const why = whyNotPlayable(spec, vm)
  if (why !== undefined) return [`the roles of ${vm.name} are not played, because ${why}`]
  if (hasPlayLogin(vm)) return []
  return [
    `Ansible may not get into ${vm.name}, since none of its users has passwordSecretRef or ssh_authorized_keys: give one to a user, with a key also ansible.sshKeySecretRef`,
  ]
}

/** Returns the names of the Secrets that are needed to play the roles of a machine. */
export function playSecrets(spec: WorkspaceSpec, vm: WorkspaceVm): readonly string[] {
  const { key, password } = loginOf(spec, vm)
  const names = [key?.name, password?.name, ...(spec.ansible?.pullSecrets ?? [])]
  return [...new Set(names.filter((name) => name !== undefined))]
}

export interface WorkspacePlaysProps {
  readonly workspace: WorkspaceRef
  readonly spec: WorkspaceSpec
}

export interface PlaysConfigMapObject {
  readonly apiVersion: 'v1'
  readonly kind: 'ConfigMap'
  readonly metadata: WorkspaceChildMetadata
  readonly data: Readonly<Record<string, string>>
}

/** What plays the roles of the machines needs besides the inventory and the plays: the names of logins, and how to wait and to report. */
export class WorkspacePlays extends RenderedObject<PlaysConfigMapObject> {
  constructor(scope: Construct, id: string, { workspace, spec }: WorkspacePlaysProps) {
    const hosts = (spec.vms ?? []).flatMap((vm) => {
      const { user } = loginOf(spec, vm)
      return playsOf(vm).length === 0 || user === undefined ? [] : [[vm.name, { ansible_user: user }] as const]
    })
    super(scope, id, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: workspaceChildMetadata({ workspace, name: playsName(workspace.name) }),
      data: { 'logins.yaml': ansibleYaml({ all: { hosts: Object.fromEntries(hosts) } }), ...playFiles() },
    })
  }
}

export function renderWorkspacePlays(props: WorkspacePlaysProps): PlaysConfigMapObject {
  return renderOne((chart) => new WorkspacePlays(chart, 'Plays', props))
}

/** Name of the container that plays. */
export const PLAYER_CONTAINER = 'ansible'

/** Name of that NetworkPolicy. */
export const PLAYS_POLICY = 'plays'

/** Nobody connects to the pods that play, and they reach what any pod of the workspace may. */
export class PlaysNetworkPolicy extends RenderedObject<NetworkPolicyObject> {
  constructor(scope: Construct, id: string, { workspace }: Pick<WorkspacePlaysProps, 'workspace'>) {
    super(scope, id, {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: workspaceChildMetadata({ workspace, name: PLAYS_POLICY }),
      spec: {
        podSelector: { matchExpressions: [{ key: LABELS.play, operator: 'Exists' }] },
        policyTypes: ['Ingress', 'Egress'],
      },
    })
  }
}

export function renderPlaysNetworkPolicy(props: Pick<WorkspacePlaysProps, 'workspace'>): NetworkPolicyObject {
  return renderOne((chart) => new PlaysNetworkPolicy(chart, 'PlaysNetworkPolicy', props))
}

/** What one Job plays. */
export interface PlayRef {
  readonly vm: string
  readonly play: Play
  /** Uid of the claim, or of the instance, that it is about. */
  readonly of: string
  /** Fingerprint of the request that it follows. @default none */
  readonly request?: string | undefined
}

/** Returns the name of a Job, a DNS-1123 label of at most 63 characters. Another disk, start or request has another Job. */
export function playJobName({ vm, play, of, request }: PlayRef): string {
  return childName(vm, `${play}-${shortHash([vm, play, of, request])}`)
}

export interface PlayJobProps extends WorkspacePlaysProps {
  readonly play: PlayRef
  readonly vm: WorkspaceVm
  readonly image: string
  readonly driver: NetworkDriver
  /** Quota of the policy, as for container clusters. */
  readonly quota?: Readonly<Record<string, string>> | undefined
  /** Address of the pod on the network of the machine, in CIDR form, see {@link freePlayAddress}. */
  readonly address: string
}

interface PlayVolume {
  readonly name: string
  readonly configMap?: { readonly name: string }
  readonly projected?: {
    readonly defaultMode: number
    readonly sources: readonly {
      readonly secret: {
        readonly name: string
        readonly items: readonly [{ readonly key: string; readonly path: string }]
      }
    }[]
  }
}

export type PlayJobObject = WorkspaceChild<
  'Job',
  {
    readonly suspend: true
    readonly backoffLimit: 0
    readonly completions: 1
    readonly parallelism: 1
    readonly ttlSecondsAfterFinished: number
    readonly activeDeadlineSeconds: number
    readonly podReplacementPolicy: 'Failed'
    readonly template: {
      readonly metadata: {
        readonly labels: Readonly<Record<string, string>>
        readonly annotations: Readonly<Record<string, string>>
      }
      readonly spec: {
        readonly restartPolicy: 'Never'
        readonly automountServiceAccountToken: false
        readonly enableServiceLinks: false
        readonly affinity?: NodeGroupAffinity
        readonly imagePullSecrets?: readonly { readonly name: string }[]
        readonly securityContext: object
        readonly containers: readonly [object]
        readonly volumes: readonly PlayVolume[]
      }
    }
  }
>

/**
 * Plays the roles of one machine, once: a pod that fails is not replaced. It is made suspended, and starts only when its uid is recorded, so that none is
 * started twice. It has no token, and of Secrets only those with which it logs in.
 */
export class PlayJob extends RenderedObject<PlayJobObject> {
  constructor(scope: Construct, id: string, props: PlayJobProps) {
    super(scope, id, jobOf(props))
  }
}

export function renderPlayJob(props: PlayJobProps): PlayJobObject {
  return renderOne((chart) => new PlayJob(chart, 'PlayJob', props))
}

function jobOf(props: PlayJobProps): PlayJobObject {
  const { workspace, spec, vm, play, driver } = props
  const name = playJobName(play)
  const own = { [LABELS.play]: name }
  const nodeGroup = machineNodeGroup(workspace, spec, vm, driver)
  const { pullSecrets = [], timeout } = spec.ansible ?? {}
  const timeoutMs = (timeout === undefined ? undefined : parseDuration(timeout)) ?? PLAY_TIMEOUT_MS
  const login = loginOf(spec, vm)
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: workspaceChildMetadata({ workspace, name, labels: own }),
    spec: {
      suspend: true,
      backoffLimit: 0,
      completions: 1,
      parallelism: 1,
      ttlSecondsAfterFinished: KEPT_SECONDS,
      activeDeadlineSeconds: Math.max(1, Math.ceil(timeoutMs / 1_000)),
      podReplacementPolicy: 'Failed',
      template: {
        metadata: {
          labels: { ...own, ...workspaceLabels(workspace) },
          annotations: { [NETWORKS_ANNOTATION]: JSON.stringify(networksOf(props, name)) },
        },
        spec: {
          restartPolicy: 'Never',
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          ...(nodeGroup !== undefined && { affinity: sameNodeAs(nodeGroup) }),
          ...(pullSecrets.length > 0 && { imagePullSecrets: pullSecrets.map((one) => ({ name: one })) }),
          securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
          containers: [containerOf(props, login)],
          volumes: [
            { name: 'lab', configMap: { name: ansibleName(workspace.name) } },
            { name: 'plays', configMap: { name: playsName(workspace.name) } },
            ...loginVolume(login),
          ],
        },
      },
    },
  }
}

/** For a day, people can read its log. */
const KEPT_SECONDS = 86_400

/** Of a program that runs as root, ssh takes only a key that nobody else can read. */
const ONLY_OWNER = 0o400

function loginVolume({ key, password }: Login): PlayVolume[] {
  const sources = [
    ...(key === undefined ? [] : [{ secret: { name: key.name, items: [{ key: key.key, path: KEY_FILE }] as const } }]),
    ...(password === undefined
      ? []
      : [{ secret: { name: password.name, items: [{ key: password.key, path: PASSWORD_FILE }] as const } }]),
  ]
  return sources.length === 0 ? [] : [{ name: 'login', projected: { defaultMode: ONLY_OWNER, sources } }]
}

function containerOf({ image, play, quota }: PlayJobProps, login: Login): object {
  const env = playEnv({
    user: login.user ?? ROOT,
    ...(login.key !== undefined && { keyFile: `${LOGIN}/${KEY_FILE}` }),
    ...(login.password !== undefined && { passwordFile: `${LOGIN}/${PASSWORD_FILE}` }),
  })
  const hasLogin = login.key !== undefined || login.password !== undefined
  return {
    name: PLAYER_CONTAINER,
    image,
    command: ['ansible-playbook'],
    args: [
      ...['--inventory', `${LAB}/inventory.yaml`, '--inventory', `${PLAYS_FOLDER}/logins.yaml`, '--limit', play.vm],
      ...[`${PLAYS_FOLDER}/wait.yaml`, `${LAB}/${play.play}.yaml`],
    ],
    env,
    resources: {
      requests: { cpu: '100m', memory: '512Mi' },
      limits: { ...(quota?.['limits.cpu'] !== undefined && { cpu: '1' }), memory: '512Mi' },
    },
    // Nobody else can read what it logs in with, whatever user the image has.
    securityContext: { runAsUser: 0, allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: [
      { name: 'lab', mountPath: LAB, readOnly: true },
      { name: 'plays', mountPath: PLAYS_FOLDER, readOnly: true },
      ...(hasLogin ? [{ name: 'login', mountPath: LOGIN, readOnly: true }] : []),
    ],
  }
}

function networksOf({ workspace, spec, vm, driver, address }: PlayJobProps, job: string): PodNetwork[] {
  const network = placeOf(spec, vm)?.network
  if (network === undefined) return []
  const [nic] = withMacAddresses(workspace.uid, job, [{ network: network.name }])
  return [
    {
      name: podNetworkName(network.name, driver, true),
      namespace: workspace.name,
      ips: [address],
      mac: nic?.macAddress ?? '',
      interface: 'net1',
    },
  ]
}

/** Addresses that are tried, from the end of the network. */
const TRIED_MAX = 1_024

/**
 * Returns an address in the network of a machine that nobody in the workspace has or names, in CIDR form: the last free one. Undefined if there is none.
 * @param taken further addresses that are in use, in CIDR form
 */
export function freePlayAddress(
  spec: WorkspaceSpec,
  vm: WorkspaceVm,
  taken: ReadonlySet<string> = new Set(),
): string | undefined {
  const address = placeOf(spec, vm)?.address
  if (address === undefined) return undefined
  const used = addressesIn(spec)
  const others = new Set([...taken].map(plainAddress))
  const { value: first, family, length } = networkOf(address)
  const last = first + (BigInt(1) << BigInt((family === 4 ? 32 : 128) - length)) - BigInt(1)
  for (let at = 0; at < TRIED_MAX && last - BigInt(at) >= first; at += 1) {
    const one = { family, length, value: last - BigInt(at) }
    const text = ipText(one)
    if (isHostAddress(one) && !(used.has(text) || others.has(text))) return prefixText(one)
  }
  return undefined
}

/** Returns all addresses that a spec gives to members, or names, without their prefix lengths. They are asked for of each machine, in each plan. */
const addressesIn = memoized(({ vms = [], containerClusters = [], networks = [] }: WorkspaceSpec) => {
  const own = [...vms, ...containerClusters].flatMap(({ interfaces = [] }) => interfaces.flatMap(staticAddresses))
  const named = networks.flatMap(({ rangeGateway, routes = [], nameservers }) => [
    ...(rangeGateway === undefined ? [] : [rangeGateway]),
    ...routes.map(({ nextHopIpAddress }) => nextHopIpAddress),
    ...(nameservers?.addresses ?? []),
  ])
  return new Set([...own, ...named].map(plainAddress))
})
