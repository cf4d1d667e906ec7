import { describe, expect, it } from 'vitest'
import { systemClock } from '../../operator/base/clock.ts'
import { apiVersionOf, type KubeObject, type ResourceType } from '../../operator/kube/kube-object.ts'
import {
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  POD,
  SECRET,
  VIRTUAL_MACHINE_INSTANCE,
} from '../../operator/kube/resource-types.ts'
import { Reflector } from '../../operator/runtime/reflector.ts'
import { Store } from '../../operator/runtime/store.ts'
import type { Cluster } from '../../sandbox/control-plane/cluster.ts'
import { silentLog } from '../harness/log.ts'
import { STORAGE, World } from '../harness/world.ts'

interface Machine extends KubeObject {
  readonly status?: {
    readonly printableStatus?: string
    readonly observedGeneration?: number
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

interface Instance extends KubeObject {
  readonly status?: { readonly interfaces?: readonly { readonly mac?: string; readonly ipAddress?: string }[] }
}

const MAC = '02:1a:2b:3c:4d:01'

/** Watches the virtual machines and instances of a world, until it is disposed of. */
class Watched implements AsyncDisposable {
  readonly machines = new Store<Machine>()
  readonly instances = new Store<Instance>()
  /** The printableStatus of the one virtual machine, in order. */
  readonly shown: string[] = []
  /** Kinds of deleted objects, with the version of the deletion. */
  readonly #gone: { readonly kind: string; readonly version: number }[] = []
  readonly #world: World
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>[] = []

  constructor(world: World) {
    this.#world = world
    this.machines.onChange(({ after }) => {
      const status = after?.status?.printableStatus
      if (status !== undefined && this.shown.at(-1) !== status) this.shown.push(status)
    })
    for (const store of [this.machines, this.instances]) store.onChange(() => world.mirror.nudge())
  }

  /** Kinds of deleted objects, in the order of deletion: all versions count the writes of one etcd. */
  get gone(): string[] {
    return this.#gone.toSorted((a, b) => a.version - b.version).map(({ kind }) => kind)
  }

  async start(): Promise<this> {
    const project = <T extends KubeObject>(object: KubeObject) => object as T
    const common = { client: this.#world.client, clock: systemClock, random: Math.random, log: silentLog }
    const reflectors = [
      new Reflector({ ...common, type: KUBEVIRT_VIRTUAL_MACHINE, store: this.machines, project: project<Machine> }),
      new Reflector({ ...common, type: VIRTUAL_MACHINE_INSTANCE, store: this.instances, project: project<Instance> }),
    ]
    for (const reflector of reflectors) this.#running.push(reflector.run(this.#stopping.signal))
    await Promise.all(reflectors.map(({ synced }) => synced))
    return this
  }

  /** From now on {@link gone} includes this kind. */
  async recordDeletions(type: ResourceType): Promise<void> {
    const { client, namespace, mirror } = this.#world
    const { resourceVersion } = await client.list(type, { namespace })
    const record = async () => {
      for await (const event of client.watch(type, { namespace, resourceVersion, signal: this.#stopping.signal })) {
        if (event.type !== 'DELETED') continue
        this.#gone.push({ kind: type.kind, version: Number(event.object.metadata.resourceVersion) })
        mirror.nudge()
      }
    }
    this.#running.push(record())
  }

  async untilReady(other?: string): Promise<Instance> {
    return await this.#world.until('a ready virtual machine', () => {
      const [machine, instance] = [[...this.machines.values()][0], [...this.instances.values()][0]]
      const isReady = machine?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')
      // Two watches: the machine may be seen ready before what its instance reports is.
      const isReported = instance?.status?.interfaces !== undefined
      return isReady && isReported && instance.metadata.uid !== other && instance
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    await Promise.allSettled(this.#running)
  }
}

/** Our small CRDs, and the real ones if there are any, which are stricter. */
export function kubevirtSimulatorSuite(crds: 'own' | 'real', cluster: () => Cluster): void {
  describe(`the KubeVirt simulator with the ${crds} CRDs`, () => {
    it('runs a virtual machine from a clone, restarts it, and takes it apart in order', async () => {
      await using world = await World.start(cluster(), { idle: true })
      await using watched = await new Watched(world).start()
      const { namespace, client } = world
      const create = (type: ResourceType, name: string, rest: object) =>
        client.create(type, { apiVersion: apiVersionOf(type), kind: type.kind, metadata: { namespace, name }, ...rest })
      await create(DATA_VOLUME, 'golden', { spec: { source: { blank: {} }, storage: disk('1Gi') } })
      await create(DATA_VOLUME, 'vm-root', {
        spec: { source: { pvc: { namespace, name: 'golden' } }, storage: { storageClassName: STORAGE } },
      })
      const ethernets = { net: { match: { macaddress: MAC }, addresses: ['10.10.0.161/24'] } }
      const networkdata = JSON.stringify({ version: 2, ethernets })
      await create(SECRET, 'vm-init', { stringData: { userdata: '#cloud-config\n{}', networkdata } })
      await world.createNetwork('net')
      await create(KUBEVIRT_VIRTUAL_MACHINE, 'vm', { spec: machineSpec(namespace) })

      const first = await watched.untilReady()
      expect(first.status?.interfaces).toEqual([expect.objectContaining({ mac: MAC, ipAddress: '10.10.0.161' })])
      const machine = watched.machines.get(`${namespace}/vm`)
      expect(machine?.metadata.finalizers).toEqual(['kubevirt.io/virtualMachineControllerFinalize'])
      expect(first.metadata.ownerReferences).toEqual([
        expect.objectContaining({ uid: machine?.metadata.uid, controller: true, blockOwnerDeletion: true }),
      ])

      await world.until('it runs', () => watched.shown.at(-1) === 'Running')
      const restartAt = watched.shown.length
      await client.delete(VIRTUAL_MACHINE_INSTANCE, { namespace, name: 'vm' })
      await watched.untilReady(first.metadata.uid)
      await world.until('it runs again', () => watched.shown.slice(restartAt).includes('Running'))
      expect(watched.shown.slice(restartAt)).toEqual(['Stopping', 'Stopped', 'Starting', 'Running'])

      for (const type of [POD, VIRTUAL_MACHINE_INSTANCE, KUBEVIRT_VIRTUAL_MACHINE]) await watched.recordDeletions(type)
      const options = { propagationPolicy: 'Foreground' } as const
      await client.delete(KUBEVIRT_VIRTUAL_MACHINE, { namespace, name: 'vm' }, options)
      await world.until('the end of the virtual machine', () => watched.gone.length >= 3)
      expect(watched.gone).toEqual(['Pod', 'VirtualMachineInstance', 'VirtualMachine'])
      await world.until('it was about to end', () => watched.shown.at(-1) === 'Terminating')
      expect(world.mirror.claims.get(`${namespace}/vm-root`)?.metadata.deletionTimestamp).toBeUndefined()
    })
  })
}

function disk(storage: string): object {
  return { storageClassName: STORAGE, accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } }
}

function machineSpec(namespace: string): object {
  const devices = {
    autoattachPodInterface: false,
    rng: {},
    disks: [
      { name: 'root', bootOrder: 1, disk: { bus: 'virtio' } },
      { name: 'init', disk: { bus: 'virtio' } },
    ],
    interfaces: [{ name: 'net', bridge: {}, macAddress: MAC }],
  }
  const secret = { name: 'vm-init' }
  return {
    runStrategy: 'Always',
    template: {
      metadata: { labels: { 'example.com/app': 'demo' } },
      spec: {
        hostname: 'vm',
        domain: { cpu: { sockets: 2, cores: 1, threads: 1 }, memory: { guest: '2048Mi' }, devices },
        networks: [{ name: 'net', multus: { networkName: `${namespace}/net` } }],
        volumes: [
          { name: 'root', dataVolume: { name: 'vm-root' } },
          { name: 'init', cloudInitNoCloud: { secretRef: secret, networkDataSecretRef: secret } },
        ],
      },
    },
  }
}
