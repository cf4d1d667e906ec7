import { join } from 'node:path'
import { commandOptions } from '../command-options.ts'
import { FAILING, REFRESHED } from './cast.ts'
import { check } from './checks.ts'
import { type Display, openDisplay } from './display.ts'
import type { Check } from './evidence.ts'
import { OperatorProcess } from './operator-process.ts'
import { summaryLines } from './plain-lines.ts'
import { type Acts, createImages, play, setStage } from './scenes.ts'
import { openTheatre, sentBy, type Theatre } from './theatre.ts'

/** A run usually takes a minute or two. This limit is for runs that hang, on any machine. */
const DEFAULT_TIMEOUT_SECONDS = 1_200
const REPEATED_SIGNAL_MS = 1_000
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

const USAGE = `usage: npm run demo -- [--keep] [--timeout SECONDS]
  Syncs twenty disk images, stands up a virtual machine, preloads a release and has a whole lab come and go through the real
  operator, with trouble on the way, and checks what came of it.
  --keep             leaves the cluster up afterwards, for kubectl, until Ctrl-C
  --timeout SECONDS  gives up after so long (default: ${DEFAULT_TIMEOUT_SECONDS})
`

const values = commandOptions(USAGE, {
  keep: { type: 'boolean', default: false },
  timeout: { type: 'string', default: String(DEFAULT_TIMEOUT_SECONDS) },
})

/** Why the demo ends early. */
class Ended extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode: number) {
    super(message)
    this.exitCode = exitCode
  }
}

process.exitCode = await run().catch((error: unknown) => {
  const isExpected = error instanceof Ended
  process.stderr.write(`${isExpected ? error.message : error instanceof Error ? error.stack : String(error)}\n`)
  return isExpected ? error.exitCode : 1
})

async function run(): Promise<number> {
  process.stdout.write('Starting a Kubernetes control plane on this machine ...\n')
  const ending = new AbortController()
  await using stack = new AsyncDisposableStack()
  // Until the cluster is up, a signal ends us at once, and the watchdog of the cluster cleans up.
  const theatre = await openTheatre(stack, () => endOnSignal(ending))
  ending.signal.throwIfAborted()
  const display = openDisplay(theatre.observer, theatre.cast)
  stack.defer(() => display.close())
  const isGood = await perform(theatre, display, ending, stack)
  // A signal may have arrived while the operator was stopping.
  ending.signal.throwIfAborted()
  if (values.keep) await keep(theatre, ending, stack)
  return isGood ? 0 : 1
}

/** Runs the demo itself, from the empty cluster to the summary. */
async function perform(
  theatre: Theatre,
  display: Display,
  ending: AbortController,
  stack: AsyncDisposableStack,
): Promise<boolean> {
  const { client, observer, cast, cluster, transfers, imageServer, releaseDownloads } = theatre
  const stage = { client, observer, cast, signal: ending.signal, say: display.say, releaseDownloads }
  const retryLimit = await setStage(stage)
  const operator = startOperator(theatre, ending, stack)
  display.say(`started the operator, a process of its own; its log: ${operator.logFile}`)
  const stopClock = endAfter(Number(values.timeout), ending, () => observer.pending)
  let acts: Acts
  try {
    await createImages(stage)
    acts = await play(stage, retryLimit)
  } catch (error) {
    display.close()
    if (!(error instanceof Ended) || error.exitCode === 1) await showLog(operator)
    throw error
  } finally {
    stopClock()
  }
  ending.signal.throwIfAborted()
  display.say('all scenes are over: stopping the operator with SIGTERM')
  const end = await operator.stop()
  display.close()
  const mostOpen = imageServer.stats().maxOpen
  const evidence = {
    journal: observer.journal(),
    cast,
    acts,
    sent: sentBy(theatre),
    mostOpen,
    transfers,
    operator: end,
  }
  const isGood = summarize(check(evidence), cluster.foreign.source)
  if (!isGood) await showLog(operator)
  return isGood
}

function startOperator({ cluster }: Theatre, ending: AbortController, stack: AsyncDisposableStack): OperatorProcess {
  const { kubeconfigPath, directory } = cluster.controlPlane
  const operator = new OperatorProcess(kubeconfigPath, join(directory, 'operator.log'), ({ code, signal }) => {
    ending.abort(new Ended(`the operator ended by itself, with ${signal ?? `exit code ${code}`}`, 1))
  })
  stack.defer(async () => {
    await operator.stop()
  })
  return operator
}

/** Prints the table and the names of the checks that failed. */
function summarize(checks: readonly Check[], foreignCrds: string): boolean {
  const failed = checks.filter(({ held }) => !held).map(({ name }) => name)
  const lines = summaryLines(checks, process.stdout.columns ?? 160)
  const crds = `CRDs of CDI, KubeVirt and snapshots: ${foreignCrds === 'real' ? 'the real ones' : 'our small ones'}`
  const verdict =
    failed.length === 0 ? `All ${checks.length} checks held.` : `${failed.length} failed: ${failed.join(', ')}`
  process.stdout.write(`\n${[...lines, '', crds, verdict].join('\n')}\n`)
  return failed.length === 0
}

async function showLog(operator: OperatorProcess): Promise<void> {
  const lines = await operator.logTail()
  process.stdout.write(`\nThe last lines of the operator's log:\n${lines.map((line) => `  ${line}`).join('\n')}\n`)
}

/** Keeps everything up, with an operator, until a signal arrives. */
async function keep(theatre: Theatre, ending: AbortController, stack: AsyncDisposableStack): Promise<void> {
  const { kubeconfigPath } = theatre.cluster.controlPlane
  const { logFile } = startOperator(theatre, ending, stack)
  process.stdout.write(
    [
      '',
      'The cluster stays up, and the operator runs again. In another terminal:',
      '',
      `  export KUBECONFIG=${kubeconfigPath}`,
      '  kubectl get vmdi -o wide',
      '  kubectl apply -f examples/lab-machine.yaml && kubectl get otvm -w',
      '  kubectl apply -f examples/workspace.yaml && kubectl get otws -w',
      `  kubectl describe vmdi ${FAILING}`,
      `  kubectl annotate vmdi ${REFRESHED} pelotech.ot/sync-requested-at="$(date)" --overwrite`,
      '  kubectl -n sync-operator patch configmap sync-operator-policy --type merge -p \'{"data":{"concurrency":"1"}}\'',
      '  kubectl -n sync-operator get configmap sync-operator-slots -o yaml',
      '',
      `Any image URL downloads from the sandbox. The operator's log: ${logFile}`,
      'Ctrl-C ends it.',
      '',
    ].join('\n'),
  )
  const ended = await new Promise<unknown>((resolve) => {
    // An unsettled promise does not keep a process alive, but a timer does.
    const alive = setInterval(() => {}, 60_000)
    ending.signal.addEventListener('abort', () => {
      clearInterval(alive)
      resolve(ending.signal.reason)
    })
  })
  if (ended instanceof Ended && ended.exitCode === 1) throw ended
  process.stdout.write('stopping\n')
}

/** The first signal ends the demo gracefully. A later one ends it at once, and watchdogs clean up. */
function endOnSignal(ending: AbortController): void {
  let firstAt: number | undefined
  for (const [name, exitCode] of Object.entries(SIGNALS)) {
    process.on(name, () => {
      firstAt ??= performance.now()
      // One Ctrl-C can arrive twice: from the terminal, and forwarded by the process that started us.
      if (performance.now() - firstAt > REPEATED_SIGNAL_MS) process.exit(exitCode)
      ending.abort(new Ended(`${name}: stopping`, exitCode))
    })
  }
}

/** Gives up after `seconds`, and reports what is still pending. Returns a function that cancels the timeout. */
function endAfter(seconds: number, ending: AbortController, pending: () => readonly string[]): () => void {
  const timer = setTimeout(() => {
    const what = pending().map((one) => `\n  ${one}`)
    ending.abort(new Ended(`not finished after ${seconds} s; still waited for:${what.join('')}`, 1))
  }, seconds * 1_000)
  return () => clearTimeout(timer)
}
