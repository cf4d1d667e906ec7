import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import type { KubeObject } from '../../operator/kube/kube-object.ts'

const FOLDER = join(import.meta.dirname, '../fixtures/stored-objects')

/** What the next release stores. Its files follow the present schemas; those of a release never change. */
export const UNRELEASED = 'unreleased'

/** An object of one of our kinds as a cluster has stored it. */
export interface StoredObject extends KubeObject {
  readonly spec: object
  readonly status?: object
}

/** Returns what each release could have stored, by release: of each kind, the least object, and some that have every field together. */
export function storedReleases(): ReadonlyMap<string, readonly StoredObject[]> {
  const releases = readdirSync(FOLDER, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  return new Map(releases.map(({ name }) => [name, objectsIn(join(FOLDER, name))]))
}

/** The file that says how a release rendered its objects: a line for each child. */
export function renderedFile(release: string): string {
  return join(FOLDER, release, 'rendered.txt')
}

function objectsIn(folder: string): StoredObject[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.yaml'))
  return files.flatMap((file) =>
    parseAllDocuments(readFileSync(join(folder, file), 'utf8')).map((document) => document.toJS() as StoredObject),
  )
}
