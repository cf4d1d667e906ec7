import type { TestProject } from 'vitest/node'
import { type CloudbaseInit, resolveCloudbaseInit } from '../cloud-init/cloudbase.ts'
import { type CloudInit, resolveCloudInit } from '../cloud-init/package.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** A string says why it is missing. Undefined with `CLOUD_INIT=skip`. */
    cloudInit: CloudInit | string | undefined
    cloudbaseInit: CloudbaseInit | string | undefined
  }
}

/** Provides cloud-init before any test waits for it, where people can see the progress. If it is missing, only its own tests fail. */
export default async function prepareCloudInit(project: TestProject): Promise<void> {
  const isSkipped = process.env['CLOUD_INIT'] === 'skip'
  if (isSkipped) process.stdout.write('CLOUD_INIT=skip: cloud-init itself checks nothing in this run\n')
  project.provide('cloudInit', isSkipped ? undefined : await orWhyNot(resolveCloudInit(report)))
  project.provide('cloudbaseInit', isSkipped ? undefined : await orWhyNot(resolveCloudbaseInit(report)))
}

function report(line: string): void {
  process.stderr.write(`${line}\n`)
}

function orWhyNot<T>(found: Promise<T>): Promise<T | string> {
  return found.catch((error: Error) => error.message)
}
