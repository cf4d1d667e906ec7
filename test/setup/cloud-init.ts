import type { TestProject } from 'vitest/node'
import { type CloudInit, resolveCloudInit } from '../cloud-init/package.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** A string says why it is missing. Undefined with `CLOUD_INIT=skip`. */
    cloudInit: CloudInit | string | undefined
  }
}

/** Provides cloud-init before any test waits for it, where people can see the progress. If it is missing, only its own tests fail. */
export default async function prepareCloudInit(project: TestProject): Promise<void> {
  const isSkipped = process.env['CLOUD_INIT'] === 'skip'
  if (isSkipped) process.stdout.write('CLOUD_INIT=skip: cloud-init itself checks nothing in this run\n')
  project.provide('cloudInit', isSkipped ? undefined : await findOrSayWhyNot())
}

function findOrSayWhyNot(): Promise<CloudInit | string> {
  return resolveCloudInit((line) => process.stderr.write(`${line}\n`)).catch((error: Error) => error.message)
}
