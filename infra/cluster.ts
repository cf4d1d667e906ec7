import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { Namespace } from '@pulumi/kubernetes/core/v1/namespace.js'
import { type Output, output, type ProviderResource } from '@pulumi/pulumi'
import { parse } from 'yaml'

/** Which cluster a stack is in. */
export interface ClusterIdentity {
  /** The same for as long as the cluster exists: the uid of its namespace kube-system. */
  readonly id: string
  /** URL of its API server, as the kubeconfig has it. Undefined if no kubeconfig names it, as in a pod. */
  readonly server: string | undefined
}

/** @param kubeconfig content or path. Undefined stands for what the environment variable KUBECONFIG names, or the file of kubectl */
export function clusterIdentity(
  provider: ProviderResource,
  kubeconfig: Output<string> | undefined,
  context: string | undefined,
): Output<ClusterIdentity> {
  const { metadata } = Namespace.get('cluster', 'kube-system', { provider })
  const server = output(kubeconfig).apply((given) => apiServerOf(textsOf(given), context))
  return output({ id: metadata.uid, server })
}

interface Named {
  readonly name?: string
}

interface Kubeconfig {
  readonly 'current-context'?: string
  readonly contexts?: readonly (Named & { readonly context?: { readonly cluster?: string } })[]
  readonly clusters?: readonly (Named & { readonly cluster?: { readonly server?: string } })[]
}

/** The API server of a context in the contents of kubeconfigs, of which the first one that has something counts, as for kubectl. */
export function apiServerOf(texts: readonly string[], context: string | undefined): string | undefined {
  const configs = texts.map((text) => (parse(text) ?? {}) as Kubeconfig)
  const wanted = context ?? configs.find((config) => config['current-context'])?.['current-context']
  const chosen = configs.flatMap(({ contexts }) => contexts ?? []).find(({ name }) => name === wanted)
  const clusters = configs.flatMap((config) => config.clusters ?? [])
  return clusters.find(({ name }) => name === chosen?.context?.cluster)?.cluster?.server
}

function textsOf(given: string | undefined): readonly string[] {
  if (given?.includes('\n')) return [given]
  const paths = given ?? (process.env['KUBECONFIG'] || join(homedir(), '.kube/config'))
  return paths
    .split(delimiter)
    .map((path) => path.replace(/^~(?=\/)/, homedir()))
    .filter((path) => existsSync(path))
    .map((path) => readFileSync(path, 'utf8'))
}
