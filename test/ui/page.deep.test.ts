import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import type { RunningPage } from '../../cli/ui/page-server.ts'
import { openPage } from '../../cli/ui/show-ui.ts'
import { systemClock } from '../../operator/base/clock.ts'
import { ScriptedClient } from '../prepared/kube/scripted-client.ts'
import { FAILED, HOSTILE, putImage, putLab, putMachine, putWarning, READY } from './class-of-labs.ts'
import { launchBrowser, newPage } from './launch-browser.ts'

const program = inject('browser')
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
const QUEUED = { phase: 'Queued', reason: 'Queued', message: 'waits for a slot: all 2 are in use' }
const SYNCING = { phase: 'Syncing', reason: 'Downloading', message: 'is downloaded' }
const SUCCEEDED = { phase: 'Succeeded', reason: 'Succeeded', message: 'can be cloned' }

/** Returns the address that stays when the token is gone from it. */
function baseOf({ url }: RunningPage): string {
  return new URL('.', url).href
}

/** What a browser reports that must not be: errors, refusals of its security policy, and requests to others. */
interface Complaints {
  readonly list: string[]
}

describe.skipIf(program === undefined)('the page of ot ui', () => {
  let browser: Browser
  let client: ScriptedClient
  let served: RunningPage
  let stopping: AbortController
  let complaints: Complaints

  beforeAll(async () => {
    if (typeof program === 'string') throw new Error(program)
    if (program !== undefined) browser = await launchBrowser(program)
  })
  afterAll(() => browser?.close())
  afterEach(async () => {
    stopping.abort()
    await served.close()
    expect(complaints.list).toEqual([])
  })

  /** Opens the page of a cluster, which `fill` fills before. */
  async function opened(fill: () => void, hash = '#/labs'): Promise<Page> {
    client = new ScriptedClient()
    fill()
    stopping = new AbortController()
    served = await openPage(
      { client, clock: systemClock },
      { port: 0, operatorNamespace: 'sync-operator' },
      stopping.signal,
    )
    const base = baseOf(served)
    const page = await newPage(browser, { viewport: { width: 1280, height: 800 } })
    const list: string[] = []
    complaints = { list }
    page.on('pageerror', (error) => list.push(error.message))
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) list.push(message.text())
    })
    page.on('request', (request) => {
      const url = request.url()
      if (!url.startsWith(base) && !url.startsWith('data:')) list.push(`asked for ${url}`)
    })
    await page.goto(served.url)
    await page.goto(`${base}${hash}`)
    return page
  }

  it('shows the labs of a class as tiles, and what changes, by itself', async () => {
    const page = await opened(() => {
      putLab(client, 'lab-1', READY, { outdated: '1/2', warnings: 2, expiresAt: '2199-01-01T00:00:00Z' })
      putLab(client, 'lab-2', READY, { reason: 'Halted' })
    })
    await page.locator('.tile.off').waitFor()
    expect(await page.locator('.tile').allInnerTexts()).toEqual([
      expect.stringMatching(/^lab-1\n+● Ready 3\/3\n+outdated 1\/2\n+2 warnings\n+ends in \d+d$/),
      expect.stringMatching(/^lab-2\n+○ Off 3\/3\n+Halted$/),
    ])
    putLab(client, 'lab-1', { ...FAILED, message: 'image kali has failed' })
    client.drop('Workspace', 'lab-2')
    await page.locator('.tile.bad').waitFor()
    await expect.poll(() => page.locator('.tile').count()).toBe(1)
  })

  it('shows nothing that an object says as HTML', async () => {
    const page = await opened(() => {
      putLab(client, 'lab-1', FAILED, {
        waitingFor: HOSTILE,
        components: [{ kind: HOSTILE, name: HOSTILE, ...FAILED }],
      })
      putWarning(client, 'Workspace', 'lab-1', HOSTILE)
    }, '#/labs?lab=lab-1')
    await page.getByText('ImageFailed').waitFor()
    const text = await page.locator('main').innerText()
    expect(text.split(HOSTILE).length - 1).toBeGreaterThanOrEqual(4)
    expect(await page.title()).toBe('Open Terrain')
    expect(await page.locator('main img').count()).toBe(0)
  })

  it('draws a lab with the states of its members, each of which can be opened', async () => {
    const page = await opened(() => {
      putLab(client, 'lab-1', { ...FAILED, message: 'no image' })
      putMachine(client, 'lab-1', 'server')
      putWarning(client, 'Workspace', 'lab-1', 'image debian-13 has failed')
    }, '#/labs?lab=lab-1')
    const map = page.getByLabel('Map of lab-1')
    await map.waitFor()
    expect(await map.locator('text').allTextContents()).toEqual(
      expect.arrayContaining(['control', '10.70.0.0/24', 'router', '10.70.1.1', 'server']),
    )
    expect(await map.locator('.card').evaluateAll((all) => all.map((one) => one.getAttribute('class')))).toEqual([
      'card machine bad',
      'card machine good',
      'card containers unknown',
    ])
    expect(await page.locator('.timeline').innerText()).toMatch(
      /Warning: ImageFailed \(4 times\)\n.*image debian-13 has failed/,
    )
    await map.getByRole('link', { name: /server/ }).focus()
    await page.keyboard.press('Enter')
    const story = page.getByRole('complementary')
    await story.getByText('it runs').first().waitFor()
    expect(await story.locator('code').first().innerText()).toBe('ot why otvm/server -n lab-1')
  })

  it('shows downloads that run and images that wait, in the order in which they are served', async () => {
    const page = await opened(() => {
      putImage(client, 'kali', SYNCING, { progress: '42.0%', attempt: 2, startedAt: '2026-01-01T08:00:00Z' })
      putImage(client, 'a-third', QUEUED, { queuePosition: 3, ticket: '3' })
      putImage(client, 'first', QUEUED, { queuePosition: 1, ticket: '1' })
      putImage(client, 'done', SUCCEEDED)
    }, '#/queue')
    await page.getByText('Waiting for a slot: 2').waitFor()
    expect(await page.locator('.slot').innerText()).toMatch(
      /^farm\/kali\n+ ?42\.0 %\n+Downloading · for \d+d · attempt 2 · .* a minute · .* left\n+for nobody$/,
    )
    expect(await page.locator('.slot progress').getAttribute('value')).toBe('42')
    const line = page.getByRole('grid', { name: 'Images that wait for a slot' })
    const first = await line.locator('[role=row]:not(.head) strong').allInnerTexts()
    expect(first).toEqual(['first', 'a-third'])
  })

  it('has 10,000 images and 500 labs with no more rows than are seen, all of which the keyboard reaches', async () => {
    const page = await opened(() => {
      for (let at = 0; at < 10_000; at++) putImage(client, `image-${String(at).padStart(5, '0')}`, SUCCEEDED)
      for (let at = 0; at < 500; at++) putLab(client, `lab-${at}`, READY)
    }, '#/images')
    await page.getByText('10000 in all: 10000 Succeeded').waitFor()
    const grid = page.getByRole('grid', { name: 'Images' })
    expect(await grid.getByRole('row').count()).toBeLessThan(80)
    await grid.focus()
    await page.keyboard.press('End')
    await page.keyboard.press('Enter')
    await page.getByRole('complementary').getByText('can be cloned').first().waitFor()
    expect(await page.locator('#story-title').innerText()).toBe('farm/image-09999')
    await page.keyboard.press('Escape')
    await page.keyboard.press('2')
    await expect.poll(() => page.locator('.tile').count()).toBe(500)
    await page.keyboard.press('/')
    await page.keyboard.type('lab-49 ready')
    await page.getByText('11 shown').waitFor()
  })

  it('has commands to paste where somebody has to act alone', async () => {
    const page = await opened(() => {
      putImage(client, 'first', QUEUED, { queuePosition: 1, ticket: '1' })
      putImage(client, 'failed', { phase: 'Failed', reason: 'NotFound', message: 'no such file' })
    }, '#/images?open=images/farm/first')
    const story = page.getByRole('complementary')
    await story.locator('.cause').waitFor()
    expect(await story.locator('.cause .command').count()).toBe(0)
    await page.goto(`${baseOf(served)}#/images?open=images/farm/failed`)
    await story.getByText('retry-requested-at').first().waitFor()
    expect(await story.locator('.cause .command').count()).toBeGreaterThan(0)
  })

  it('switches labs that are selected off, and says what was refused', async () => {
    const page = await opened(() => {
      putLab(client, 'lab-1', READY)
      putLab(client, 'lab-2', READY)
    })
    await page.getByLabel('Select lab-1').check()
    await page.getByRole('button', { name: 'Stop' }).click()
    const dialog = page.getByRole('dialog')
    expect(await dialog.innerText()).toMatch(/Stop lab-1\n+Shuts guests and containers down/)
    await dialog.getByRole('button', { name: 'Stop' }).click()
    await dialog.getByText('lab-1: asked for').waitFor()
    expect(client.peek('Workspace', 'lab-1')).toMatchObject({ spec: { powerState: 'Halted' } })
    expect(client.peek('Workspace', 'lab-2')).not.toMatchObject({ spec: { powerState: 'Halted' } })
    await dialog.getByRole('button', { name: 'Close' }).click()
    client.drop('Workspace', 'lab-2')
    await expect.poll(() => page.locator('.tile').count()).toBe(1)
  })

  it('says which disks are lost before a reset, and does nothing until somebody has said yes to that', async () => {
    const page = await opened(() => {
      putLab(client, 'lab-1', READY)
      putMachine(client, 'lab-1', 'server')
    }, '#/labs?lab=lab-1')
    const requestOf = () => client.peek('Workspace', 'lab-1')?.metadata.annotations?.['pelotech.ot/reset-requested-at']
    await page.getByRole('button', { name: 'Reset' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('lab-1: would be made again: server (disk root)').waitFor()
    expect(requestOf()).toBeUndefined()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    expect(requestOf()).toBeUndefined()
    await page.getByRole('button', { name: 'Reset' }).click()
    await dialog.getByRole('button', { name: 'Reset, and lose what is listed' }).click()
    await dialog.getByText('lab-1: asked for').waitFor()
    expect(requestOf()).toBeDefined()
  })

  it.each(['light', 'dark'] as const)('is usable by all, as far as axe sees, in %s', async (colorScheme) => {
    const page = await opened(() => {
      putLab(client, 'lab-1', FAILED, { outdated: '1/2', warnings: 2 })
      putLab(client, 'lab-2', READY, { reason: 'Halted' })
      putMachine(client, 'lab-1', 'server')
      putWarning(client, 'Workspace', 'lab-1', 'image debian-13 has failed')
      putImage(client, 'kali', SYNCING, { progress: '42.0%' })
      putImage(client, 'first', QUEUED, { queuePosition: 1, ticket: '1' })
    })
    await page.emulateMedia({ colorScheme })
    // The policy of the page lets nothing in from elsewhere, not even this.
    await page.evaluate(readFileSync(AXE, 'utf8'))
    for (const [hash, seen] of [
      ['#/labs', 'lab-2'],
      ['#/labs?lab=lab-1', 'Map of lab-1'],
      ['#/queue', 'Waiting for a slot: 1'],
      ['#/images?open=images/farm/kali', 'Timeline'],
    ] as const) {
      await page.goto(`${baseOf(served)}${hash}`)
      await page.getByText(seen).or(page.getByLabel(seen)).first().waitFor()
      // biome-ignore lint/suspicious/noExplicitAny: axe is in the page alone
      const { violations } = await page.evaluate(() => (globalThis as any).axe.run())
      expect(
        violations.map(({ id, nodes }: { id: string; nodes: { html: string }[] }) => [
          hash,
          id,
          nodes.map(({ html }) => html),
        ]),
      ).toEqual([])
    }
  })
})
