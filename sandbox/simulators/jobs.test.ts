import { beforeEach, describe, expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { JOB, POD, SECRET } from '../../operator/kube/resource-types.ts'
import { SimulatedCluster, TEAM } from '../../test/prepared/sandbox/simulated-cluster.ts'
import type { Job } from '../memory-cluster/job-objects.ts'
import type { Pod } from './models.ts'
import type { WorkloadFault } from './workload-faults.ts'

const KEY = { namespace: TEAM, name: 'build' }
const TRACKING = 'batch.kubernetes.io/job-tracking'

let world: SimulatedCluster

beforeEach(async () => {
  world = await SimulatedCluster.start()
})

function make(spec: object = {}, pod: object = {}): Job {
  const containers = [{ name: 'main', image: 'example.com/main:1' }]
  const template = { metadata: { labels: { team: 'blue' } }, spec: { restartPolicy: 'Never', containers, ...pod } }
  return world.create(JOB, KEY, { spec: { backoffLimit: 0, podReplacementPolicy: 'Failed', ...spec, template } })
}

const job = () => world.cluster.admin.get<Job>(JOB, KEY)
const pods = () => world.cluster.admin.list<Pod>(POD, { namespace: TEAM }).items
const suspend = (isSuspended: boolean) => world.cluster.admin.mergePatch(JOB, KEY, { spec: { suspend: isSuspended } })
const script = (fault: WorkloadFault) => world.simulators.workloads.script(KEY, fault)
const told = () => (job().status?.conditions ?? []).map(({ type, status, reason }) => `${type}=${status} ${reason}`)
const until = (condition: string) => world.until(condition, () => told().some((one) => one.startsWith(condition)))
const untilRuns = () => world.until('its pod runs', () => pods().some(({ status }) => status?.phase === 'Running'))
const endOf = (pod: Pod | undefined) => pod?.status?.containerStatuses?.[0]?.state.terminated

describe('a Job', () => {
  it('has no pod while it is suspended, and is complete once its pod has ended well', async () => {
    const { uid } = make({ suspend: true }).metadata
    await until('Suspended=True')
    await world.pass(60_000)
    expect([pods(), job().status?.startTime, job().metadata.generation]).toEqual([[], undefined, 1])
    suspend(false)
    await untilRuns()
    const [pod] = pods()
    expect(pod?.metadata).toMatchObject({
      name: expect.stringMatching(/^build-[a-z0-9]{5}$/),
      labels: { team: 'blue', 'job-name': 'build', 'batch.kubernetes.io/controller-uid': uid },
      finalizers: [TRACKING],
      ownerReferences: [{ kind: 'Job', uid, controller: true }],
    })
    expect(job().status).toMatchObject({ active: 1, startTime: expect.anything() })
    await until('Complete=True')
    expect(told()).toEqual([
      'Suspended=False JobResumed',
      'SuccessCriteriaMet=True CompletionsReached',
      'Complete=True CompletionsReached',
    ])
    expect(job()).toMatchObject({
      metadata: { generation: 2 },
      status: { succeeded: 1, completionTime: expect.anything() },
    })
    expect(pods()).toMatchObject([{ status: { phase: 'Succeeded' } }])
    expect(pods()[0]?.metadata.finalizers).toBeUndefined()
  })

  it('fails with its pod, which says why', async () => {
    world.create(SECRET, { namespace: TEAM, name: 'login' }, { data: { key: Buffer.from('word').toString('base64') } })
    script({ type: 'exit', exitCode: 2, message: 'it is <secret>' })
    const source = { secret: { name: 'login', items: [{ key: 'key', path: 'key' }] } }
    make({}, { volumes: [{ name: 'login', projected: { sources: [source] } }] })
    await until('Failed=True')
    expect(told()).toEqual(['FailureTarget=True BackoffLimitExceeded', 'Failed=True BackoffLimitExceeded'])
    expect(job().status).toMatchObject({
      failed: 1,
      conditions: [{}, { message: 'Job has reached the specified backoff limit' }],
    })
    expect(pods()).toHaveLength(1)
    expect(endOf(pods()[0])).toMatchObject({ exitCode: 2, reason: 'Error', message: 'it is word' })
  })

  it('waits for the Secrets of its pod', async () => {
    const source = { secret: { name: 'login', items: [{ key: 'key', path: 'key' }] } }
    make({}, { volumes: [{ name: 'login', projected: { sources: [source] } }] })
    const waits = () => pods()[0]?.status?.containerStatuses?.[0]?.state.waiting?.reason
    await world.until('it waits', () => waits() === 'ContainerCreating')
    world.create(SECRET, { namespace: TEAM, name: 'login' }, { data: { key: 'eA==' } })
    await until('Complete=True')
  })

  it('fails when its time is over, and stops its pod', async () => {
    script({ type: 'neverEnds' })
    const { metadata } = make({ activeDeadlineSeconds: 60 })
    await until('Failed=True')
    expect(told()).toEqual(['FailureTarget=True DeadlineExceeded', 'Failed=True DeadlineExceeded'])
    const [end] = job().status?.conditions?.slice(-1) ?? []
    const tookMs = Date.parse(end?.lastTransitionTime ?? '') - Date.parse(metadata.creationTimestamp ?? '')
    expect(Math.round(tookMs / 10_000)).toBe(6)
    expect(pods()).toEqual([])
  })

  const placed: readonly (readonly [string, WorkloadFault])[] = [
    ['that runs', { type: 'neverEnds' }],
    ['without a node', { type: 'unschedulable' }],
    ['without containers', { type: 'imagePull' }],
  ]
  it.each(placed)('fails when somebody deletes its pod %s', async (_where, fault) => {
    script(fault)
    make()
    await world.until('a pod', () => pods().length === 1)
    await world.pass(10_000)
    world.cluster.admin.delete(POD, pods()[0]?.metadata ?? { name: '' })
    await until('Failed=True')
    expect(told()).toContain('Failed=True BackoffLimitExceeded')
    await world.until('the pod is gone', () => pods().length === 0)
  })

  it('has its pod stopped when somebody suspends it, and has another one later', async () => {
    const end = script({ type: 'neverEnds' })
    make()
    await untilRuns()
    const first = pods()[0]?.metadata.uid
    suspend(true)
    await until('Suspended=True')
    suspend(false)
    // The first one may take a moment to go.
    await world.until('another pod alone', () => pods().length === 1 && pods()[0]?.metadata.uid !== first)
    end()
    await until('Complete=True')
    expect(job().status?.failed).toBeUndefined()
  })

  it('runs what it was made for', async () => {
    make({ suspend: true })
    const containers = [{ name: 'main', image: 'example.com/other:1' }]
    const change = { spec: { template: { spec: { containers } } } }
    expect(() => world.cluster.admin.mergePatch(JOB, KEY, change)).toThrow(/spec\.template: .*field is immutable/)
  })

  it('takes its pod along when it is deleted, and leaves it if nobody says that', async () => {
    const end = script({ type: 'neverEnds' })
    make()
    await untilRuns()
    world.cluster.admin.delete(JOB, KEY, { propagationPolicy: 'Foreground' })
    await world.until('all is gone', () => world.cluster.admin.list<KubeObject>(JOB).items.length === 0)
    expect(pods()).toEqual([])
    make()
    await untilRuns()
    world.cluster.admin.delete(JOB, KEY)
    await world.until('the Job is gone', () => world.cluster.admin.list<KubeObject>(JOB).items.length === 0)
    end()
    await world.until('the pod has ended', () => pods()[0]?.status?.phase === 'Succeeded')
    expect(pods()[0]?.metadata).not.toHaveProperty('finalizers')
  })
})
