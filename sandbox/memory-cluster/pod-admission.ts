import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import { NAMESPACE, POD } from '../../operator/kube/resource-types.ts'
import { forbidden } from './errors.ts'
import type { ObjectStore } from './object-store.ts'
import { podSecurityRefusal, type SecuredPodSpec } from './pod-security.ts'
import type { ServiceAccounts } from './service-accounts.ts'

/** Runs the admission checks of a new pod that come before quotas. Throws the error that the API server returns. */
export function admitPod(store: ObjectStore, accounts: ServiceAccounts, type: ResourceType, object: KubeObject): void {
  if (type !== POD) return
  const { name, namespace = '' } = object.metadata
  const { spec = {} } = object as KubeObject & { readonly spec?: SecuredPodSpec }
  const found = store.table(NAMESPACE).objects.get(namespace)
  const refusal = accounts.refusalOf(object) ?? podSecurityRefusal(found, spec)
  if (refusal !== undefined) throw forbidden(type, name, refusal)
}
