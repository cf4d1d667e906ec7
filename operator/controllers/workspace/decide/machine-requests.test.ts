import { ANNOTATIONS, type WorkspaceSpec, type WorkspaceStatus } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../../kube/kube-object.ts'
import type { WorkspaceWorld } from '../world.ts'
import { machineRequests, passedRequests } from './machine-requests.ts'
import { NO_ROLLOUT } from './rebuilds.ts'
import { uncountedReset } from './resets.ts'

const NAMES = ['a', 'b']
const spec = { vms: NAMES.map((name) => ({ name, backingVMDiskImage: 'debian' })) } as WorkspaceSpec

/** A workspace and its machines, of which each notes the values that it was given. */
class Requests {
  readonly values: Record<string, string[]> = { a: [], b: [] }
  readonly #annotation: string
  #own: string | undefined
  #status: Partial<WorkspaceStatus>
  /** Machines that cannot be written. */
  stuck = new Set<string>()

  constructor(annotation: string, status: Partial<WorkspaceStatus> = { phase: 'Ready', uncountedReset: 'none' }) {
    this.#annotation = annotation
    this.#status = status
  }

  /** Somebody asks for the machines, or for one. */
  ask(value: string, machine?: string): this {
    if (machine === undefined) this.#own = value
    else this.values[machine]?.push(value)
    return this.reconcile()
  }

  forgetLosses(): void {
    const { lost: _lost, ...rest } = this.#status
    this.#status = rest
  }

  reconcile(): this {
    const metadata = {
      name: 'lab',
      uid: 'lab',
      annotations: this.#own === undefined ? {} : { [this.#annotation]: this.#own },
    }
    const workspace = { metadata, status: this.#status } as WorkspaceWorld['workspace']
    const asked = machineRequests({ workspace, spec, children: this.#children() }, NO_ROLLOUT)
    for (const name of NAMES.filter((one) => !this.stuck.has(one))) {
      const isReset = this.#annotation === ANNOTATIONS.resetRequestedAt
      const [own, others] = isReset
        ? [asked.resetRequestedAt, asked.resetRequests]
        : [asked.rebuildRequestedAt, asked.rebuildRequests]
      const value = others?.get(name) ?? own
      const list = this.values[name] ?? []
      if (value !== undefined && list.at(-1) !== value) list.push(value)
    }
    const { passedReset: _reset, passedRebuild: _rebuild, ...rest } = this.#status
    const passed = passedRequests({ workspace, spec: { ok: true, spec }, children: this.#children() })
    this.#status = { ...rest, uncountedReset: uncountedReset(workspace), ...passed }
    return this
  }

  #children(): ReadonlyMap<string, KubeObject> {
    const machine = (name: string) => {
      const value = this.values[name]?.at(-1)
      const annotations = value === undefined ? {} : { [this.#annotation]: value }
      return { apiVersion: 'pelotech.ot/v1alpha1', kind: 'VirtualMachine', metadata: { name, annotations }, status: {} }
    }
    return new Map(NAMES.map((name) => [`VirtualMachine ${name}`, machine(name) as KubeObject]))
  }
}

describe.each([ANNOTATIONS.resetRequestedAt, ANNOTATIONS.rebuildRequestedAt])(
  'a request of a workspace, %s',
  (annotation) => {
    it('reaches each machine once, and a machine keeps what somebody asks of it alone', () => {
      const lab = new Requests(annotation).ask('one').ask('mine', 'a').reconcile().reconcile()
      expect(lab.values).toEqual({ a: ['one', 'mine'], b: ['one'] })
      lab.ask('two').reconcile()
      expect(lab.values).toEqual({ a: ['one', 'mine', 'two'], b: ['one', 'two'] })
    })

    it('reaches a machine that had a value of its own, and one that could not be written for a while', () => {
      const lab = new Requests(annotation).ask('mine', 'a')
      lab.stuck.add('b')
      lab.ask('one').reconcile()
      expect(lab.values).toEqual({ a: ['mine', 'one'], b: [] })
      lab.stuck.clear()
      lab.reconcile().ask('again', 'b').reconcile()
      expect(lab.values).toEqual({ a: ['mine', 'one'], b: ['one', 'again'] })
    })
  },
)

it('is about the losses that the workspace told of when somebody asked, for all machines alike, also when they are made good meanwhile', () => {
  const lost = [{ component: 'Volume data', request: 'none' }] as unknown as WorkspaceStatus['lost']
  const lab = new Requests(ANNOTATIONS.rebuildRequestedAt, { phase: 'Failed', uncountedReset: 'none', lost })
  lab.stuck.add('b')
  lab.ask('one')
  lab.forgetLosses()
  lab.stuck.clear()
  lab.reconcile().reconcile()
  expect(lab.values).toEqual({ a: ['one for-losses'], b: ['one for-losses'] })
  lab.ask('two').reconcile()
  expect(lab.values).toEqual({ a: ['one for-losses', 'two'], b: ['one for-losses', 'two'] })
})

it('does not give a machine a rebuild from before an upgrade again, where somebody has asked for another one since', () => {
  const lab = new Requests(ANNOTATIONS.rebuildRequestedAt, { phase: 'Ready' })
  for (const name of NAMES) lab.values[name]?.push('old')
  lab.values['a']?.push('mine')
  lab.ask('old').reconcile()
  expect(lab.values).toEqual({ a: ['old', 'mine'], b: ['old'] })
  lab.ask('new').reconcile()
  expect(lab.values).toEqual({ a: ['old', 'mine', 'new'], b: ['old', 'new'] })
})
