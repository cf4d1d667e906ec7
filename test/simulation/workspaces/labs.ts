import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import { firstImageOf, pick } from '../data-syncs/vms.ts'
import * as objects from '../objects.ts'
import { PASSWORD as GUEST_PASSWORD } from '../oracle/secrets.ts'
import type { Schedule, SourceNature } from '../schedule.ts'
import { urlOf } from '../sources.ts'
import {
  addressOf,
  type ClusterWord,
  clusterOfWords,
  INIT,
  interfaceOfWords,
  isOnPods,
  NO_WORDS,
  networkOfWords,
  type VmWord,
  vmOfWords,
  type Words,
} from './lab-words.ts'
import type { ClusterOfPlan, PlaysOfPlan, VmOfPlan, WorkspacePlan } from './workspace-schedule.ts'

// What the numbers of a schedule mean.

/** Namespace of the images of workspaces, and of those of machines. */
export const FARM = pick(objects.NAMESPACES, 1)

export const NETWORKS = ['control', 'edge', 'control-pod'] as const
const VOLUMES = ['data', 'data-root'] as const
const VMS = ['router', 'web', 'host'] as const
const CLUSTERS = ['dns', 'web-front', 'ansible'] as const
const IMAGES: readonly { readonly nature: SourceNature; readonly downloadSeconds: number }[] = [
  { nature: 'good', downloadSeconds: 1 },
  { nature: 'good', downloadSeconds: 8 },
  { nature: 'good', downloadSeconds: 20 },
  { nature: 'missing', downloadSeconds: 0 },
]

/** Its address on a network, the others follow. */
const FIRST_CLUSTER = 50

/** What the operator makes for labs with an even number. */
export const PASSWORD = { name: 'logins', key: 'password' } as const

/** With what plays log in, in labs that have a key. People create it. */
export const KEY = { name: 'deploy-key', key: 'id_ed25519' } as const
/** An image that plays roles. */
export const PLAYER = 'registry.example.com/ansible:2.19'
/** What labs with an odd number have a copy of: each has a source of its own, which their containers need. */
export const COPY = 'shared'

/** Returns the Secret that the copy of a lab is made from. */
export function sourceOf({ number }: Pick<Lab, 'number'>): { readonly namespace: string; readonly name: string } {
  return { namespace: objects.SHARED_NAMESPACE, name: `login-${number}` }
}

type Spec = Required<WorkspaceSpecInput>
type Vm = Spec['vms'][number]
type Cluster = Spec['containerClusters'][number]
type Template = NonNullable<Vm['vmDiskImageTemplate']>

/** A workspace of the schedule, as people currently want it, whether or not it exists. */
export interface Lab {
  readonly number: number
  readonly name: string
  vms: readonly VmOfPlan[]
  clusters: readonly ClusterOfPlan[]
  networks: ReadonlySet<number>
  volumes: ReadonlySet<number>
  /** By number of a cluster: how often people have changed its image. */
  readonly renewals: Map<number, number>
  plays: PlaysOfPlan | undefined
  words: Words
  /** How often people have asked for plays, for new disks, and for resets. */
  readonly requests: { plays: number; disks: number; resets: number }
  /** Its spec breaks the schema, as if it had been stored before there was one. */
  isSpoiled: boolean
  isWanted: boolean
  /** Whether people have switched it off. */
  isOff: boolean
  /** When people want it to end, and how. */
  end: Pick<WorkspaceSpecInput, 'expiresAt' | 'onExpiry'> | undefined
}

export function labOf(plan: WorkspacePlan, number: number): Lab {
  const firstOf = <T>(all: readonly T[], idOf: (one: T) => number) =>
    all.filter((one, at) => all.findIndex((other) => idOf(other) === idOf(one)) === at)
  return {
    number,
    name: `lab-${number}`,
    vms: firstOf(plan.vms, ({ vm }) => vm),
    clusters: firstOf(plan.clusters, ({ cluster }) => cluster),
    networks: new Set(plan.networks),
    volumes: new Set(plan.volumes),
    renewals: new Map(),
    plays: plan.plays,
    words: plan.words ?? NO_WORDS,
    requests: { plays: 0, disks: 0, resets: 0 },
    isSpoiled: false,
    isWanted: true,
    isOff: false,
    end: undefined,
  }
}

/** Returns the networks and volumes of the lab, including those that its vms and clusters need. */
function needed(lab: Lab): { readonly networks: readonly number[]; readonly volumes: readonly number[] } {
  const of = (numbers: readonly (number | undefined)[], more: ReadonlySet<number>) =>
    [...new Set([...numbers, ...more])].filter((one) => one !== undefined).toSorted()
  return {
    networks: of(
      [...lab.vms, ...lab.clusters].map(({ network }) => network),
      lab.networks,
    ),
    volumes: of(
      lab.clusters.map(({ volume }) => volume),
      lab.volumes,
    ),
  }
}

export function specOf(lab: Lab, schedule: Schedule): WorkspaceSpecInput {
  const { networks, volumes } = needed(lab)
  return {
    vms: lab.vms.map((vm, at) => vmOf(lab, vm, schedule, lab.vms[at - 1])),
    containerClusters: lab.clusters.map((cluster, at) => clusterOf(lab, cluster, lab.clusters[at - 1])),
    networks: networks.map((number) => ({
      name: pick(NETWORKS, number),
      ...networkOfWords(
        number,
        lab.words.networks[number] ?? [],
        // By each cluster, so that the others have to get what it does not.
        CLUSTERS.map((_name, cluster) => ({
          destinationNetworkCidr: `192.0.${cluster}.0/24`,
          nextHopIpAddress: addressOf(number, FIRST_CLUSTER + cluster),
        })),
      ),
    })),
    volumes: volumes.map((number) => ({ name: pick(VOLUMES, number), size: '1Gi', localPath: `/${number}` })),
    ...servicesOf(lab),
    secrets: [
      lab.number % 2 === 0
        ? {
            name: PASSWORD.name,
            generate: [{ key: PASSWORD.key, ...(lab.words.lab.includes('login') && { length: 48 }) }],
          }
        : { name: COPY, from: sourceOf(lab) },
    ],
    ...(lab.number % 2 === 1 && { names: 'hosts' as const }),
    ...(lab.plays !== undefined && { ansible: ansibleOf(lab, lab.plays) }),
    ...(lab.number % 2 === 1 && { updateStrategy: { type: 'Recreate' as const, maxUnavailable: 2 } }),
    ...(lab.words.lab.includes('owners') && { owners: [{ kind: 'Group', name: 'teachers' }] }),
    ...(lab.words.lab.includes('internet') && { internetAccess: 'Enabled' as const }),
    ...(lab.isOff && { powerState: 'Halted' as const }),
    ...lab.end,
    // As stored before there was a schema.
    ...(lab.isSpoiled && { volumes: [{ name: 'Data!', size: 'huge' }] }),
  }
}

/** @param before the one that it waits for, if it waits for any */
function vmOf(
  lab: Lab,
  { vm, image, network, isIgnored }: VmOfPlan,
  schedule: Schedule,
  before: VmOfPlan | undefined,
): Vm {
  const { name, template } = imageOf(image, schedule)
  const words = lab.words.vms[vm] ?? []
  const others = lab.vms.map((one) => imageOf(one.image, schedule).name).filter((one) => one !== name)
  const made: Vm = {
    name: pick(VMS, vm),
    ignoreOnDeploy: isIgnored,
    backingVMDiskImage: name,
    ...(template !== undefined && { vmDiskImageTemplate: template }),
    resources: { cpu: '1', memory: '256Mi' },
    ...(lab.number % 2 === 0 && { users: [{ name: 'student', lock_passwd: false, passwordSecretRef: PASSWORD }] }),
    // Nothing tells that it is a secret.
    ...(lab.number % 2 === 1 && { userData: `#!/bin/sh\nlogin student ${GUEST_PASSWORD}\n` }),
    ...(network !== undefined && {
      interfaces: [
        ...(isOnPods(words) ? [{ network: 'pod', model: 'e1000' as const }] : []),
        interfaceOf(lab, network, 10 + vm, words),
      ],
    }),
    ...(words.includes('after') && before !== undefined && { dependsOn: [pick(VMS, before.vm)] }),
    ...rolesOf(lab, vm, words),
  }
  return vmOfWords(made, words, { own: name, other: others[0] ?? name })
}

const LOGIN = { name: 'LOGIN', valueFrom: { secretKeyRef: { name: COPY, key: PASSWORD.key } } }

function rolesOf({ number, plays }: Lab, vm: number, words: readonly VmWord[]): Pick<Vm, 'ansible'> {
  const when = plays?.when ?? (number % 2 === 0 ? ['build' as const] : [])
  const variables = words.includes('variables') && { variables: { port: 80, of: { names: ['a'] } } }
  const roles = Object.fromEntries(when.map((one) => [one, [{ role: `role-${vm}`, ...variables }]]))
  return when.length === 0 ? {} : { ansible: { roles } }
}

function ansibleOf({ words }: Lab, { hasImage, hasKey, timeout }: PlaysOfPlan): Spec['ansible'] {
  return {
    ...(hasImage && { image: PLAYER }),
    ...(hasKey && { sshKeySecretRef: KEY }),
    ...(timeout !== undefined && { timeout }),
    ...(words.lab.includes('login') && { pullSecrets: [INIT.name] }),
  }
}

/** @param before the one that it waits for */
function clusterOf(
  lab: Lab,
  { cluster, network, volume, asks, isIgnored }: ClusterOfPlan,
  before: ClusterOfPlan | undefined,
): Cluster {
  const port = { containerPort: 80, hostPort: 30_000 + 10 * lab.number + cluster }
  const words: readonly ClusterWord[] = lab.words.clusters[cluster] ?? []
  const made: Cluster = {
    name: pick(CLUSTERS, cluster),
    aliases: [`${pick(CLUSTERS, cluster)}.lab`],
    ...(cluster === 1 && { hostname: 'host' }),
    ignoreOnDeploy: isIgnored,
    ...(before !== undefined && { dependsOn: [pick(CLUSTERS, before.cluster)] }),
    ...(network !== undefined && { interfaces: [interfaceOf(lab, network, FIRST_CLUSTER + cluster, words)] }),
    containers: [
      {
        name: 'main',
        image: `registry.example.com/${pick(CLUSTERS, cluster)}:${lab.renewals.get(cluster) ?? 0}`,
        ...(asks === 'hostPort' && { portMappings: [port] }),
        ...(asks === 'capability' && { capabilities: { add: ['SYS_ADMIN'] } }),
        ...(lab.number % 2 === 1 && { env: [LOGIN] }),
        volumeMounts: [
          volume === undefined
            ? { name: 'ansible', containerPath: '/plays' }
            : { name: pick(VOLUMES, volume), containerPath: '/data' },
        ],
      },
    ],
  }
  return clusterOfWords(made, cluster, words)
}

/** Two for one member, with a port in common. */
function servicesOf({ clusters: [first], words }: Lab): Pick<WorkspaceSpecInput, 'services'> {
  if (first === undefined) return {}
  const member = pick(CLUSTERS, first.cluster)
  return {
    services: [
      {
        name: 'front',
        member,
        ...(words.lab.includes('nodePort') && { type: 'NodePort' as const }),
        ports: [{ port: 80, ...(words.lab.includes('nodePort') && { name: 'http' }) }],
      },
      {
        name: 'side',
        member,
        ports: [
          { port: 8080, targetPort: 80 },
          { port: 53, protocol: 'UDP' },
        ],
      },
    ],
  }
}

function interfaceOf({ words }: Lab, number: number, host: number, own: readonly (VmWord | ClusterWord)[]) {
  return interfaceOfWords({ name: pick(NETWORKS, number), number, words: words.networks[number] ?? [] }, host, own)
}

/** Returns an image by its number. If machines or DataSyncs have images that can be shared, it is one of these. */
export function imageOf(
  number: number,
  schedule: Schedule,
): { readonly name: string; readonly template: Template | undefined } {
  const shared = sharedImages(schedule)
  if (shared.length > 0) return pick(shared, number)
  const plan = pick(IMAGES, number)
  const name = `base-${number % IMAGES.length}`
  const template: Template = {
    url: urlOf(name, 0, plan),
    sourceType: 'http',
    diskSize: '1Gi',
    storageClass: schedule.bindsLate ? 'late' : 'fast',
    ...(number % 2 === 0 && { snapshotClass: 'snapshots-0' }),
  }
  return { name, template }
}

/** Returns the images that machines or DataSyncs of the schedule have in the namespace of images. A DataSync creates its own. */
function sharedImages({ sources = [], dataSyncs = [] }: Schedule) {
  const golden = sources.flatMap(({ hasSnapshot, bindsLate, release }, number) => {
    if (release !== undefined) return []
    const name = `golden-${number}`
    const template: Template = {
      url: urlOf(name, 0, { nature: 'good', downloadSeconds: 0 }),
      sourceType: 'http',
      diskSize: '1Gi',
      storageClass: bindsLate ? 'late' : 'fast',
      ...(hasSnapshot && { snapshotClass: 'snapshots-0' }),
    }
    return [{ name, template }]
  })
  const released = dataSyncs.flatMap((plan) => {
    const namespace = pick(objects.NAMESPACES, plan.namespace)
    return namespace === FARM ? [{ name: firstImageOf(plan, 0, namespace).key.name, template: undefined }] : []
  })
  return [...golden, ...released]
}
