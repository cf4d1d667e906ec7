import { ANNOTATIONS } from '@open-terrain/constructs'
import type { WorkspaceSpec, WorkspaceStatus } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../../kube/kube-object.ts'
import type { WorkspaceWorld } from '../world.ts'
import type { Rollout } from './component.ts'
import { machineRequests, passedRequests } from './machine-requests.ts'
import { NO_ROLLOUT } from './rebuilds.ts'
import { uncountedReset } from './resets.ts'

const RESET = ANNOTATIONS.resetRequestedAt
const REBUILD = ANNOTATIONS.rebuildRequestedAt
const GIVEN = { [RESET]: ANNOTATIONS.givenReset, [REBUILD]: ANNOTATIONS.givenRebuild } as const
const NAMES = ['a', 'b']
const SEEN: Partial<WorkspaceStatus> = { phase: 'Ready', uncountedReset: 'none', uncountedRebuild: 'none' }

/** A workspace and its machines, of which each notes the values that it has had. */
class Requests {
  /** Machines that cannot be written. */
  readonly stuck = new Set<string>()
  readonly ignored = new Set<string>()
  status: Partial<WorkspaceStatus>
  readonly #annotation: typeof RESET | typeof REBUILD
  readonly #machines: Record<string, { values: string[]; annotations: Record<string, string> }> = {
    a: { values: [], annotations: {} },
    b: { values: [], annotations: {} },
  }
  #own: string | undefined

  constructor(annotation: typeof RESET | typeof REBUILD, status = SEEN) {
    this.#annotation = annotation
    this.status = status
  }

  /** What each machine has had, in order. */
  get had(): Record<string, string> {
    return Object.fromEntries(Object.entries(this.#machines).map(([name, { values }]) => [name, values.join(' | ')]))
  }

  /** Somebody asks for all machines, or for one. */
  ask(value: string | undefined, machine?: string): this {
    if (machine === undefined) this.#own = value
    else this.#set(machine, this.#annotation, value)
    return this.reconcile()
  }

  reconcile(rollout: Rollout = NO_ROLLOUT): this {
    const annotations = this.#own === undefined ? {} : { [this.#annotation]: this.#own }
    const workspace = {
      metadata: { name: 'lab', uid: 'lab', annotations },
      status: this.status,
    } as WorkspaceWorld['workspace']
    const vms = NAMES.map((name) => ({ name, backingVMDiskImage: 'debian', ignoreOnDeploy: this.ignored.has(name) }))
    const spec = { vms } as WorkspaceSpec
    const asked = machineRequests({ workspace, spec, children: this.#children() }, rollout)
    for (const name of NAMES.filter((one) => !this.stuck.has(one) && !this.ignored.has(one))) {
      const { value, given } = asked.get(name)?.[this.#annotation === RESET ? 'reset' : 'rebuild'] ?? {}
      if (given !== undefined) this.#set(name, GIVEN[this.#annotation], given)
      if (value !== undefined) this.#set(name, this.#annotation, value)
    }
    const { passedReset: _reset, passedRebuild: _rebuild, ...rest } = this.status
    const passed = passedRequests({ workspace, spec: { ok: true, spec }, children: this.#children() })
    this.status = { ...rest, uncountedReset: uncountedReset(workspace), ...passed }
    return this
  }

  #set(name: string, annotation: string, value: string | undefined): void {
    const machine = this.#machines[name]
    if (machine === undefined) return
    if (annotation === this.#annotation && value !== undefined && machine.annotations[annotation] !== value)
      machine.values.push(value)
    if (value === undefined) delete machine.annotations[annotation]
    else machine.annotations[annotation] = value
  }

  #children(): ReadonlyMap<string, KubeObject> {
    const machine = (name: string) => {
      const annotations = { ...this.#machines[name]?.annotations }
      return { apiVersion: 'pelotech.ot/v1alpha1', kind: 'VirtualMachine', metadata: { name, annotations }, status: {} }
    }
    return new Map(NAMES.map((name) => [`VirtualMachine ${name}`, machine(name) as KubeObject]))
  }
}

describe.each([RESET, REBUILD] as const)('a request of a workspace, %s', (annotation) => {
  it('reaches each machine once, and a machine keeps what somebody asks of it alone', () => {
    const lab = new Requests(annotation).ask('one').ask('mine', 'a').reconcile().reconcile()
    expect(lab.had).toEqual({ a: 'one | mine', b: 'one' })
    expect(lab.ask('two').reconcile().had).toEqual({ a: 'one | mine | two', b: 'one | two' })
  })

  it('does not come back when that of a machine is taken away, nor when its own is given again', () => {
    const lab = new Requests(annotation).ask('one').ask('mine', 'a').ask(undefined, 'a').reconcile()
    expect(lab.had).toEqual({ a: 'one | mine', b: 'one' })
    lab.ask('two').ask('one').reconcile()
    expect(lab.had).toEqual({ a: 'one | mine | two', b: 'one | two' })
    lab.ask('mine', 'a').ask(undefined).ask('two').reconcile()
    expect(lab.had).toEqual({ a: 'one | mine | two | mine', b: 'one | two' })
  })

  it('reaches a machine that had a value of its own, and one that could not be written for a while', () => {
    const lab = new Requests(annotation).ask('mine', 'a')
    lab.stuck.add('b')
    lab.ask('one').ask('again', 'a').reconcile()
    expect(lab.had).toEqual({ a: 'mine | one | again', b: '' })
    lab.stuck.clear()
    expect(lab.reconcile().ask('again', 'b').reconcile().had).toEqual({ a: 'mine | one | again', b: 'one | again' })
  })

  it('does not reach a machine that was not deployed then', () => {
    const lab = new Requests(annotation)
    lab.ignored.add('b')
    lab.ask('one').reconcile()
    lab.ignored.clear()
    expect(lab.reconcile().had).toEqual({ a: 'one', b: '' })
  })

  it('from before the operator looked for it is not given to machines that exist', () => {
    const lab = new Requests(annotation, { phase: 'Ready' }).ask('old').ask('mine', 'a').reconcile()
    expect(lab.had).toEqual({ a: 'mine', b: '' })
    expect(lab.ask('new').reconcile().had).toEqual({ a: 'mine | new', b: 'new' })
  })
})

describe('a request for a rebuild', () => {
  const lost = [{ component: 'Volume data', request: 'none' }] as unknown as WorkspaceStatus['lost']

  it('is about the losses that the workspace told of when somebody asked, for all machines alike', () => {
    const lab = new Requests(REBUILD, { ...SEEN, phase: 'Failed', lost })
    lab.stuck.add('b')
    lab.ask('one')
    // They are made good before the other one is written.
    const { lost: _lost, ...rest } = lab.status
    lab.status = rest
    lab.stuck.clear()
    expect(lab.reconcile().reconcile().had).toEqual({ a: 'one for-losses', b: 'one for-losses' })
    expect(lab.ask('two').reconcile().had).toEqual({ a: 'one for-losses | two', b: 'one for-losses | two' })
  })

  it('of a rollout takes the place of that of the workspace, which does not come back, and gives way to the next one', () => {
    const rollout = { asked: new Map([['a', '0123abcd']]) }
    const lab = new Requests(REBUILD).ask('one').reconcile(rollout).reconcile().reconcile()
    expect(lab.had).toEqual({ a: 'one | rollout-0123abcd', b: 'one' })
    lab.status = { ...lab.status, lost }
    expect(lab.ask('two').reconcile().had).toEqual({
      a: 'one | rollout-0123abcd | two for-losses',
      b: 'one | two for-losses',
    })
  })
})
