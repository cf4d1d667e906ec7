import type { TestProject } from 'vitest/node'
import { resolveAnsible } from '../ansible/package.ts'
import { whyNoNamespaces } from '../lab-networks/namespaces.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Folder of a file system with Ansible, or what is wrong. Undefined where its tests are skipped. */
    ansible: { readonly root: string } | string | undefined
  }
}

/** Provides Ansible before any test waits for it, where people can see the progress. If it is missing, only its own tests fail. */
export default async function prepareAnsible(project: TestProject): Promise<void> {
  const why = process.env['ANSIBLE'] === 'skip' ? 'ANSIBLE=skip' : await whyNoNamespaces()
  if (why !== undefined) process.stdout.write(`no roles are played by Ansible in this run: ${why}\n`)
  project.provide('ansible', why === undefined ? await foundOrWhyNot() : undefined)
}

function foundOrWhyNot(): Promise<{ readonly root: string } | string> {
  return resolveAnsible(report).then(
    (root) => ({ root }),
    (error: Error) => error.message,
  )
}

function report(line: string): void {
  process.stderr.write(`${line}\n`)
}
