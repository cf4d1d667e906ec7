import {
  ansibleName,
  areVariablesTooLarge,
  isAnsibleTooLarge,
  renderWorkspaceAnsible,
  type WorkspaceSpec,
} from '@open-terrain/constructs'
import { WORKSPACE_CONFIG_MAP } from '../../../../cluster/workspace-views.ts'
import { type Component, componentFailed, componentReady, idOf } from '../component.ts'
import type { ComponentKind } from '../component-kind.ts'

const KIND = 'Ansible'
/** The Ansible inventory and plays, for containers that mount them. */
export const ANSIBLE_KIND: ComponentKind = {
  kind: KIND,
  types: [{ type: WORKSPACE_CONFIG_MAP, propagationPolicy: 'Background' }],
  children: (blueprint): Component[] => {
    const { workspace, spec } = blueprint
    const isTooLarge = areVariablesTooLarge(spec)
    const configMap = renderWorkspaceAnsible({ workspace, spec: isTooLarge ? withoutRoles(spec) : spec })
    const { name } = configMap.metadata
    const held = isTooLarge || isAnsibleTooLarge(configMap) ? { held: heldBySize() } : {}
    return [{ kind: KIND, name, objects: [configMap], needs: [], ...held }]
  },
  standing: (_world, { name }) => ({ standing: componentReady(`ConfigMap ${name} has the inventory and the plays`) }),
}

export function ansibleIdOf({ name }: { readonly name: string }): string {
  return idOf(KIND, ansibleName(name))
}

/** What is held is never written, so it need not be complete. */
function withoutRoles({ vms = [], ...spec }: WorkspaceSpec): WorkspaceSpec {
  return { ...spec, vms: vms.map(({ ansible: _left, ...vm }) => vm) }
}

function heldBySize(): NonNullable<Component['held']> {
  const absent = componentFailed(
    'AnsibleTooLarge',
    'the inventory and the plays are more than a ConfigMap holds (1 MiB): shorten the variables of the roles',
  )
  const present = { ...absent, message: `${absent.message}; those of before stay` }
  return { absent, present }
}
