import type { TestProject } from 'vitest/node'
import { type Prometheus, resolvePrometheus } from '../monitoring/prometheus.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** A text says why there is none. Undefined where `PROMETHEUS=skip` asks for none. */
    prometheus: Prometheus | string | undefined
  }
}

/** Gets Prometheus before any test waits for it, where people can see the progress. Without it only its own tests fail. */
export default async function preparePrometheus(project: TestProject): Promise<void> {
  const found = await resolvePrometheus((line) => process.stderr.write(`${line}\n`)).catch(
    (error: Error) => error.message,
  )
  if (found === undefined) process.stdout.write('PROMETHEUS=skip: no rule of an alert is tested in this run\n')
  project.provide('prometheus', found)
}
