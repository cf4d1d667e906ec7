import { mkdtemp } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../../operator/base/clock.ts'
import { keyOf } from '../../../operator/kube/kube-object.ts'
import { ScriptedClient } from '../../../test/prepared/kube/scripted-client.ts'
import { fakeLog } from '../../../test/prepared/runtime/fake-log.ts'
import { Watchdog } from '../../control-plane/watchdog.ts'
import { PodRun } from './pod-run.ts'
import { addressOf, type OperatorContainer, type OperatorPod } from './template.ts'

const BASE_MS = 10_000
const MINUTE_MS = 60_000
/** Runs until it is stopped. */
const RUNS_ON = ['sleep', '1000']

interface ContainerStatus {
  readonly ready: boolean
  readonly restartCount: number
  readonly state: { readonly waiting?: { readonly reason: string } }
  readonly lastState: { readonly terminated?: { readonly exitCode: number; readonly reason: string } }
}

let watchdog: Watchdog
let folder = ''
let client = new ScriptedClient('ops')
let begun: { readonly run: PodRun; readonly over: Promise<void> } | undefined
let server: Server | undefined
/** The back-off delays, in milliseconds. The test does not wait for them. */
let waits: number[] = []
const clock: Clock = {
  ...systemClock,
  setTimer: (callback, delayMs) => {
    if (delayMs >= BASE_MS) waits.push(delayMs)
    return systemClock.setTimer(callback, 0)
  },
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'open-terrain-pod-run-'))
  watchdog = new Watchdog(folder)
  client = new ScriptedClient('ops')
  waits = []
})

afterEach(async () => {
  begun?.run.abandon()
  await begun?.over
  begun = undefined
  server?.close()
  await watchdog.close()
})

/** Runs a pod, and calls `onStatus` with the status of its container at each change. Resolves when it returns `true`. */
function until(
  argv: readonly string[],
  probes: Partial<OperatorContainer>,
  onStatus: (status: ContainerStatus) => boolean,
): Promise<ContainerStatus> {
  const metadata = { name: 'operator-1', namespace: 'ops', uid: 'uid-1' }
  const container = { name: 'operator', image: 'operator:1', ...probes }
  const spec = { serviceAccountName: 'robot', nodeName: 'node', containers: [container] }
  const pod = client.put<OperatorPod>({ apiVersion: 'v1', kind: 'Pod', metadata, spec })
  const seen = Promise.withResolvers<ContainerStatus>()
  client.after = ({ verb }) => {
    if (verb !== 'status') return
    const { status } = client.peek<OperatorPod>('Pod', keyOf(metadata)) ?? {}
    const [container] = (status?.['containerStatuses'] ?? []) as ContainerStatus[]
    if (container !== undefined && onStatus(container)) seen.resolve(container)
  }
  const answer = { status: 201, text: JSON.stringify({ status: { token: 'secret' } }) }
  const run = new PodRun(
    {
      client,
      clock,
      controlPlane: { kubeconfigYaml: 'users: [{ name: admin }]', request: () => Promise.resolve(answer) },
      imageOf: () => ({ entrypoint: argv }),
      watchdog,
      folder,
      log: fakeLog(),
      restartBaseMs: BASE_MS,
      onLine: () => undefined,
    },
    pod,
  )
  begun = { run, over: run.run() }
  return seen.promise
}

/** Serves the given status codes in order at the address of the pod, then the last one again and again. `served` counts the responses. */
async function serve(codes: readonly number[]): Promise<{ port: number; served: () => number }> {
  let served = 0
  const listening = createServer((_request, response) => {
    response.writeHead(codes[Math.min(served, codes.length - 1)] ?? 500).end()
    served += 1
  })
  server = listening
  const address = addressOf({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'operator-1', uid: 'uid-1' } })
  await new Promise<void>((resolve) => listening.listen(0, address, resolve))
  return { port: (listening.address() as AddressInfo).port, served: () => served }
}

describe('the container of an operator pod', () => {
  it('is started again, each time after twice the wait, and at most after five minutes', async () => {
    const status = await until(['sh', '-c', 'exit 3'], {}, ({ restartCount }) => restartCount === 7)
    expect(status.state.waiting?.reason).toBe('CrashLoopBackOff')
    expect(status.lastState.terminated).toMatchObject({ exitCode: 3, reason: 'Error' })
    expect(waits.slice(0, 6)).toEqual([10_000, 20_000, 40_000, 80_000, 160_000, 5 * MINUTE_MS])
  })

  it('that does not exist as a program is started again too', async () => {
    const status = await until(['/no/such/program'], {}, ({ restartCount }) => restartCount === 1)
    expect(status.lastState.terminated).toMatchObject({ exitCode: 127 })
  })

  it('whose liveness probe fails so many times in a row is ended and started again, and no sooner', async () => {
    const { port, served } = await serve([200, 500, 500, 200, 500, 500, 500, 200])
    const httpGet = { path: '/healthz', port }
    const livenessProbe = { httpGet, periodSeconds: 1, failureThreshold: 3, timeoutSeconds: 60 }
    const { lastState } = await until(RUNS_ON, { livenessProbe }, ({ restartCount }) => restartCount === 1)
    expect(lastState.terminated).toMatchObject({ exitCode: 143, reason: 'Error' })
    expect(served()).toBeGreaterThanOrEqual(7)
  })

  it('is ready while its readiness probe says so', async () => {
    const { port } = await serve([500, 200, 500, 200])
    const httpGet = { path: '/readyz', port }
    const readinessProbe = { httpGet, periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 60 }
    const ready: boolean[] = []
    await until(RUNS_ON, { readinessProbe }, (status) => {
      if (ready.at(-1) !== status.ready) ready.push(status.ready)
      return ready.length === 4
    })
    expect(ready).toEqual([false, true, false, true])
  })

  it('runs on, and is not ready, if its probes ask at a port that it does not have', async () => {
    const probe = { httpGet: { path: '/healthz', port: 'none' } }
    const ready: boolean[] = []
    const { lastState } = await until(
      ['sh', '-c', 'sleep 0.2; exit 3'],
      { livenessProbe: probe, readinessProbe: probe },
      (status) => {
        ready.push(status.ready)
        return status.restartCount === 1
      },
    )
    expect(lastState.terminated).toMatchObject({ exitCode: 3 })
    expect(ready).not.toContain(true)
  })
})
