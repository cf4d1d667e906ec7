import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PLAY_REPORT_MAX, playReportOf } from './play-report.ts'

/** The text of an error as ansible-core 2.14 and 2.19 print it after a task that worked. */
const NO_ROLE_OLD = `TASK [Wait until the machine answers] ******
ok: [router]
ERROR! the role 'nope' was not found in /ot/lab/roles:/usr/share/ansible/roles

The error appears to be in '/ot/lab/build.yaml': line 3, column 11, but may
be elsewhere in the file depending on the exact syntax problem.

The offending line appears to be:

  roles: [{role: nope}]
          ^ here
`
const NO_ROLE_NEW = `TASK [Wait until the machine answers] ******
ok: [router]
[ERROR]: the role 'nope' was not found in /ot/lab/roles:/usr/share/ansible/roles
Origin: /ot/lab/build.yaml:3:11

1 - name: build router
`
const IGNORED = `TASK [router : Try] ***
fatal: [router]: FAILED! => {"changed": true, "msg": "not this one"}
...ignoring
`
const FATAL = `TASK [router : Forward] ****
[ERROR]: Task failed: it is read-only
Origin: /roles/router/tasks/main.yml:1:3
fatal: [router]: FAILED! => {"changed": false, "msg": "it is \\"read-only\\"\\nhere", "rc": 1}

PLAY RECAP *****
router                     : ok=0    changed=0    unreachable=0    failed=1
`

describe('the report of a play', () => {
  it.each([
    [
      'a failure that the plugin wrote',
      '{"what": "failed", "play": "build router", "task": "router : Forward", "host": "router", "message": "read-only\\nhere"}\n',
      'task "router : Forward" failed on router: read-only here',
    ],
    [
      'a machine that was not reached',
      '{"what": "unreachable", "play": "p", "task": "t", "host": "router", "message": "Connection refused"}',
      'task "t" did not reach router: Connection refused',
    ],
    [
      'a task that hides what it says',
      '{"what": "failed", "play": "p", "task": "t", "host": "router"}',
      'task "t" failed on router: it says nothing more (no_log hides what a task says)',
    ],
    [
      'a missing role, until ansible-core 2.18',
      NO_ROLE_OLD,
      "the role 'nope' was not found in /ot/lab/roles:/usr/share/ansible/roles (/ot/lab/build.yaml, line 3)",
    ],
    [
      'a missing role',
      NO_ROLE_NEW,
      "the role 'nope' was not found in /ot/lab/roles:/usr/share/ansible/roles (/ot/lab/build.yaml, line 3)",
    ],
    ['a log', `${IGNORED}${FATAL}`, 'task "router : Forward" failed on router: it is "read-only" here'],
    [
      'an item of a loop in a log, without its end',
      `${IGNORED}TASK [router : Add] ***\nfailed: [router] (item=1) => {"msg": "it exists", "stderr": "x y", "rc": 1, "stder`,
      'task "router : Add" failed on router: it exists: x y',
    ],
    [
      'an error after an ignored failure',
      `${IGNORED}${NO_ROLE_NEW}`,
      expect.stringMatching(/^the role 'nope' was not/),
    ],
    ['an error before Ansible starts', 'ERROR: Unable to do it\nusage: x\n', 'Unable to do it'],
    ['colours', '\u001b[0;31m[ERROR]: it is red\u001b[0m', 'it is red'],
    ['only an ignored failure', IGNORED, 'ansible-playbook ended with exit code 2: ...ignoring'],
    ['nothing', '', 'ansible-playbook ended with exit code 2'],
    [
      'an image without Ansible',
      'failed to create containerd task: exec: "ansible-playbook": executable file not found in $PATH: unknown',
      'the image has no program ansible-playbook',
    ],
  ])('says %s', (_what, message, sentence) => {
    expect(playReportOf(message, 2)).toEqual(sentence)
  })

  const piece = fc.oneof(
    fc.constantFrom(
      ...NO_ROLE_OLD.split('\n'),
      ...NO_ROLE_NEW.split('\n'),
      ...IGNORED.split('\n'),
      ...FATAL.split('\n'),
    ),
    fc.constantFrom(
      'fatal: [',
      'TASK [',
      'ERROR!',
      '{"what": "failed"',
      '"msg": "',
      '\ud800',
      '\u202e',
      '\u0000',
      '\r',
      '\\',
    ),
    fc.string({ unit: 'binary' }),
    fc.string({ minLength: 500, maxLength: 5_000 }),
  )
  const json = fc
    .record(
      { what: fc.constantFrom('failed', 'unreachable', 'x'), task: piece, host: piece, message: piece },
      { requiredKeys: [] },
    )
    .map((value) => JSON.stringify(value))
  const message = fc.oneof(
    json,
    fc.json(),
    fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('\n')),
  )

  it('is one sentence, whatever the message is', () => {
    fc.assert(
      fc.property(message, fc.integer(), (text, code) => {
        const sentence = playReportOf(text, code)
        expect(sentence.length).toBeLessThanOrEqual(PLAY_REPORT_MAX)
        expect(sentence).toMatch(/^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+$/u)
      }),
      { numRuns: 3_000 },
    )
  })
})
