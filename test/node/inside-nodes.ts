import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import type { KubernetesNode } from '../../sandbox/node/kubernetes-node.ts'
import type { NodeCluster } from '../../sandbox/node/node-cluster.ts'
import { driverOf, volumesOf } from '../../sandbox/node/storage.ts'
import { Place } from '../lab-networks/place.ts'

interface RunningPod extends KubeObject {
  readonly spec: { readonly nodeName: string }
  readonly status: { readonly containerStatuses: readonly { readonly containerID: string }[] }
}

/** What is only seen and done where the nodes were made here. */
export class InsideNodes {
  readonly #cluster: NodeCluster
  /** The network that the nodes are on. */
  readonly outside: Place

  constructor(cluster: NodeCluster) {
    this.#cluster = cluster
    this.outside = new Place('outside', cluster.enclave.networkCommand())
  }

  get all(): readonly KubernetesNode[] {
    return this.#cluster.nodes
  }

  nodeOf(name: string): KubernetesNode {
    const found = this.all.find((node) => node.name === name)
    if (found === undefined) throw new Error(`there is no node ${name}`)
    return found
  }

  placeOfNode(name: string): Place {
    return new Place(name, this.nodeOf(name).enclave.networkCommand())
  }

  /** The network of a pod. */
  async placeOf(pod: KubeObject): Promise<Place> {
    const pid = await this.#processOf(pod)
    return new Place(pod.metadata.name, ['nsenter', '--target', String(pid), '--net', '--'])
  }

  /** Returns a file as the containers of a pod see it, as soon as one of them runs its own program. */
  async fileOf(pod: KubeObject, path: string): Promise<string> {
    const findOwn = async () => {
      const pid = await this.#processOf(pod, 'container')
      // A container counts as started while the runtime's process is still about to become its program, with an environment of its own.
      expect(await readFile(`/proc/${pid}/environ`, 'utf8')).not.toContain('_LIBCONTAINER_')
      return pid
    }
    const pid = await vi.waitFor(findOwn, { timeout: 300_000 })
    return await readFile(`/proc/${pid}/root${path}`, 'utf8')
  }

  /** Kills CDI's controller, which starts again. */
  async killCdi(): Promise<void> {
    await this.#cluster.kill('cdi-controller')
  }

  /** Ends the containers of a pod as a crash does. */
  async kill(pod: KubeObject): Promise<void> {
    const { spec, status } = pod as RunningPod
    for (const { containerID } of status.containerStatuses)
      await this.nodeOf(spec.nodeName).ctr(
        'tasks',
        'kill',
        '--signal',
        'SIGKILL',
        containerID.replace(/^.*:[/]{2}/, ''),
      )
  }

  /** Goes with the cluster. */
  get folder(): string {
    return this.#cluster.directory
  }

  /** Path of a file in a volume of the class `shared`. */
  pathInVolume(volume: string, file: string): string {
    return join(volumesOf(this.#cluster, { name: driverOf('shared') }), 'volumes', volume, file)
  }

  /** Path of a file that importers get. */
  source(file: string): string {
    return join(this.#cluster.directory, 'sources', file)
  }

  /** Returns a process of a pod: that which holds its network, or one of a container. */
  async #processOf(pod: KubeObject, of: 'network' | 'container' = 'network'): Promise<string> {
    const { name, uid = '' } = pod.metadata
    const pids = (await readdir('/proc')).filter((one) => /^\d+$/.test(one))
    for (const pid of pids) {
      const cgroups = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '')
      if (!cgroups.includes(`pod${uid}`)) continue
      const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
      if (command.startsWith('/pause\0') === (of === 'network')) return pid
    }
    throw new Error(`pod ${name} has no process of its ${of}; it was ${JSON.stringify((pod as RunningPod).status)}`)
  }
}
