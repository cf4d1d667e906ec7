import type { TestProject } from 'vitest/node'
import { type BrowserProgram, resolveBrowser } from '../ui/browser-package.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** A browser, or what is wrong. Undefined where its tests are skipped. */
    browser: BrowserProgram | string | undefined
  }
}

/** Provides a browser before any test waits for it, where people can see the progress. If it is missing, only its own tests fail. */
export default async function prepareBrowser(project: TestProject): Promise<void> {
  if (process.env['BROWSER'] === 'skip') process.stdout.write('no page is opened in this run: BROWSER=skip\n')
  project.provide('browser', process.env['BROWSER'] === 'skip' ? undefined : await foundOrWhyNot())
}

function foundOrWhyNot(): Promise<BrowserProgram | string> {
  return resolveBrowser((line) => void process.stderr.write(`${line}\n`)).catch((error: Error) => error.message)
}
