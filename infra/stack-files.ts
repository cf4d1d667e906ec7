import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { PROJECT } from './config.ts'

const STACK_FILE = /^Pulumi[.]([A-Za-z0-9_-]+)[.]yaml$/

/** Returns the environments that have a file `Pulumi.<environment>.yaml`, sorted by name. */
export function environmentsIn(folder: string): string[] {
  const names = readdirSync(folder).map((file) => STACK_FILE.exec(file)?.[1])
  return names.filter((name) => name !== undefined).sort()
}

/**
 * Returns what Pulumi would pass to the program for a stack: the values of `Pulumi.<environment>.yaml` over the defaults of `Pulumi.yaml`, by key
 * without its prefix. For callers without a Pulumi engine: the synthesized manifests and tests. Secrets stay encrypted.
 */
export function readStackFile(folder: string, environment: string): Record<string, unknown> {
  const project = readYaml<{ config?: Record<string, { default?: unknown } | undefined> }>(folder, 'Pulumi.yaml')
  const stack = readYaml<{ config?: Record<string, unknown> }>(folder, `Pulumi.${environment}.yaml`)
  const values: Record<string, unknown> = {}
  for (const [key, declared] of Object.entries(project.config ?? {}))
    if (declared?.default !== undefined) values[key] = declared.default
  for (const [key, value] of Object.entries(stack.config ?? {}))
    if (key.startsWith(`${PROJECT}:`)) values[key.slice(PROJECT.length + 1)] = value
  return values
}

function readYaml<Content>(folder: string, file: string): Content {
  return (parse(readFileSync(join(folder, file), 'utf8')) ?? {}) as Content
}
