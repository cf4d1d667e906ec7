import { type Browser, chromium } from 'playwright-core'
import type { BrowserProgram } from './browser-package.ts'

/** Starts a browser. Tests may run as root, where Chromium has no sandbox. */
export async function launchBrowser({ executablePath, env }: BrowserProgram): Promise<Browser> {
  return await chromium.launch({ executablePath, env: { ...process.env, ...env }, args: ['--no-sandbox'] })
}
