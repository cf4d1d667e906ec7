import type { TestProject } from 'vitest/node'
import { type Prometheus, resolvePrometheus } from '../monitoring/prometheus.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** A string says why it is missing. Undefined with `PROMETHEUS=skip`. */
    prometheus: Prometheus | string | undefined
  }
}

/** Provides Prometheus before any test waits for it, where people can see the progress. If it is missing, only its own tests fail. */
export default async function preparePrometheus(project: TestProject): Promise<void> {
  const found = await resolvePrometheus((line) => process.stderr.write(`${line}\n`)).catch(
    (error: Error) => error.message,
  )
  if (found === undefined) process.stdout.write('PROMETHEUS=skip: no rule of an alert is tested in this run\n')
  project.provide('prometheus', found)
}
