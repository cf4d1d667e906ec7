import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { resolveBinaries } from '../../sandbox/control-plane/binaries.ts'
import { resolveGuestDisk } from '../../sandbox/guest/disk.ts'
import { resolveGuestTools, whyNoGuests } from '../../sandbox/guest/tools.ts'
import { goVersions, OF_GUESTS, resolveGoCommands } from '../../sandbox/node/go-commands.ts'
import { resolvePackages } from '../../sandbox/node/packages.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Folder for what the tests serve to a cluster that exists. It is removed after the run. */
    stageDirectory: string
  }
}

/** Gets everything that takes long before any test waits for it, and prints at the end what ran in which versions. */
export default async function prepareNode(project: TestProject): Promise<() => Promise<void>> {
  const report = (line: string) => process.stderr.write(`${line}\n`)
  // A cluster that exists needs only what makes the disk files.
  await resolvePackages(report)
  if (!process.env['NODE_KUBECONFIG']) {
    await resolveBinaries()
    await resolveGoCommands(report)
    const whyNot = await whyNoGuests()
    if (whyNot === undefined) {
      await resolveGoCommands(report, OF_GUESTS)
      await resolveGuestDisk(await resolveGuestTools(report), report)
    } else report(`No guest is started: ${whyNot}`)
  }
  const directory = await mkdtemp(join(tmpdir(), 'open-terrain-stage-'))
  project.provide('stageDirectory', directory)
  const versions = Object.entries(await goVersions()).filter(([name]) => name !== 'own')
  return async () => {
    await rm(directory, { recursive: true, force: true })
    const text = versions.map(([name, version]) => `${name} ${version}`).join(', ')
    const line = process.env['NODE_KUBECONFIG']
      ? `The scenarios ran on the cluster of ${process.env['NODE_KUBECONFIG']}`
      : `The scenarios ran on nodes made here: ${text}`
    process.stdout.write(`${line}\n`)
    if (process.env['NODE_SUMMARY']) await writeFile(process.env['NODE_SUMMARY'], `${line}\n`)
  }
}
