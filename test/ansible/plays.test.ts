import type { WorkspaceSpec } from '@open-terrain/constructs/operator'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { readManifests } from '../../sandbox/demo/manifests.ts'
import { AnsibleRange } from './range.ts'

const ansible = inject('ansible')

describe.skipIf(ansible === undefined)('roles of a machine', () => {
  let range: AnsibleRange

  beforeAll(async () => {
    if (typeof ansible === 'string') throw new Error(ansible)
    if (ansible !== undefined) range = await AnsibleRange.make(ansible.root)
  })

  afterAll(async () => {
    await range?.remove()
  })

  it('make the router of the example route, which starts later, and then hold the checks', async () => {
    const [lab] = await readManifests('labs/played-router.yaml')
    const spec = lab?.['spec'] as WorkspaceSpec
    await range.stopForwarding()
    await range.stopServer()
    const built = await range.play(spec, 'build', { meanwhile: () => range.startServer() })
    expect(built, built.log).toMatchObject({ exitCode: 0, message: '' })
    expect(await range.isForwarding()).toBe(true)
    const deployed = await range.play(spec, 'deploy')
    expect(deployed, deployed.log).toMatchObject({ exitCode: 0, message: '' })
    expect(deployed.log).toMatch(/checks : Check/)
  })

  it('say which task failed, and not which ones were ignored or rescued', async () => {
    const { told, isWritten, log } = await range.report({ build: ['ignored', 'rescued', 'failing', 'looping'] })
    expect(told, log).toBe(
      'task "failing : Read a file" failed on router: non-zero return code: cat: /nowhere: No such file or directory',
    )
    expect(isWritten).toBe(true)
  })
})
