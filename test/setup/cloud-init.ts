import type { TestProject } from 'vitest/node'
import { type CloudInit, resolveCloudInit } from '../cloud-init/package.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** A text says why there is none. Undefined where `CLOUD_INIT=skip` asks for none. */
    cloudInit: CloudInit | string | undefined
  }
}

/** Gets cloud-init before any test waits for it, where people can see the progress. Without it only its own tests fail. */
export default async function prepareCloudInit(project: TestProject): Promise<void> {
  const isSkipped = process.env['CLOUD_INIT'] === 'skip'
  if (isSkipped) process.stdout.write('CLOUD_INIT=skip: cloud-init itself checks nothing in this run\n')
  project.provide('cloudInit', isSkipped ? undefined : await findOrSayWhyNot())
}

function findOrSayWhyNot(): Promise<CloudInit | string> {
  return resolveCloudInit((line) => process.stderr.write(`${line}\n`)).catch((error: Error) => error.message)
}
