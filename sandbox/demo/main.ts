import { join } from 'node:path'
import { commandOptions } from '../command-options.ts'
import { FAILING, MACHINE_NAME, REFRESHED, WORKSPACE_NAME } from './cast.ts'
import { check } from './checks.ts'
import { type Display, openDisplay } from './display.ts'
import type { Check } from './evidence.ts'
import { OperatorProcess } from './operator-process.ts'
import { summaryLines } from './plain-lines.ts'
import { Recorder } from './recorder.ts'
import { type Acts, createImages, createToLookAt, play, setStage } from './scenes.ts'
import { openTheatre, sentBy, type Theatre } from './theatre.ts'

/** A run usually takes a minute or two. This limit is for runs that hang, on any machine. */
const DEFAULT_TIMEOUT_SECONDS = 1_200
/** Wide enough that no line of the summary is wrapped. */
const ONE_LINE = 10_000
const REPEATED_SIGNAL_MS = 1_000
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

const USAGE = `usage: npm run demo -- [--keep] [--timeout SECONDS] [--record FILE]
  Syncs twenty disk images, stands up a virtual machine, preloads a release and has a whole lab come and go through the real
  operator, with trouble on the way, and checks what came of it.
  --keep             leaves the cluster up afterwards, for kubectl, until Ctrl-C
  --timeout SECONDS  gives up after so long (default: ${DEFAULT_TIMEOUT_SECONDS})
  --record FILE      writes what a terminal would have shown to a new file, from which npm run recording draws docs/demo.svg
`

/** Words that people may lack, each said before it is used. */
const WORDS = `
An image is a disk that machines start from. It is downloaded once; each machine has a clone of it.
A revision is what spec and source of an image are at one time. A changed spec, or a refresh, makes a new one.
A slot is the right to download one image. The policy says how many there are.
A ticket is a place in the queue for slots. The earliest ticket is the next.
A lab has machines, containers, networks and volumes of its own. It is one object, a Workspace.

`

const NEXT = `
What to try next:
  npm run demo -- --keep    the same, and a cluster with a machine and a lab to look at
  npm run sandbox           an empty cluster like this one, for your own objects: docs/sandbox.md
  npm test                  the quick tests
A lab of your own: docs/authoring/first-day.md. On a real cluster: docs/installation.md
`

const values = commandOptions(USAGE, {
  keep: { type: 'boolean', default: false },
  timeout: { type: 'string', default: String(DEFAULT_TIMEOUT_SECONDS) },
  record: { type: 'string' },
})
const recorder = values.record === undefined ? undefined : new Recorder()

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
  process.stdout.write(WORDS)
  const display = openDisplay(theatre.observer, theatre.cast, recorder)
  stack.defer(() => display.close())
  const isGood = await perform(theatre, display, ending, stack)
  // A signal may have arrived while the operator was stopping.
  ending.signal.throwIfAborted()
  if (values.keep) await keep(theatre, ending, stack)
  else if (isGood) process.stdout.write(NEXT)
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
  const stage = {
    client,
    observer,
    cast,
    signal: ending.signal,
    say: display.say,
    pause: display.pause,
    releaseDownloads,
  }
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
  if (values.record !== undefined) recorder?.write(values.record, [...summaryLines(checks, ONE_LINE), '', verdict])
  process.stdout.write(`\n${[...lines, '', crds, verdict].join('\n')}\n`)
  return failed.length === 0
}

async function showLog(operator: OperatorProcess): Promise<void> {
  const lines = await operator.logTail()
  process.stdout.write(`\nThe last lines of the operator's log:\n${lines.map((line) => `  ${line}`).join('\n')}\n`)
}

/** Keeps everything up, with an operator, a machine and a lab, until a signal arrives. */
async function keep(theatre: Theatre, ending: AbortController, stack: AsyncDisposableStack): Promise<void> {
  const { kubeconfigPath } = theatre.cluster.controlPlane
  const { logFile } = startOperator(theatre, ending, stack)
  await createToLookAt(theatre)
  process.stdout.write(
    [
      '',
      `The cluster stays up, and the operator runs again. VirtualMachine ${MACHINE_NAME} and Workspace ${WORKSPACE_NAME}`,
      'are there again: both are Ready in half a minute. In another terminal, in this folder:',
      '',
      `export KUBECONFIG=${kubeconfigPath}`,
      'npm run -s ot -- queue',
      `npm run -s ot -- why vmdi/${FAILING}`,
      `npm run -s ot -- tree ${WORKSPACE_NAME}`,
      'npm run -s ot -- ui',
      '',
      'With kubectl:',
      '',
      'kubectl get vmdi,otvm,otws -A',
      `kubectl describe otws ${WORKSPACE_NAME}`,
      `kubectl annotate vmdi ${REFRESHED} pelotech.ot/sync-requested-at="$(date -u +%FT%TZ)" --overwrite`,
      'kubectl -n sync-operator patch configmap sync-operator-policy --type merge -p \'{"data":{"concurrency":"1"}}\'',
      'kubectl -n sync-operator get configmap sync-operator-slots -o yaml',
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
