import { type AnsibleObject, ansibleName, isAnsibleTooLarge, renderWorkspaceAnsible } from '@open-terrain/constructs'
import { WORKSPACE_CONFIG_MAP } from '../../../../cluster/workspace-views.ts'
import { type Component, componentFailed, componentReady, idOf } from '../component.ts'
import type { ComponentKind } from '../component-kind.ts'

const KIND = 'Ansible'
/** The Ansible inventory and plays, for containers that mount them. */
export const ANSIBLE_KIND: ComponentKind = {
  kind: KIND,
  types: [{ type: WORKSPACE_CONFIG_MAP, propagationPolicy: 'Background' }],
  children: (blueprint): Component[] => {
    const configMap = renderWorkspaceAnsible(blueprint)
    const { name } = configMap.metadata
    return [{ kind: KIND, name, objects: [configMap], needs: [], ...heldBySize(configMap) }]
  },
  standing: (_world, { name }) => ({ standing: componentReady(`ConfigMap ${name} has the inventory and the plays`) }),
}

export function ansibleIdOf({ name }: { readonly name: string }): string {
  return idOf(KIND, ansibleName(name))
}

function heldBySize(configMap: AnsibleObject): Pick<Component, 'held'> {
  if (!isAnsibleTooLarge(configMap)) return {}
  const absent = componentFailed(
    'AnsibleTooLarge',
    'the inventory and the plays are more than a ConfigMap holds (1 MiB): shorten the variables of the roles',
  )
  const present = { ...absent, message: `${absent.message}; those of before stay` }
  return { held: { absent, present } }
}
