import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { AnsibleRange, CHECKS } from './range.ts'

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

  it('are played with a key on a machine that starts later, and forward its packets', async () => {
    const lab = { build: ['router'], deploy: [CHECKS] }
    await range.stopForwarding()
    await range.stopServer()
    const built = await range.play(lab, 'build', () => range.startServer())
    expect(built, built.log).toMatchObject({ exitCode: 0, message: '' })
    expect(await range.isForwarding()).toBe(true)
    const deployed = await range.play(lab, 'deploy')
    expect(deployed, deployed.log).toMatchObject({ exitCode: 0, message: '' })
  })

  it('say which task failed, and not which ones were ignored or rescued', async () => {
    const { told, isWritten, log } = await range.report({ build: ['ignored', 'rescued', 'failing', 'looping'] })
    expect(told, log).toBe(
      'task "failing : Read a file" failed on router: non-zero return code: cat: /nowhere: No such file or directory',
    )
    expect(isWritten).toBe(true)
  })
})
