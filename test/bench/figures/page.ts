import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Browser, Page } from 'playwright-core'
import { IMAGE } from '../../../operator/controllers/vm-disk-image/caches.ts'
import { WORKSPACE } from '../../../operator/controllers/workspace/caches.ts'
import type { KubeObject, ResourceType } from '../../../operator/kube/kube-object.ts'
import { inParallel } from '../../harness/in-parallel.ts'
import { resolveBrowser } from '../../ui/browser-package.ts'
import { launchBrowser } from '../../ui/launch-browser.ts'
import { atMost, type Chapter, RUNS } from '../figure.ts'
import { memoryOf } from '../process-stats.ts'
import { Stage } from '../stage.ts'
import { median, quotients } from '../statistics.ts'
import { stopwatch } from '../stopwatch.ts'

const OT = join(import.meta.dirname, '../../../dist/ot.mjs')
const IMAGES = 10_000
const LABS = 500
/** Changes of one lab each, one after the other. */
const CHANGES = 20

interface Run {
  /** Seconds until a bare client has read the same. */
  readonly bare: number
  /** Seconds from the start of `ot ui` to all images in the page. */
  readonly whole: number
  /** Seconds from opening a page of an `ot ui` that runs to its first words, and to all images. */
  readonly painted: number
  readonly opened: number
  /** Milliseconds from a write to when the page shows it. */
  readonly shown: number
  /** Seconds from the first of {@link LABS} writes to when the last of them has been answered where no page is open, and to when a page shows all. */
  readonly alone: number
  readonly storm: number
  /** Bytes. */
  readonly resident: number
  readonly heap: number
}

/** Measures `ot ui` as it is shipped, with a browser, where there are many objects. */
export async function measurePage(tell: (line: string) => void): Promise<Chapter> {
  await import('../../../cli/build.ts')
  const program = await resolveBrowser(tell)
  const browser = await launchBrowser(program)
  const runs: Run[] = []
  try {
    await using stage = await Stage.start({ policy: { concurrency: '0' }, spread: 8 })
    await fill(stage)
    tell(`${IMAGES} images and ${LABS} labs are there`)
    for (let run = 1; run <= RUNS; run += 1) {
      const measured = await oneRun(stage, browser, run)
      runs.push(measured)
      tell(`the page in run ${run}: ${JSON.stringify(measured)}`)
    }
  } finally {
    await browser.close()
  }
  return chapterOf(runs)
}

function chapterOf(runs: readonly Run[]): Chapter {
  const each = (of: (run: Run) => number) => runs.map(of)
  const [bare, whole, opened] = [each((one) => one.bare), each((one) => one.whole), each((one) => one.opened)]
  const seconds = (title: string, values: readonly number[]) => ({ title, unit: 's', digits: 2, values })
  const megabytes = (title: string, values: readonly number[]) => ({
    title,
    unit: 'MB',
    digits: 1,
    values: values.map((bytes) => bytes / 1e6),
  })
  return {
    title: 'The page of `ot ui`',
    method: `${IMAGES.toLocaleString('en')} images and ${LABS} labs with their statuses, on a real API server without an operator. In each of ${RUNS} runs a new process of \`dist/ot.mjs ui\`, and Chromium without a screen. Right before, another new process reads the same objects with the same HTTP client and drops them. A page counts as whole when it says how many images there are. One change is a write of the status of one lab; the figure is the median of ${CHANGES}, from sending it to the change of the page, of which the server waits for up to 250 ms to send changes together. In the storm the status of each lab is written, 16 at a time, before that without a page.`,
    figures: [
      {
        title: 'start of `ot ui` → whole page / a bare client reads the same',
        unit: '',
        digits: 2,
        values: quotients(whole, bare),
      },
      seconds('start of `ot ui` → whole page', whole),
      seconds('a bare client reads the same', bare),
      seconds(
        'a page is opened → first words',
        each((one) => one.painted),
      ),
      {
        title: 'a page is opened → whole page / a bare client reads the same',
        unit: '',
        digits: 2,
        values: quotients(opened, bare),
        target: atMost(1),
      },
      seconds('a page is opened → whole page', opened),
      { title: 'one change → shown, p50', unit: 'ms', values: each((one) => one.shown) },
      {
        title: `${LABS} changes → all shown / all written without a page`,
        unit: '',
        digits: 2,
        values: quotients(
          each((one) => one.storm),
          each((one) => one.alone),
        ),
        target: atMost(2),
      },
      seconds(
        `${LABS} changes → all shown`,
        each((one) => one.storm),
      ),
      megabytes(
        'resident memory of `ot ui`',
        each((one) => one.resident),
      ),
      megabytes(
        'heap of the page',
        each((one) => one.heap),
      ),
    ],
  }
}

async function oneRun(stage: Stage, browser: Browser, run: number): Promise<Run> {
  const alone = await writeAll(stage, `Alone${run}`)
  const { seconds: bare } = await stage.readBare()
  const sinceStart = stopwatch()
  const { child, url } = await startUi(stage.kubeconfig)
  try {
    const first = await openedPage(browser, url)
    const whole = sinceStart()
    await first.close()
    const sinceOpened = stopwatch()
    const page = await openedPage(browser, url)
    const opened = sinceOpened()
    const painted = await page.evaluate<number>(`performance.getEntriesByName('first-contentful-paint')[0].startTime`)
    await page.goto(`${page.url().split('#')[0]}#/labs`)
    await page.waitForFunction(`document.querySelectorAll('.tile').length === ${LABS}`)
    const shown: number[] = []
    for (let at = 0; at < CHANGES; at += 1) shown.push(await oneChange(stage, page, `Change${run}x${at}`))
    const storm = await stormOf(stage, page, `Storm${run}`)
    const session = await page.context().newCDPSession(page)
    await session.send('HeapProfiler.collectGarbage')
    const { usedSize } = (await session.send('Runtime.getHeapUsage')) as { readonly usedSize: number }
    const { resident } = await memoryOf(child.pid ?? 0)
    await page.close()
    return {
      bare,
      whole,
      painted: painted / 1_000,
      opened,
      shown: median(shown),
      alone,
      storm,
      resident,
      heap: usedSize,
    }
  } finally {
    child.kill('SIGINT')
    await once(child, 'exit')
  }
}

async function startUi(kubeconfig: string): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const child = spawn(process.execPath, [OT, '--kubeconfig', kubeconfig, 'ui'], { stdio: ['ignore', 'pipe', 'ignore'] })
  const [url] = (await once(createInterface(child.stdout), 'line')) as [string]
  return { child, url }
}

/** Returns a page that shows all images. */
async function openedPage(browser: Browser, url: string): Promise<Page> {
  // A context of its own keeps nothing of the pages before.
  const context = await browser.newContext({ viewport: { width: 1_280, height: 800 } })
  const page = await context.newPage()
  await page.goto(url)
  await page.evaluate(`location.hash = '#/images'`)
  await page.getByText(`${IMAGES} in all`).waitFor()
  return page
}

/** Runs in the page. Resolves with the time of day at which it has a text so often. */
const WHEN_SHOWN = `(wanted, count) => new Promise((resolve) => {
  const look = () => {
    const times = document.querySelector('main').textContent.split(wanted).length - 1
    if (times < count) return
    observer.disconnect()
    resolve(Date.now())
  }
  const observer = new MutationObserver(look)
  observer.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true })
  look()
})`

function whenShown(page: Page, text: string, times: number): Promise<number> {
  return page.evaluate(`(${WHEN_SHOWN})(${JSON.stringify(text)}, ${times})`)
}

async function oneChange(stage: Stage, page: Page, reason: string): Promise<number> {
  const seen = whenShown(page, reason, 1)
  const startedAt = Date.now()
  await writeStatus(stage, WORKSPACE, { name: 'lab-7' }, labStatus('Provisioning', reason))
  return (await seen) - startedAt
}

async function stormOf(stage: Stage, page: Page, reason: string): Promise<number> {
  const since = stopwatch()
  const seen = whenShown(page, reason, LABS).then(since)
  await writeAll(stage, reason)
  return await seen
}

/** Returns in how many seconds the status of every lab was written. */
async function writeAll(stage: Stage, reason: string): Promise<number> {
  const since = stopwatch()
  await inParallel(LABS, (at) =>
    writeStatus(stage, WORKSPACE, { name: `lab-${at}` }, labStatus('Provisioning', reason)),
  )
  return since()
}

async function fill(stage: Stage): Promise<void> {
  await inParallel(IMAGES, async (at) => {
    const created = await stage.client.create(IMAGE, stage.image(`image-${at}`, at))
    await stage.client.replaceStatus(IMAGE, withStatus(created, imageStatus()))
  })
  await stage.createWorkspaces('lab', LABS, () => 'image-0')
  await inParallel(LABS, (at) => writeStatus(stage, WORKSPACE, { name: `lab-${at}` }, labStatus('Ready', 'Ready')))
}

async function writeStatus(
  { client }: Stage,
  type: ResourceType,
  key: { readonly name: string },
  status: object,
): Promise<void> {
  await client.replaceStatus(type, withStatus(await client.get(type, key), status))
}

function withStatus(object: KubeObject, status: object): KubeObject {
  return { ...object, status } as KubeObject
}

function imageStatus(): object {
  const message = 'VolumeSnapshot image-0123abcd can be cloned'
  return {
    observedGeneration: 1,
    phase: 'Succeeded',
    reason: 'Synced',
    message,
    conditions: [ready('True', 'Synced', message)],
  }
}

function labStatus(phase: string, reason: string): object {
  const message = '11/11 components are ready'
  return {
    observedGeneration: 1,
    phase,
    reason,
    message,
    ready: '11/11',
    conditions: [ready('False', 'Synced', message)],
  }
}

function ready(status: string, reason: string, message: string): object {
  return { type: 'Ready', status, reason, message, lastTransitionTime: '2026-01-01T00:00:00Z', observedGeneration: 1 }
}
