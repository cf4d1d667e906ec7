import {
  containersOf,
  type WorkspaceContainerCluster,
  type WorkspaceSpec,
  type WorkspaceVm,
} from '@open-terrain/constructs'
import type { WorkspaceWorld } from '../world.ts'
import { type ComponentStanding, componentWaiting } from './component.ts'

/** A Secret that somebody has to create in the namespace of the workspace, and what is asked of it. */
export interface NamedSecret {
  readonly name: string
  readonly type: 'generic' | 'docker-registry'
  readonly key: string
  /** The arguments of kubectl that give it this key. */
  readonly argument: string
}

type Ref = { readonly name: string; readonly key: string } | undefined

function withKey(ref: Ref, from: 'literal' | 'file', placeholder: string): NamedSecret[] {
  return ref === undefined ? [] : [{ ...ref, type: 'generic', argument: `--from-${from}=${ref.key}=${placeholder}` }]
}

export function secretsOfMachine(vm: WorkspaceVm | undefined): NamedSecret[] {
  const passwords = (vm?.users ?? []).flatMap(({ passwordSecretRef }) =>
    withKey(passwordSecretRef, 'literal', 'PASSWORD'),
  )
  return [...passwords, ...withKey(vm?.userDataSecretRef, 'file', 'FILE')]
}

const LOGIN = '--docker-server=REGISTRY --docker-username=USER --docker-password=PASSWORD'

export function secretsOfCluster(cluster: WorkspaceContainerCluster | undefined): NamedSecret[] {
  const containers = cluster === undefined ? [] : containersOf(cluster)
  const pullSecrets = cluster?.pullSecrets ?? []
  const variables = containers.flatMap(({ env = [] }) => env)
  const files = containers.flatMap(({ files: all = [] }) => all)
  return [
    ...pullSecrets.map((name) => ({ name, type: 'docker-registry', key: '', argument: LOGIN }) as const),
    ...variables.flatMap(({ valueFrom }) => withKey(valueFrom?.secretKeyRef, 'literal', 'VALUE')),
    ...files.flatMap(({ secretKeyRef }) => withKey(secretKeyRef, 'file', 'FILE')),
  ]
}

/** Returns the names of all Secrets that somebody has to create for a workspace. */
export function secretNamesIn({ vms = [], containerClusters = [] }: WorkspaceSpec): string[] {
  return [...vms.flatMap(secretsOfMachine), ...containerClusters.flatMap(secretsOfCluster)].map(({ name }) => name)
}

/** Returns a standing whose message is the command that creates the first Secret that is missing, with all that is asked of it. */
export function missingSecret(
  { workspace, secrets }: WorkspaceWorld,
  named: readonly NamedSecret[],
): ComponentStanding | undefined {
  const missing = named.find(({ name }) => !secrets.has(name))
  if (missing === undefined) return undefined
  const { name, type } = missing
  const asked = named.filter((one) => one.name === name && one.type === type)
  // kubectl takes each key once. A file may have several lines, so it comes before a value.
  const byKey = new Map(asked.map(({ key, argument }) => [key, argument]))
  const command = `kubectl -n ${workspace.metadata.name} create secret ${type} ${name} ${[...byKey.values()].join(' ')}`
  return componentWaiting('SecretMissing', command)
}
