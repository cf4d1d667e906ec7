import { runBareMachines } from '../bare-machines.ts'
import { atMost, type Chapter, type Figure } from '../figure.ts'
import { requestTable } from '../request-table.ts'
import { readsIn, total } from '../requests.ts'
import { LIMIT, type Memory, memoryOf, type Span, sceneOn } from '../scene.ts'
import { Stage } from '../stage.ts'

export interface MachineLoad {
  readonly machines: number
  /** Images of the machines. Each is in its own namespace, with its machines. */
  readonly images: number
  readonly runs: number
}

/** Result of one run. */
interface MachineRun extends Span, Memory {
  /** Until the same number of machines runs that a bare client created. */
  readonly bareSeconds: number
}

const TIMEOUT_MS = 60_000
const EACH_TIMEOUT_MS = 2_000

/** Measures many machines that are created at once, of images that exist. */
export async function measureMachines(loads: readonly MachineLoad[], tell: (line: string) => void): Promise<Chapter> {
  const measured: { readonly load: MachineLoad; readonly runs: readonly MachineRun[] }[] = []
  for (const load of loads) measured.push({ load, runs: await measureLoad(load, tell) })
  return {
    title: 'Virtual machines',
    method:
      'A new control plane for each run. The images are Succeeded, each in a namespace of its own, and the operator has come to rest; then machines are created beside them, 16 requests ' +
      'at a time. They are Ready when their guests run, as far as the simulated KubeVirt says. Requests and processor time are those of the operator from the first create request until it ' +
      'has come to rest again: clones, machines of KubeVirt, status, Events, and what it writes about the images. Then the operator ends, and a bare client creates as many machines again: the same clones, ' +
      'Secrets and machines of KubeVirt, 16 requests at a time. What it waits for is what the simulators take by themselves.',
    figures: measured.flatMap(({ load, runs }) => figuresOf(load, runs)),
    tables: measured.map(({ load, runs }) => tableOf(load, runs)),
  }
}

async function measureLoad(load: MachineLoad, tell: (line: string) => void): Promise<MachineRun[]> {
  const runs: MachineRun[] = []
  for (let run = 1; run <= load.runs; run += 1) {
    const one = await oneRun(load)
    runs.push(one)
    const [each, cpu] = [total(one.requests), one.cpu * 1_000].map((sum) => (sum / load.machines).toFixed(2))
    tell(
      `${load.machines} machines, run ${run}: all Ready in ${one.seconds.toFixed(1)} s (those of a bare client in ${one.bareSeconds.toFixed(1)} s), ${each} requests and ${cpu} ms of processor time for each, ` +
        `${one.residentMb.toFixed(1)} MB`,
    )
  }
  return runs
}

async function oneRun({ machines, images }: MachineLoad): Promise<MachineRun> {
  await using stage = await Stage.start({ policy: { concurrency: String(LIMIT) }, spread: images })
  const { observer, operator, span } = await sceneOn(stage, images)
  const timeoutMs = TIMEOUT_MS + machines * EACH_TIMEOUT_MS
  const made = await span(
    () => stage.createMachines('machine', machines, (at) => `image-${at % images}`),
    () => observer.until('every machine is Ready', () => observer.readyMachines.size === machines, timeoutMs),
  )
  const memory = await memoryOf(operator)
  await operator.terminate()
  const bareSeconds = await runBareMachines(stage.client, machines, timeoutMs)
  return { ...made, ...memory, bareSeconds }
}

function figuresOf({ machines, images }: MachineLoad, runs: readonly MachineRun[]): Figure[] {
  const who = nameOf({ machines, images })
  const figure = (title: string, of: (run: MachineRun) => number, more: Omit<Figure, 'title' | 'values'>): Figure => ({
    title: `${who}: ${title}`,
    values: runs.map(of),
    ...more,
  })
  const perMachine = { unit: '1/machine', digits: 2 }
  const seconds = { unit: 's', digits: 1 }
  const megabytes = { unit: 'MB', digits: 1 }
  return [
    figure('API requests', ({ requests }) => total(requests) / machines, { ...perMachine, target: atMost(12) }),
    figure('of these, reads', ({ requests }) => total(readsIn(requests)) / machines, perMachine),
    figure('all Ready / all run that a bare client creates', (run) => run.seconds / run.bareSeconds, {
      unit: '',
      digits: 2,
    }),
    figure('all Ready', (run) => run.seconds, seconds),
    figure('all run that a bare client creates', (run) => run.bareSeconds, seconds),
    figure('processor time of the operator, user and system', (run) => (run.cpu * 1_000) / machines, {
      unit: 'ms/machine',
      digits: 1,
    }),
    figure('processor time of the simulators', (run) => run.simulatorsCpu, seconds),
    figure('resident memory at the end', (run) => run.residentMb, { ...megabytes, target: atMost(160, 'MB') }),
    figure('the most that was resident', (run) => run.peakMb, megabytes),
  ]
}

function tableOf({ machines, images }: MachineLoad, runs: readonly MachineRun[]) {
  const table = requestTable(
    runs.map(({ requests }) => requests),
    { count: machines, of: 'machine' },
  )
  return { ...table, title: `${table.title}: ${nameOf({ machines, images })}` }
}

function nameOf({ machines, images }: Pick<MachineLoad, 'machines' | 'images'>): string {
  return `${machines.toLocaleString('en')} machines of ${images === 1 ? 'one image' : `${images} images`}`
}
