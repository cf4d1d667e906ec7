import { LABELS } from '@open-terrain/constructs'
import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import { CONFIG_MAP, POD } from '../../../operator/kube/resource-types.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import type { Oracle } from '../oracle/oracle.ts'
import { isType } from './lab-parts.ts'

interface File extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

interface GatedPod extends KubeObject {
  readonly spec?: { readonly schedulingGates?: readonly unknown[] }
}

/** Knows which /etc/hosts the containers of each cluster were started with. The kubelet reads it when a pod may start, and nothing changes it after that. */
export class HostsOracle implements Oracle {
  /** By namespace and name of the ConfigMap. */
  readonly #files = new Map<string, string>()
  /** Of the last pod that may start, by namespace and cluster. */
  readonly #started = new Map<string, string | undefined>()

  onCommit({ resource, type, object, before }: Commit): void {
    const { namespace, name, labels } = object.metadata
    const key = `${namespace}/${name}`
    if (isType(resource, CONFIG_MAP)) {
      const hosts = type === 'DELETED' ? undefined : (object as File).data?.['hosts']
      if (hosts === undefined) this.#files.delete(key)
      else this.#files.set(key, hosts)
    }
    const cluster = labels?.[LABELS.containerCluster]
    if (!isType(resource, POD) || cluster === undefined || type === 'DELETED') return
    if (isGated(before) && !isGated(object))
      this.#started.set(`${namespace}/${cluster}`, this.#files.get(`${namespace}/${cluster}-hosts`))
  }

  /** Reports whether what runs in a cluster has other names than those of now. */
  isStale(namespace: string, cluster: string): boolean {
    return this.#started.get(`${namespace}/${cluster}`) !== this.#files.get(`${namespace}/${cluster}-hosts`)
  }
}

function isGated(pod: KubeObject | undefined): boolean {
  return ((pod as GatedPod | undefined)?.spec?.schedulingGates ?? []).length > 0
}
