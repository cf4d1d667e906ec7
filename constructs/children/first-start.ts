import { shortHash } from '../api/names.ts'
import type { VirtualMachineSpec, VirtualMachineUser } from '../api/virtual-machine.ts'

/** Hash of each part of a spec that a guest reads at its first start only, by the name of the field. */
export interface FirstStartParts {
  readonly os: string
  readonly name: string
  readonly users: string
  readonly userData: string
  readonly interfaces: string
}

/**
 * Returns what a guest reads at its first start, without passwords, wherever they are from, and without the content of a Secret: a password that
 * changes is no change of a part. It is of the spec, and not of what is rendered from it, so that no other version of the operator finds it changed.
 * @param vmName host name of a spec that has none
 */
export function firstStartParts(
  vmName: string,
  { os = 'linux', name = vmName, users = [], userData, userDataSecretRef, interfaces = [] }: VirtualMachineSpec,
): FirstStartParts {
  const of = (value: unknown) => shortHash([JSON.stringify(value)])
  return {
    os: of(os),
    name: of(name),
    users: of(users.map(withoutPassword)),
    userData: of([userData ?? null, userDataSecretRef ?? null]),
    interfaces: of(interfaces),
  }
}

function withoutPassword({ plain_text_passwd: _text, passwordSecretRef: _ref, ...user }: VirtualMachineUser): object {
  return user
}
