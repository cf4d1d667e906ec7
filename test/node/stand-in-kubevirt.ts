import type { KubeVirtVirtualMachineSpec } from '@open-terrain/constructs/operator'
import type { HttpKubeClient } from '../../operator/kube/http-client.ts'
import { apiVersionOf, type KubeObject } from '../../operator/kube/kube-object.ts'
import { KUBEVIRT_VIRTUAL_MACHINE, VIRTUAL_MACHINE_INSTANCE } from '../../operator/kube/resource-types.ts'

/** Where a guest runs, and what its cards have, as an instance of KubeVirt says it. */
export interface RunningGuest {
  readonly nodeName?: string
  readonly interfaces?: readonly { readonly name: string; readonly ipAddress: string }[]
}

/** Says what KubeVirt, which does not run here, says of a machine whose guest runs. */
export async function reportRunning(
  client: HttpKubeClient,
  key: { readonly namespace: string; readonly name: string },
  guest: RunningGuest = {},
): Promise<void> {
  const machine = await client.get<KubeObject & { readonly spec: KubeVirtVirtualMachineSpec }>(
    KUBEVIRT_VIRTUAL_MACHINE,
    key,
  )
  const { apiVersion, kind, metadata, spec } = machine
  const conditions = [{ type: 'Ready', status: 'True' }]
  const owner = { apiVersion, kind, name: key.name, uid: metadata.uid, controller: true }
  await client.create(VIRTUAL_MACHINE_INSTANCE, {
    apiVersion: apiVersionOf(VIRTUAL_MACHINE_INSTANCE),
    kind: VIRTUAL_MACHINE_INSTANCE.kind,
    metadata: { ...key, ownerReferences: [owner] },
    spec: spec.template.spec,
    status: { phase: 'Running', conditions, ...guest },
  } as unknown as KubeObject)
  const status = { created: true, ready: true, printableStatus: 'Running', conditions }
  await client.replaceStatus(KUBEVIRT_VIRTUAL_MACHINE, { ...machine, status } as KubeObject)
}
