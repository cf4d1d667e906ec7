import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { AnsibleRange, PASSWORD, type PlayedLab, POD_ADDRESS } from './range.ts'

const ansible = inject('ansible')
const IS_ROUTING = { name: 'forwarding', command: 'grep -x 1 /proc/sys/net/ipv4/ip_forward' }
const CHECKS = { role: 'checks', variables: { checks: [IS_ROUTING] } }
/** Ansible finds it before anything is played, so that no plugin hears of it. */
const NO_ROLE = 'a role that is not there'

describe.skipIf(ansible === undefined)('what people are told when roles are played', () => {
  let range: AnsibleRange

  beforeAll(async () => {
    if (typeof ansible === 'string') throw new Error(ansible)
    if (ansible !== undefined) range = await AnsibleRange.make(ansible.root)
  })

  afterAll(async () => {
    await range?.remove()
  })

  it.concurrent.each<[string, PlayedLab, string | RegExp]>([
    [
      'failures that are ignored or rescued, with a password that is also that for sudo',
      { build: ['ignored', 'rescued'], user: 'ansible', password: PASSWORD },
      'nothing',
    ],
    [
      'a check that does not hold',
      { build: [{ role: 'router', variables: { forward: false } }, CHECKS] },
      'task "checks : Check" failed on router: forwarding is not so: exit code 1',
    ],
    [
      'an item of a loop that fails',
      { build: ['looping'] },
      'task "looping : Read files" failed on router: non-zero return code: cat: /nowhere: No such file or directory',
    ],
    [
      'a task that hides its result',
      { build: ['hidden'] },
      'task "hidden : Set a password" failed on router: it says nothing more (no_log hides what a task says)',
    ],
    [
      NO_ROLE,
      { build: ['router', 'nowhere'] },
      /^the role 'nowhere' was not found in \/ot\/lab\/roles:\S+ \(\/ot\/lab\/build.yaml, line \d+\)$/,
    ],
    [
      'a machine that is lost',
      { build: ['lost'] },
      /^task "lost : Come back" did not reach router: .*Connection refused$/,
    ],
    [
      'a machine that does not answer',
      { build: ['router'], address: POD_ADDRESS, waits: 1 },
      /^task "Wait until the machine answers" failed on router: timed out waiting .*Connection refused/,
    ],
    [
      'a wrong password',
      { build: ['router'], user: 'ansible', password: 'wrong', waits: 1 },
      /^task "Wait until the machine answers" failed on router: timed out waiting .*(Permission denied|incorrect password)/,
    ],
    [
      'a missing password for sudo',
      { build: ['router'], user: 'ansible', waits: 1 },
      /^task "Wait until the machine answers" failed on router: timed out waiting .*Missing sudo password$/,
    ],
  ])('is right after %s', async (what, lab, sentence) => {
    const { told, isWritten, log } = await range.report(lab)
    expect(told, log).toMatch(sentence)
    expect(isWritten).toBe(told !== 'nothing' && what !== NO_ROLE)
  })
})
