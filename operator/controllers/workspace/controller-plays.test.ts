import { ANNOTATIONS, type WorkspaceSpecInput } from '@open-terrain/constructs'
import { type PlayRecord, virtualMachine, workspace } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { SECOND } from '../../../test/prepared/runtime/times.ts'
import { start, VM, type WorkspaceBench } from '../../../test/prepared/workspace/workspace-bench.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import { JOB, POD, SECRET } from '../../kube/resource-types.ts'

const PASSWORD = 'correct-horse-battery'
const LAB: WorkspaceSpecInput = {
  networks: [{ name: 'control', cidr: '10.70.0.0/24' }],
  vms: [
    {
      ...VM,
      name: 'router',
      interfaces: [{ network: 'control', ipAddress: '10.70.0.1/24' }],
      users: [{ name: 'student', lock_passwd: false, passwordSecretRef: { name: 'logins', key: 'student' } }],
      ansible: { roles: { build: [{ role: 'router' }] } },
    },
  ],
  ansible: { image: 'registry.example/ansible:1' },
}
const RUNS = {
  phase: 'Ready',
  reason: 'Running',
  message: 'it runs',
  clone: { uid: 'clone', phase: 'Succeeded' },
  diskUID: 'disk-1',
  kubevirt: { name: 'router', instanceUID: 'instance-1' },
}

type Vm = NonNullable<WorkspaceSpecInput['vms']>[number]
const withDeployRole = (vm: Vm): Vm => ({
  ...vm,
  ansible: { roles: { ...vm.ansible?.roles, deploy: [{ role: 'checks' }] } },
})

type Job = KubeObject & {
  readonly spec: { readonly suspend?: boolean; readonly template: { readonly metadata: object } }
}

/** A lab whose machine runs, and whose play is about to begin. */
async function running(prepare?: (bench: WorkspaceBench) => void): Promise<WorkspaceBench> {
  const bench = await start(LAB, prepare)
  const data = { student: Buffer.from(PASSWORD).toString('base64') }
  const metadata = { namespace: 'lab', name: 'logins' }
  bench.client.cluster.admin.create(SECRET, { apiVersion: 'v1', kind: 'Secret', metadata, data } as KubeObject)
  await bench.work()
  bench.tell(virtualMachine, 'lab/router', RUNS)
  await bench.clock.advance(5 * SECOND)
  return bench
}

const jobs = (bench: WorkspaceBench) => bench.client.all('Job') as readonly Job[]
const component = (bench: WorkspaceBench) => bench.status().components?.find(({ kind }) => kind === 'Ansible')
const play = (bench: WorkspaceBench): Partial<PlayRecord> => bench.status().plays?.[0] ?? {}

/** The Job fails, and its container has said something. */
async function fail(bench: WorkspaceBench, message: string, phase: 'Failed' | 'Running' = 'Failed'): Promise<void> {
  const [job] = jobs(bench)
  if (job === undefined) throw new Error('there is no Job')
  const { name } = job.metadata
  const { admin } = bench.client.cluster
  const owner = { apiVersion: 'batch/v1', kind: 'Job', name, uid: job.metadata.uid ?? '', controller: true }
  const metadata = { ...job.spec.template.metadata, namespace: 'lab', name: `${name}-abcde`, ownerReferences: [owner] }
  admin.create(POD, { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [] } } as KubeObject)
  const terminated = { exitCode: 2, reason: 'Error', message }
  bench.tell(POD, `lab/${name}-abcde`, {
    phase,
    containerStatuses: [{ name: 'ansible', state: { terminated } }],
  })
  if (phase === 'Running') return await bench.clock.advance(5 * SECOND)
  const condition = { type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded', message: 'it has failed' }
  bench.tell(JOB, `lab/${name}`, { conditions: [condition] })
  await bench.clock.advance(5 * SECOND)
}

describe('a play', () => {
  it('has its Job recorded before it starts, and after a change of leader it is the same Job', async () => {
    const bench = await running()
    const [job] = jobs(bench)
    expect([jobs(bench).length, job?.spec.suspend, play(bench)]).toMatchObject([
      1,
      false,
      { phase: 'Running', of: 'disk-1', jobUID: job?.metadata.uid },
    ])
    const writes = bench.client.calls.filter(
      ({ verb, kind, body }) =>
        (kind === 'Job' && ['create', 'patch'].includes(verb)) ||
        (verb === 'status' && JSON.stringify(body).includes(job?.metadata.uid ?? '-')),
    )
    expect(writes.slice(0, 3).map(({ verb, kind }) => `${verb} ${kind}`)).toEqual([
      'create Job',
      'status Workspace',
      'patch Job',
    ])
    await bench.restart()
    await bench.clock.advance(60 * SECOND)
    expect(jobs(bench).map(({ metadata }) => metadata.uid)).toEqual([job?.metadata.uid])
    bench.tell(JOB, `lab/${job?.metadata.name}`, { conditions: [{ type: 'Complete', status: 'True' }] })
    await bench.clock.advance(5 * SECOND)
    expect([play(bench).phase, bench.status().phase]).toEqual(['Succeeded', 'Ready'])
  })

  it('that has begun is let end before its lab is switched off, and none begins on a lab that is off', async () => {
    const bench = await running()
    const [job] = jobs(bench)
    const powerState = () =>
      (bench.client.peek('VirtualMachine', 'lab/router') as { spec?: { powerState?: string } }).spec?.powerState
    bench.change({ ...LAB, powerState: 'Halted' })
    await bench.clock.advance(60 * SECOND)
    expect([powerState(), jobs(bench).length, play(bench).phase]).toEqual([undefined, 1, 'Running'])
    expect(bench.status().components?.find(({ kind }) => kind === 'VirtualMachine')).toMatchObject({
      reason: 'Halting',
      message: `stays on until build of router has ended (Job ${job?.metadata.name}): deleting that Job ends it`,
    })
    bench.tell(JOB, `lab/${job?.metadata.name}`, { conditions: [{ type: 'Complete', status: 'True' }] })
    await bench.work()
    expect([powerState(), play(bench).phase, bench.status().reason]).toEqual(['Halted', 'Succeeded', 'Halted'])
    bench.client.cluster.admin.mergePatch(
      workspace,
      { name: 'lab' },
      {
        metadata: { annotations: { [ANNOTATIONS.playRequestedAt]: 'now' } },
      },
    )
    bench.change({ ...LAB, powerState: 'Halted', vms: (LAB.vms ?? []).map(withDeployRole) })
    await bench.work()
    expect([jobs(bench).length, bench.status().plays?.map(({ phase }) => phase)]).toEqual([1, ['Succeeded', 'Pending']])
    expect(bench.status().phase).toBe('Ready')
  })

  it.each([
    ['as it is', `{"task":"router : Log in","host":"router","what":"failed","message":"wrong: ${PASSWORD}!"}`],
    ['in the tail of a log', `TASK [router : Log in] ***\nfatal: [router]: FAILED! => {"msg": "wrong: ${PASSWORD}!"}`],
    [
      'whose end was cut off',
      `{"task":"router : Log in","host":"router","what":"failed","message":"wrong: ${PASSWORD.slice(0, 12)}"}`,
    ],
    ['whose beginning was cut off', `${PASSWORD.slice(5)}\nfatal: [router]: FAILED! => {"msg": "wrong"}`],
  ])('that failed tells nobody a password %s', async (_how, message) => {
    const bench = await running()
    await fail(bench, message)
    expect([play(bench).phase, component(bench)?.reason, bench.status().phase]).toEqual([
      'Failed',
      'PlayFailed',
      'Failed',
    ])
    expect(component(bench)?.message).toMatch(/^build of router failed: .*wrong/)
    const told = [
      ...bench.client.calls.filter(({ kind }) => kind !== 'Secret').map(({ body }) => JSON.stringify(body) ?? ''),
      ...bench.events(),
    ]
    expect(told.filter((text) => text.includes(PASSWORD.slice(0, 8)) || text.includes(PASSWORD.slice(-8)))).toEqual([])
    expect(bench.events().some((event) => event.startsWith('Warning PlayFailed: Ansible lab-ansible: '))).toBe(true)
  })

  const long = 'a long story '.repeat(120)
  it.each([
    [
      'a long line of the plugin',
      `{"task":"router : Log in","host":"router","what":"failed","message":"wrong: ${long}"}`,
    ],
    ['a log', `${long}\nTASK [router : Log in] ***\nfatal: [router]: FAILED! => {"msg": "wrong"}`],
  ])('that failed says which task it was, from %s', async (_what, message) => {
    const bench = await running()
    await fail(bench, message)
    expect(play(bench).message).toMatch(/^task "router : Log in" failed on router: wrong/)
  })

  it('whose container has ended, and whose pod has not, is no trouble yet, and tells nothing', async () => {
    const bench = await running()
    await fail(bench, `wrong: ${PASSWORD}`, 'Running')
    expect([play(bench).phase, component(bench)?.reason]).toEqual(['Running', 'Playing'])
    expect(bench.client.calls.filter(({ body }) => (JSON.stringify(body) ?? '').includes(PASSWORD))).toEqual([])
  })

  it('that failed tells nothing of what was said if the Secret is gone', async () => {
    const bench = await running()
    bench.client.cluster.admin.delete(SECRET, { namespace: 'lab', name: 'logins' })
    await fail(bench, `wrong: ${PASSWORD}`)
    expect(play(bench).message).toContain('what it said is left out, as a Secret with which it logged in is gone')
  })
})
