import { isWindows, WINDOWS_PASSWORD_MAX } from '../api/machine-os.ts'
import type { WorkspaceContainerCluster, WorkspaceSpec, WorkspaceVm } from '../api/workspace.ts'
import { GENERATED_LENGTH, type GeneratedWorkspaceSecret } from '../api/workspace-secrets.ts'
import { membersOf } from './member-names.ts'
import { remarks, type SpecRemark } from './spec-remark.ts'
import { hasPlays } from './workspace-plays.ts'

/** Members that a message names. More are only counted. */
const SHOWN_MAX = 4

/** How a member is called in messages. What plays roles has no name. */
export type MemberTitle = (member: WorkspaceVm | WorkspaceContainerCluster | 'player') => string

/** Returns what an author should know about a Secret whose values the operator makes, from the spec alone. */
export function generatedSecretRemarks(
  spec: WorkspaceSpec,
  secret: GeneratedWorkspaceSecret,
  title: MemberTitle,
): SpecRemark[] {
  return [
    ...remarks('SecretIsNoLogin', pulledWith(spec, secret, title)),
    ...remarks(
      'PasswordTooLong',
      secret.generate.flatMap((one) => longPassword(spec, secret.name, one, title)),
    ),
  ]
}

function pulledWith(spec: WorkspaceSpec, { name }: GeneratedWorkspaceSecret, title: MemberTitle): string[] {
  const members = membersOf(spec).filter(
    (one) => one.ignoreOnDeploy !== true && 'containers' in one && (one.pullSecrets ?? []).includes(name),
  )
  const isOfPlayer = hasPlays(spec) && (spec.ansible?.pullSecrets ?? []).includes(name)
  const all = [...members.map(title), ...(isOfPlayer ? [title('player')] : [])]
  if (all.length === 0) return []
  return [
    `it is no login to a registry, and ${shown(all)} names it in pullSecrets: name one of type kubernetes.io/dockerconfigjson there`,
  ]
}

/** No error: people may have put a shorter value there. */
function longPassword(
  { vms = [] }: WorkspaceSpec,
  name: string,
  { key, length = GENERATED_LENGTH }: GeneratedWorkspaceSecret['generate'][number],
  title: MemberTitle,
): string[] {
  const guests = vms.filter(
    (vm) =>
      isWindows(vm) &&
      (vm.users ?? []).some(({ passwordSecretRef: ref }) => ref !== undefined && ref.name === name && ref.key === key),
  )
  if (length <= WINDOWS_PASSWORD_MAX || guests.length === 0) return []
  const most = WINDOWS_PASSWORD_MAX
  return [
    `its key ${key} is made with ${length} characters, and ${shown(guests.map(title))} needs it as a password of Windows, which has at most ${most}: give it length: ${most} in generate of the Secret or, once it is made, name another key that has`,
  ]
}

function shown(names: readonly string[]): string {
  const more = names.length - SHOWN_MAX
  return names.slice(0, SHOWN_MAX).join(', ') + (more > 0 ? ` and ${more} more` : '')
}
