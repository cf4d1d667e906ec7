import { type Chapter, type Figure, RUNS } from '../figure.ts'
import { requestTable } from '../request-table.ts'
import { total, writesIn } from '../requests.ts'
import { LIMIT, type Span, sceneOn } from '../scene.ts'
import { Stage } from '../stage.ts'

/** A class. */
const LABS = 40
const IMAGES = 10
const TIMEOUT_MS = 400_000
const STAGE = { policy: { concurrency: String(LIMIT), imageNamespace: 'images-0' } }

interface SwitchedRun {
  readonly made: Span
  readonly off: Span
  readonly on: Span
}

/** Measures a class that is switched off as a whole, and on again. */
export async function measureSwitched(tell: (line: string) => void): Promise<Chapter> {
  const runs: SwitchedRun[] = []
  for (let run = 1; run <= RUNS; run += 1) {
    const { made, off, on } = await oneRun()
    runs.push({ made, off, on })
    const seconds = [made, off, on].map((span) => span.seconds.toFixed(1))
    tell(
      `${LABS} labs, run ${run}: all Ready in ${seconds[0]} s, all off in ${seconds[1]} s, all on in ${seconds[2]} s`,
    )
  }
  const figure = (title: string, of: (run: SwitchedRun) => number, more: Omit<Figure, 'title' | 'values'>): Figure => {
    return { title, values: runs.map(of), ...more }
  }
  const ratio = { unit: '', digits: 2 }
  const perLab = { unit: '1/lab', digits: 1 }
  const seconds = { unit: 's', digits: 1 }
  const each = (requests: Span['requests']) => total(requests) / LABS
  return {
    title: `${LABS} labs switched off and on`,
    method:
      'A new control plane for each run. Labs of two machines, two container clusters, two networks and two volumes are created. When all are Ready, spec.powerState of all is set to Halted, 16 requests ' +
      'at a time, until all say that they are off; and then to Running, until all are Ready again. Guests and pods stop and start as fast as the simulators do. Each is measured until the operator has ' +
      'come to rest. The ratios are to the time and the requests of making the labs in the same run.',
    figures: [
      figure('all off / all made', ({ off, made }) => off.seconds / made.seconds, ratio),
      figure('all on / all made', ({ on, made }) => on.seconds / made.seconds, ratio),
      figure('all off', ({ off }) => off.seconds, seconds),
      figure('all on', ({ on }) => on.seconds, seconds),
      figure('switched off: API requests', ({ off }) => each(off.requests), perLab),
      figure('switched off: writes', ({ off }) => each(writesIn(off.requests)), perLab),
      figure('switched on: API requests', ({ on }) => each(on.requests), perLab),
      figure('switched on: writes', ({ on }) => each(writesIn(on.requests)), perLab),
      figure(
        'off and on: writes / writes of making',
        ({ off, on, made }) =>
          (total(writesIn(off.requests)) + total(writesIn(on.requests))) / total(writesIn(made.requests)),
        ratio,
      ),
    ],
    tables: [
      requestTable(
        runs.map(
          ({ off, on }) => new Map([...off.requests, ...on.requests].map(([kind]) => [kind, countOf(kind, off, on)])),
        ),
        { count: LABS, of: 'lab' },
      ),
    ],
  }
}

function countOf(kind: string, ...spans: readonly Span[]): number {
  return spans.reduce((sum, { requests }) => sum + (requests.get(kind) ?? 0), 0)
}

async function oneRun(): Promise<SwitchedRun> {
  await using stage = await Stage.start(STAGE)
  const { observer, span } = await sceneOn(stage, IMAGES)
  const until = (what: string, isOff: boolean) => () => {
    const all = () => [...observer.workspaces.values()]
    const isSo = () => all().filter(({ phase, reason }) => phase === 'Ready' && (reason === 'Halted') === isOff)
    return observer.until(what, () => isSo().length === LABS, TIMEOUT_MS)
  }
  const made = await span(
    () => stage.createWorkspaces('lab', LABS, (at) => `image-${at % IMAGES}`),
    until('all labs', false),
  )
  const off = await span(() => stage.switchWorkspaces('lab', LABS, 'Halted'), until('that all are off', true))
  const on = await span(() => stage.switchWorkspaces('lab', LABS, 'Running'), until('that all are on', false))
  return { made, off, on }
}
