import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import { type PlayRecord, POLICY_DEFAULTS, type Policy } from '@open-terrain/constructs/operator'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { NOW, PlannedWorld, parsed } from '../../../../test/prepared/workspace/workspace-world.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import type { ContainerPodView, PlayJobView } from '../child-views.ts'
import type { MachineFacts, WorkspacePlan } from '../world.ts'
import { planWorkspace } from './plan.ts'

const IMAGE: Policy = { ...POLICY_DEFAULTS, ansibleImage: 'ansible' }
const ROUTER = {
  name: 'router',
  backingVMDiskImage: 'debian',
  resources: { cpu: 1, memory: '1Gi' },
  interfaces: [{ network: 'control', ipAddress: '10.70.0.1/24' }],
  ansible: { roles: { build: [{ role: 'router' }], deploy: [{ role: 'checks' }] } },
}
const SPEC: WorkspaceSpecInput = { networks: [{ name: 'control', cidr: '10.70.0.0/24' }], vms: [ROUTER] }

type Machine = MachineFacts['status']
const RUNS = { phase: 'Ready', reason: 'Running', message: 'it runs', observedGeneration: 1 } as const
const KUBEVIRT = { name: 'demo-vm', nodeName: 'node-1' }
const CLONE = { name: 'demo-vm-disk' }
const running = (disk: string, instance: string, more: Machine = {}): Machine => ({
  ...RUNS,
  clone: { ...CLONE, uid: `clone-of-${disk}`, phase: 'Succeeded' },
  diskUID: disk,
  kubevirt: { ...KUBEVIRT, instanceUID: instance },
  ...more,
})

/** A lab whose machine, Jobs and people do what a test says. It carries out plans, wholly or in part, and notes which Jobs start. */
class Stage {
  readonly planned = new PlannedWorld(parsed(SPEC))
  /** `<vm>-<play> of <disk or instance>` of each Job that was started. */
  readonly started: string[] = []

  constructor(policy = IMAGE, spec = SPEC) {
    this.planned.spec = parsed(spec)
    this.planned.policy = policy
    this.planned.allImagesReady()
  }

  get plays(): readonly PlayRecord[] {
    return this.planned.status.plays ?? []
  }

  phases(): string {
    return this.plays.map(({ play, phase }) => `${play} ${phase}`).join(', ')
  }

  get component() {
    return this.planned.status.components?.find(({ kind }) => kind === 'Ansible')
  }

  /** The machine, once there is one: it is not replaced by what `take` makes of it. */
  machine(status: Machine): void {
    this.#machine = status
    const child = this.planned.children.get('VirtualMachine router')
    if (child !== undefined) this.planned.children.set('VirtualMachine router', { ...child, status } as KubeObject)
  }

  #machine: Machine | undefined = {}

  /** @param parts how many of status, children and Jobs to start are written before the process ends. 0: all but the status, whose write may wait */
  reconcile(parts = 3): WorkspacePlan {
    const plan = planWorkspace(this.planned.world, NOW)
    const { diskUID } = this.status
    if (!this.isPlaying && diskUID !== undefined && parts !== 0) this.foreign.add(diskUID)
    const [isChildrenToo, isAll] = [parts !== 1, parts !== 1 && parts !== 2]
    const status = parts === 0 ? this.planned.status : plan.status
    this.planned.take({ ...plan, status, ...(isChildrenToo ? {} : { apply: [], remove: [] }) })
    if (this.#machine !== undefined) this.machine(this.#machine)
    if (isAll) for (const { name, uid } of plan.touch ?? []) this.#start(name, uid, plan.status.plays)
    return plan
  }

  settle(): void {
    for (let round = 0; round < 8; round += 1) this.reconcile()
  }

  #start(name: string, uid: string, plays: readonly PlayRecord[] = []): void {
    const job = this.job(name)
    if (job === undefined || job.metadata.uid !== uid) return
    const { of, restored = of, play } = plays.find(({ jobUID }) => jobUID === uid) ?? {}
    this.started.push(`${play} of ${restored}${this.foreign.has(restored ?? '') ? ', which was there before' : ''}`)
    this.change(name, { isSuspended: false })
  }

  job(name: string): PlayJobView | undefined {
    return this.planned.children.get(`Job ${name}`) as PlayJobView | undefined
  }

  get jobs(): readonly PlayJobView[] {
    return [...this.planned.children.values()].filter(({ kind }) => kind === 'Job') as PlayJobView[]
  }

  get status(): Machine {
    return this.#machine ?? {}
  }

  get isPlaying(): boolean {
    return this.planned.policy.ansibleImage !== undefined
  }

  /** Starts the machine from a disk. One that a restore made is lost again with the next start from the own one. */
  boot({ disk }: { readonly disk: 'new' | 'same' | 'restored' }): void {
    if (disk === 'new' || this.#hasNone) this.#disks += 1
    this.#hasNone = false
    this.#instances += 1
    const [own, restored] = [`disk-${this.#disks}`, `restored-${this.#instances}`]
    const instance = `instance-${this.#instances}`
    this.machine(
      disk === 'restored'
        ? running(restored, instance, { restoredClaim: restored, clone: { ...CLONE, uid: `clone-of-${own}` } })
        : running(own, instance),
    )
  }

  remake(): void {
    this.#hasNone = true
    this.machine({})
  }

  #hasNone = true
  #disks = 0
  #instances = 0

  /** Names an image in the policy, or none. */
  play(isPlayed: boolean): void {
    this.planned.policy = isPlayed ? IMAGE : POLICY_DEFAULTS
    this.planned.spec = parsed(SPEC)
  }

  /** Disks that were there, as the status says, while nobody played. */
  readonly foreign = new Set<string>()

  /** The last Job of a play. */
  jobOf(play: string): string {
    const names = this.jobs.map(({ metadata }) => metadata.name)
    return names.findLast((name) => name.includes(`-${play}-`)) ?? ''
  }

  change(name: string, more: Partial<PlayJobView>): void {
    const job = this.job(name)
    if (job === undefined) return
    const { generation = 1 } = job.metadata
    const metadata = { ...job.metadata, generation: 'isSuspended' in more ? generation + 1 : generation }
    this.planned.children.set(`Job ${name}`, { ...job, ...more, metadata })
  }

  replace(name: string): void {
    const job = this.job(name)
    if (job === undefined) return
    const metadata = { ...job.metadata, uid: `${job.metadata.uid}-again`, generation: 1 }
    this.planned.children.set(`Job ${name}`, { ...job, isSuspended: true, metadata } as KubeObject)
  }

  end(name: string, said?: string): void {
    if (this.job(name)?.isSuspended !== false) return
    const met = { status: 'True', reason: '', message: '' }
    if (said === undefined) {
      this.change(name, { complete: met })
      return
    }
    const pod = { metadata: { name, uid: `${name}-pod` }, phase: 'Failed', lastWords: { text: said, exitCode: 2 } }
    this.planned.playPods.set(name, [pod as unknown as ContainerPodView])
    this.planned.playEnds.set(`${name}-pod`, said)
    this.change(name, { failed: { ...met, reason: 'BackoffLimitExceeded' } })
  }
}

/** The build of its first disk is being played. */
function building(): Stage {
  const stage = new Stage()
  stage.settle()
  stage.boot({ disk: 'new' })
  stage.settle()
  return stage
}

function built(): Stage {
  const stage = building()
  stage.end(stage.jobOf('build'))
  stage.settle()
  return stage
}

describe('plays of a machine', () => {
  it('are played once its machine is ready: build, then deploy', () => {
    const stage = new Stage()
    stage.settle()
    expect([stage.phases(), stage.jobs.length, stage.component?.reason]).toEqual([
      'build Pending, deploy Pending',
      0,
      'Playing',
    ])
    expect(stage.component?.message).toBe(
      'build of router waits for VirtualMachine router; 1 more to be played, see status.plays',
    )
    stage.machine(running('disk-1', 'instance-1'))
    stage.settle()
    expect([stage.phases(), stage.started]).toEqual(['build Running, deploy Pending', ['build of disk-1']])
    expect(stage.component?.message).toMatch(/^build of router is being played \(Job router-build-[0-9a-f]{8}\)/)
    stage.end(stage.jobOf('build'))
    stage.settle()
    expect(stage.phases()).toBe('build Succeeded, deploy Running')
    stage.end(stage.jobOf('deploy'))
    stage.settle()
    expect([stage.phases(), stage.planned.status.phase]).toEqual(['build Succeeded, deploy Succeeded', 'Ready'])
    expect(stage.component?.message).toBe(
      'ConfigMap lab-ansible has the inventory and the plays, and the roles were played',
    )
    expect(stage.started).toEqual(['build of disk-1', 'deploy of instance-1'])
  })

  it('are not played on machines that were there before, unless somebody asks', () => {
    const stage = new Stage(POLICY_DEFAULTS)
    stage.settle()
    stage.machine(running('disk-1', 'instance-1'))
    stage.settle()
    expect([stage.plays, stage.planned.status.phase]).toEqual([[], 'Ready'])
    stage.planned.policy = IMAGE
    stage.planned.spec = parsed(SPEC)
    stage.settle()
    expect([stage.phases(), stage.started, stage.planned.status.phase]).toEqual([
      'build NotPlayed, deploy NotPlayed',
      [],
      'Ready',
    ])
    expect(stage.component).toMatchObject({ phase: 'Ready', reason: 'NotPlayed' })
    expect(stage.component?.message).toContain(
      '; build of router and 1 more not played, because nobody knows what was done on the disk; to have it played: kubectl annotate workspaces.pelotech.ot lab --overwrite pelotech.ot/play-requested-at=',
    )
    stage.planned.playRequestedAt = 'now'
    stage.settle()
    expect([stage.phases(), stage.started]).toEqual([
      'build Running, deploy Pending',
      ['build of disk-1, which was there before'],
    ])
  })

  it('are not played on such machines after a start either, or before their instance is known', () => {
    const stage = new Stage(POLICY_DEFAULTS)
    stage.settle()
    // As the version before this one left it.
    stage.machine(running('disk-1', 'instance-1', { kubevirt: KUBEVIRT }))
    stage.play(true)
    stage.settle()
    for (const instance of ['instance-1', 'instance-2']) {
      stage.machine(running('disk-1', instance))
      stage.settle()
      expect([stage.phases(), stage.started]).toEqual(['build NotPlayed, deploy NotPlayed', []])
    }
    stage.machine(running('disk-2', 'instance-3'))
    stage.settle()
    expect(stage.started).toEqual(['build of disk-2'])
  })

  it('are not played on a machine whose status is gone with that of the workspace, as in a backup', () => {
    const stage = built()
    stage.planned.status = {}
    stage.machine({})
    stage.settle()
    stage.machine(running('disk-1', 'instance-2'))
    stage.settle()
    expect([stage.phases(), stage.started]).toEqual([
      'build NotPlayed, deploy NotPlayed',
      ['build of disk-1', 'deploy of instance-1'],
    ])
  })

  it('end when their machine is gone, and are played on its next disk when nothing plays any more', () => {
    const stage = building()
    const job = stage.jobOf('build')
    stage.remake()
    stage.reconcile()
    expect([stage.phases(), stage.job(job)]).toEqual(['build Failed, deploy Pending', undefined])
    stage.boot({ disk: 'new' })
    stage.settle()
    expect([stage.phases(), stage.started]).toEqual([
      'build Running, deploy Pending',
      ['build of disk-1', 'build of disk-2'],
    ])
  })

  it('that may have gone on on another disk are not played there before somebody asks', () => {
    const stage = building()
    const job = stage.jobOf('build')
    // No operator ran in between.
    stage.boot({ disk: 'new' })
    stage.end(job)
    stage.settle()
    expect([stage.phases(), stage.started]).toEqual(['build Failed, deploy Pending', ['build of disk-1']])
    expect(stage.component?.message).toMatch(/^build of router failed: the machine got another disk meanwhile, /)
    stage.planned.playRequestedAt = 'now'
    stage.settle()
    expect(stage.started).toEqual(['build of disk-1', 'build of disk-2'])
  })

  it('of more than four machines wait for their turn', () => {
    const vms = Array.from({ length: 6 }, (_, at) => ({
      ...ROUTER,
      name: `router-${at}`,
      interfaces: [{ network: 'control', ipAddress: `10.70.0.${at + 1}/24` }],
    }))
    const stage = new Stage(IMAGE, { ...SPEC, vms })
    stage.settle()
    for (const { name } of vms) {
      const child = stage.planned.children.get(`VirtualMachine ${name}`)
      const status = running(`disk of ${name}`, `instance of ${name}`)
      stage.planned.children.set(`VirtualMachine ${name}`, { ...child, status } as KubeObject)
    }
    stage.settle()
    expect(stage.started.length).toBe(4)
    for (const { metadata } of stage.jobs.slice(0, 2)) stage.end(metadata.name)
    stage.settle()
    expect(stage.started.length).toBe(6)
    const ips = stage.jobs.filter(({ complete }) => complete.status !== 'True').flatMap(({ addresses }) => addresses)
    expect(new Set(ips).size).toBe(4)
  })

  it('on a restored disk are played where somebody asks', () => {
    const stage = building()
    stage.end(stage.jobOf('build'), 'fatal')
    stage.settle()
    stage.boot({ disk: 'restored' })
    stage.settle()
    stage.planned.playRequestedAt = 'now'
    stage.settle()
    expect([stage.phases(), stage.started]).toEqual([
      'build Running, deploy Pending',
      ['build of disk-1', 'build of restored-2'],
    ])
  })

  it('asked for on a restored disk are not played on the disk of before when that comes back', () => {
    for (const said of ['fatal', undefined]) {
      const stage = building()
      stage.end(stage.jobOf('build'), said)
      stage.settle()
      stage.boot({ disk: 'restored' })
      stage.settle()
      stage.planned.playRequestedAt = 'now'
      stage.settle()
      stage.end(stage.jobOf('build'))
      stage.settle()
      stage.boot({ disk: 'same' })
      stage.settle()
      const builds = stage.started.filter((one) => one.startsWith('build'))
      expect(builds).toEqual(said === undefined ? ['build of disk-1'] : ['build of disk-1', 'build of restored-2'])
      expect(stage.phases()).toMatch(said === undefined ? /^build Succeeded/ : /^build NotPlayed/)
    }
  })

  it('do not begin on a machine that is off although its instance is there, and wait for its disk to be known', () => {
    const stage = new Stage()
    stage.settle()
    stage.machine(running('disk-1', 'instance-1', { reason: 'Halted' }))
    stage.settle()
    stage.machine({ ...running('disk-1', 'instance-1'), diskUID: undefined })
    stage.settle()
    expect([stage.phases(), stage.jobs]).toEqual(['build Pending, deploy Pending', []])
  })

  it('whose Job outlives its machine are not played on the next disk before somebody asks', () => {
    const stage = building()
    const job = stage.jobOf('build')
    stage.remake()
    const left = stage.job(job)
    stage.reconcile()
    // Its deletion was refused.
    stage.planned.children.set(`Job ${job}`, left as KubeObject)
    stage.boot({ disk: 'new' })
    stage.settle()
    expect([stage.phases(), stage.started]).toEqual(['build Failed, deploy Pending', ['build of disk-1']])
  })

  it('that were asked for while no image was named are played once there is one', () => {
    const stage = built()
    stage.end(stage.jobOf('deploy'))
    stage.settle()
    stage.play(false)
    stage.planned.playRequestedAt = 'now'
    stage.settle()
    stage.play(true)
    stage.settle()
    expect(stage.started).toEqual(['build of disk-1', 'deploy of instance-1', 'deploy of instance-1'])
  })

  it('are not played on a disk that was made while no image was named', () => {
    const stage = built()
    stage.end(stage.jobOf('deploy'))
    stage.settle()
    stage.play(false)
    stage.boot({ disk: 'new' })
    stage.boot({ disk: 'new' })
    stage.settle()
    stage.play(true)
    stage.settle()
    expect([stage.phases(), stage.started]).toEqual([
      'build NotPlayed, deploy NotPlayed',
      ['build of disk-1', 'deploy of instance-1'],
    ])
  })

  it('that failed say where, and what comes after them is not played before somebody asks', () => {
    const stage = building()
    const job = stage.jobOf('build')
    stage.end(job, '{"task":"router : Forward","host":"router","what":"failed","message":"no such file"}')
    stage.settle()
    expect([stage.phases(), stage.planned.status.phase]).toEqual(['build Failed, deploy Pending', 'Failed'])
    expect(stage.component).toMatchObject({ phase: 'Failed', reason: 'PlayFailed' })
    const message = stage.component?.message ?? ''
    expect(message).toMatch(/^build of router failed: .*router : Forward/)
    expect(message).toContain(`; its log: kubectl logs -n lab job/${job}; to have it played: kubectl annotate `)
    stage.planned.playRequestedAt = 'later'
    stage.settle()
    expect([stage.phases(), stage.started]).toEqual([
      'build Running, deploy Pending',
      ['build of disk-1', 'build of disk-1'],
    ])
    expect(stage.jobs.map(({ metadata }) => metadata.name)).not.toContain(job)
  })

  it('do not start before the status that is stored has the uid of the Job', () => {
    const stage = new Stage()
    stage.settle()
    stage.machine(running('disk-1', 'instance-1'))
    for (let round = 0; round < 4; round += 1) stage.reconcile(0)
    expect([stage.jobs.length, stage.started]).toEqual([1, []])
    stage.settle()
    expect(stage.started).toEqual(['build of disk-1'])
  })

  it('of which nobody saw the end have failed', () => {
    const stage = building()
    stage.planned.children.delete(`Job ${stage.jobOf('build')}`)
    stage.settle()
    expect(stage.component?.message).toMatch(/^build of router failed: its Job is gone, and nobody saw how it ended; /)
    expect(stage.started).toEqual(['build of disk-1'])
  })

  it('do not begin while a pod of before may still play', () => {
    const stage = building()
    const job = stage.jobOf('build')
    const podIn = (phase: string) => [{ metadata: { name: 'left', uid: 'left' }, phase } as unknown as ContainerPodView]
    stage.planned.playPods.set(job, podIn('Running'))
    stage.planned.children.delete(`Job ${job}`)
    stage.settle()
    stage.planned.playRequestedAt = 'now'
    stage.settle()
    expect([stage.phases(), stage.jobs]).toEqual(['build Pending, deploy Pending', []])
    expect(stage.component?.message).toMatch(/^build of router waits until pod left has ended, whose Job is gone/)
    stage.planned.playPods.set(job, podIn('Failed'))
    stage.settle()
    expect([stage.phases(), stage.started]).toEqual([
      'build Running, deploy Pending',
      ['build of disk-1', 'build of disk-1'],
    ])
  })

  it('that have succeeded stay on the disk: who asks again is told once', () => {
    const stage = built()
    stage.end(stage.jobOf('deploy'))
    stage.settle()
    stage.planned.playRequestedAt = 'now'
    const told = () =>
      stage.reconcile().events.flatMap(({ reason, message }) => (reason === 'PlayNotCounted' ? [message] : []))
    expect(told().join()).toMatch(
      /does not count for the build roles of router: they have succeeded on the present disk/,
    )
    expect(told()).toEqual([])
    stage.settle()
    expect(stage.started).toEqual(['build of disk-1', 'deploy of instance-1', 'deploy of instance-1'])
  })

  it('for each start are played again, and those of a disk only on another one that is not restored', () => {
    const stage = built()
    stage.end(stage.jobOf('deploy'))
    stage.settle()
    const restart = (machine: Machine) => {
      stage.machine(machine)
      stage.settle()
      for (const play of ['build', 'deploy']) {
        stage.end(stage.jobOf(play))
        stage.settle()
      }
    }
    restart(running('disk-1', 'instance-2'))
    restart(running('restored', 'instance-3', { restoredClaim: 'restored' }))
    restart(running('disk-1', 'instance-4'))
    restart(running('disk-2', 'instance-5'))
    expect(stage.started).toEqual([
      'build of disk-1',
      'deploy of instance-1',
      'deploy of instance-2',
      'deploy of instance-3',
      'deploy of instance-4',
      'build of disk-2',
      'deploy of instance-5',
    ])
  })

  it('are waited for by nobody while their machine is off, and where they cannot be played', () => {
    const off = new Stage()
    off.settle()
    off.machine({ ...RUNS, reason: 'Halted', clone: { ...CLONE, uid: 'clone' } })
    off.settle()
    expect([off.phases(), off.planned.status.phase]).toEqual(['build Pending, deploy Pending', 'Ready'])
    const { interfaces: _none, ...vm } = ROUTER
    const unreachable = new Stage(IMAGE, { vms: [vm] })
    unreachable.settle()
    unreachable.machine(running('disk-1', 'instance-1'))
    unreachable.settle()
    expect([unreachable.started, unreachable.planned.status.phase, unreachable.planned.status.warnings]).toEqual([
      [],
      'Ready',
      1,
    ])
  })

  it('wait for a Secret of the workspace, with the command that makes it', () => {
    const stage = new Stage(IMAGE, { ...SPEC, ansible: { sshKeySecretRef: { name: 'range-key', key: 'id' } } })
    stage.settle()
    stage.machine(running('disk-1', 'instance-1'))
    stage.planned.missingSecrets.add('range-key')
    stage.settle()
    expect([stage.jobs, stage.component?.reason]).toEqual([[], 'SecretMissing'])
    expect(stage.component?.message).toContain('kubectl -n lab create secret generic range-key --from-file=id=FILE')
    expect(stage.planned.status.message).toContain(stage.component?.message)
  })
})

type Event = (stage: Stage) => void

const named = (weight: number, name: string, event: Event) => ({
  weight,
  arbitrary: fc.constant([name, event] as const),
})
const withJob = (play: 'build' | 'deploy') => [
  named(2, `${play} ends`, (stage) => stage.end(stage.jobOf(play))),
  named(1, `${play} fails`, (stage) => stage.end(stage.jobOf(play), 'fatal')),
  named(1, `the Job of ${play} is deleted`, (stage) => void stage.planned.children.delete(`Job ${stage.jobOf(play)}`)),
  named(1, `the Job of ${play} is made again by somebody`, (stage) => stage.replace(stage.jobOf(play))),
  named(1, `the Job of ${play} is suspended`, (stage) => stage.change(stage.jobOf(play), { isSuspended: true })),
]
const EVENTS = fc.oneof(
  named(8, 'all is carried out', (stage) => stage.settle()),
  named(2, 'the status waits', (stage) => void stage.reconcile(0)),
  named(2, 'the process ends after the status', (stage) => void stage.reconcile(1)),
  named(2, 'the process ends after the children', (stage) => void stage.reconcile(2)),
  named(2, 'a new disk', (stage) => stage.boot({ disk: 'new' })),
  named(3, 'a start', (stage) => stage.boot({ disk: 'same' })),
  named(1, 'a restored disk', (stage) => stage.boot({ disk: 'restored' })),
  named(1, 'the machine is switched off', (stage) =>
    stage.machine({ ...stage.status, reason: 'Halted', kubevirt: KUBEVIRT }),
  ),
  named(1, 'the machine is made again', (stage) => stage.remake()),
  named(1, 'an image is named', (stage) => stage.play(true)),
  named(1, 'no image is named', (stage) => stage.play(false)),
  ...withJob('build'),
  ...withJob('deploy'),
)

describe('plays under anything that may happen', () => {
  it('start a Job once, and none for a disk that had one, was restored, or was there before, as long as nobody asks', () => {
    const seen = new Set<string>()
    fc.assert(
      fc.property(fc.boolean(), fc.array(EVENTS, { minLength: 20, maxLength: 60 }), (isFromStart, events) => {
        const stage = new Stage(isFromStart ? IMAGE : POLICY_DEFAULTS)
        stage.settle()
        for (const [, event] of events) {
          event(stage)
          for (const { play, phase } of stage.plays) seen.add(`${play} ${phase}`)
        }
        const twice = stage.started.filter((one, at) => stage.started.indexOf(one) !== at)
        expect([twice, stage.started.filter((one) => /build.*(restored|before)/.test(one))]).toEqual([[], []])
      }),
      { numRuns: 150 },
    )
    // It says nothing about what never happens.
    expect(seen.size).toBe(10)
  })
})
