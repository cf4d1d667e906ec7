import { type Browser, chromium, type Page } from 'playwright-core'
import type { BrowserProgram } from './browser-package.ts'

/** A page that shows nothing for this long shows nothing at all. The default of half a minute is short on a busy machine. */
const HANGS_AFTER_MS = 5 * 60_000

export async function newPage(browser: Browser, options: Parameters<Browser['newPage']>[0] = {}): Promise<Page> {
  const page = await browser.newPage(options)
  page.setDefaultTimeout(HANGS_AFTER_MS)
  return page
}

/** Starts a browser. Tests may run as root, where Chromium has no sandbox. */
export async function launchBrowser({ executablePath, env }: BrowserProgram): Promise<Browser> {
  return await chromium.launch({ executablePath, env: { ...process.env, ...env }, args: ['--no-sandbox'] })
}
