import type { WorkspaceContainerCluster, WorkspaceVm } from '@open-terrain/constructs'
import type { WorkspaceWorld } from '../world.ts'
import { type ComponentStanding, componentWaiting } from './component.ts'

/** A Secret that somebody has to create in the namespace of the workspace, and the arguments of kubectl that give it one value. */
export interface NamedSecret {
  readonly name: string
  readonly type: 'generic' | 'docker-registry'
  readonly literal: string
}

export function secretsOfMachine(vm: WorkspaceVm | undefined): NamedSecret[] {
  return (vm?.users ?? []).flatMap(({ passwordSecretRef: ref }) => (ref === undefined ? [] : withKey(ref, 'PASSWORD')))
}

const LOGIN = '--docker-server=REGISTRY --docker-username=USER --docker-password=PASSWORD'

export function secretsOfCluster(cluster: WorkspaceContainerCluster | undefined): NamedSecret[] {
  const { containers = [], pullSecrets = [] } = cluster ?? {}
  const variables = containers.flatMap(({ env = [] }) => env)
  const files = containers.flatMap(({ files: all = [] }) => all)
  return [
    ...pullSecrets.map((name) => ({ name, type: 'docker-registry', literal: LOGIN }) as const),
    ...variables.flatMap(({ valueFrom }) => withKey(valueFrom?.secretKeyRef, 'VALUE')),
    ...files.flatMap(({ secretKeyRef: ref }) => fromFile(ref)),
  ]
}

function withKey(ref: { readonly name: string; readonly key: string } | undefined, value: string): NamedSecret[] {
  return ref === undefined ? [] : [{ name: ref.name, type: 'generic', literal: `--from-literal=${ref.key}=${value}` }]
}

function fromFile(ref: { readonly name: string; readonly key: string } | undefined): NamedSecret[] {
  return ref === undefined ? [] : [{ name: ref.name, type: 'generic', literal: `--from-file=${ref.key}=FILE` }]
}

/** Returns a standing whose message is the command that creates the first Secret that is missing, with all that is asked of it. */
export function missingSecret(
  { workspace, secrets }: WorkspaceWorld,
  named: readonly NamedSecret[],
): ComponentStanding | undefined {
  const missing = named.find(({ name }) => !secrets.has(name))
  if (missing === undefined) return undefined
  const { name, type } = missing
  const literals = new Set(named.filter((one) => one.name === name && one.type === type).map(({ literal }) => literal))
  const command = `kubectl -n ${workspace.metadata.name} create secret ${type} ${name} ${[...literals].join(' ')}`
  return componentWaiting('SecretMissing', command)
}
