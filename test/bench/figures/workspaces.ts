import { modelOf, runBareWorkspaces } from '../bare-workspaces.ts'
import { atMost, type Chapter, type Figure } from '../figure.ts'
import { requestTable } from '../request-table.ts'
import { total } from '../requests.ts'
import { LIMIT, type Memory, memoryOf, type Span, sceneOn } from '../scene.ts'
import { Stage } from '../stage.ts'

export interface WorkspaceLoad {
  readonly workspaces: number
  readonly runs: number
}

interface WorkspaceRun extends Memory {
  /** The same machines, created one by one. */
  readonly machines: Span
  readonly made: Span
  readonly removed: Span
  /** Number of components of one workspace, from its status. */
  readonly components: number
  readonly bareSeconds: number
}

const IMAGES = 10
const MACHINES_EACH = 2
const EACH_TIMEOUT_MS = 10_000
const MODEL = 'model-of-all'
const STAGE = { policy: { concurrency: String(LIMIT), imageNamespace: 'images-0' } }

/** Measures many workspaces that are created at once, of images that exist; then the deletion of all. */
export async function measureWorkspaces(load: WorkspaceLoad, tell: (line: string) => void): Promise<Chapter> {
  const { workspaces } = load
  const runs: WorkspaceRun[] = []
  for (let run = 1; run <= load.runs; run += 1) {
    const one = await oneRun(load)
    runs.push(one)
    tell(
      `${workspaces} workspaces of ${one.components} components, run ${run}: all Ready in ${one.made.seconds.toFixed(1)} s (those of a bare client in ${one.bareSeconds.toFixed(1)} s), ` +
        `${perComponent(one, workspaces).toFixed(2)} requests for each component beside those of the machines, ${one.residentMb.toFixed(1)} MB, all gone in ${one.removed.seconds.toFixed(1)} s`,
    )
  }
  const figure = (title: string, of: (run: WorkspaceRun) => number, more: Omit<Figure, 'title' | 'values'>): Figure => {
    return { title, values: runs.map(of), ...more }
  }
  const seconds = { unit: 's', digits: 1 }
  const megabytes = { unit: 'MB', digits: 1 }
  const each = (of: number, { components }: WorkspaceRun) => of / (components * workspaces)
  return {
    title: `${workspaces} workspaces`,
    method:
      'A new control plane for each run. Ten images are Succeeded, and the operator has come to rest. Then workspaces are created, 16 requests at a time, each with two machines, two container ' +
      'clusters, two networks, two volumes and roles for Ansible. Until all are Ready, as far as the simulated KubeVirt, nodes and storage say, and the operator has come to rest again; then all are deleted, until nothing is left of them. ' +
      'What their machines cost is measured on another control plane, where as many are created by hand, and subtracted. At the end, without an operator, a bare client creates as many ' +
      'workspaces again, object by object. What it waits for is what the simulators take by themselves.',
    figures: [
      figure('API requests, without those of the machines', (run) => perComponent(run, workspaces), {
        unit: '1/component',
        digits: 2,
        target: atMost(6),
      }),
      figure('all Ready / all run that a bare client creates', (run) => run.made.seconds / run.bareSeconds, {
        unit: '',
        digits: 2,
      }),
      figure('all Ready', (run) => run.made.seconds, seconds),
      figure('all run that a bare client creates', (run) => run.bareSeconds, seconds),
      figure('processor time of the operator', (run) => each(run.made.cpu * 1_000, run), {
        unit: 'ms/component',
        digits: 1,
      }),
      figure('resident memory', (run) => run.residentMb, { ...megabytes, target: atMost(160, 'MB') }),
      figure('the most that was resident', (run) => run.peakMb, megabytes),
      figure('deleted: all gone', (run) => run.removed.seconds, seconds),
      figure('deleted: API requests', (run) => each(total(run.removed.requests), run), {
        unit: '1/component',
        digits: 2,
      }),
    ],
    tables: [
      requestTable(
        runs.map(({ made }) => made.requests),
        { count: workspaces, of: 'workspace' },
      ),
    ],
  }
}

function perComponent({ made, machines, components }: WorkspaceRun, workspaces: number): number {
  return (total(made.requests) - total(machines.requests)) / (components * workspaces)
}

async function oneRun({ workspaces }: WorkspaceLoad): Promise<WorkspaceRun> {
  const machines = await machinesAlone(workspaces * MACHINES_EACH)
  await using stage = await Stage.start(STAGE)
  const { observer, operator, span } = await sceneOn(stage, IMAGES)
  const timeoutMs = workspaces * EACH_TIMEOUT_MS
  await stage.createWorkspace(MODEL, imageAt(0))
  await observer.until('a workspace', () => observer.workspaces.get(MODEL)?.phase === 'Ready', timeoutMs)
  const models = await modelOf(stage.client, MODEL)
  const components = observer.workspaces.get(MODEL)?.total ?? 0
  const countReady = () => [...observer.workspaces.values()].filter(({ phase }) => phase === 'Ready').length
  const made = await span(
    () => stage.createWorkspaces('lab', workspaces, imageAt),
    () => observer.until('all workspaces', () => countReady() === workspaces + 1, timeoutMs),
  )
  const memory = await memoryOf(operator)
  const removed = await span(
    () => stage.deleteWorkspaces('lab', workspaces),
    () => observer.until('that all are gone', () => observer.workspaces.size === 1, timeoutMs),
  )
  await operator.terminate()
  const bare = { workspace: MODEL, models, count: workspaces, timeoutMs }
  return {
    machines,
    made,
    removed,
    components,
    bareSeconds: await runBareWorkspaces(stage.client, bare),
    ...memory,
  }
}

async function machinesAlone(count: number): Promise<Span> {
  await using stage = await Stage.start(STAGE)
  const { observer, span } = await sceneOn(stage, IMAGES)
  return await span(
    () => stage.createMachines('machine', count, imageAt),
    () => observer.until('all machines', () => observer.readyMachines.size === count, count * EACH_TIMEOUT_MS),
  )
}

const imageAt = (at: number) => `image-${at % IMAGES}`
