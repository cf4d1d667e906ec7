import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const SCRIPT = join(import.meta.dirname, '../examples/wait-settled.sh')

/** Prints the files `look-1`, `look-2` and so on in turn, the last one forever. Its `wait` succeeds at once, as it does while Settled is stale. */
const KUBECTL = `#!/bin/sh
cd "$(dirname "$0")"
case $1 in
  wait) exit 0 ;;
  annotate) echo "$@" > annotated; tail -n +3 look-1 ;;
  get)
    at=$(($(cat at) + 1))
    cat "look-$at"
    [ ! -e "look-$((at + 1))" ] || echo "$at" > at ;;
esac
`

interface Look {
  readonly phase: string
  readonly isSettled?: boolean
  readonly generation?: number
  readonly revision?: string
}

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'wait-settled-'))
  writeFileSync(join(folder, 'kubectl'), KUBECTL, { mode: 0o755 })
  writeFileSync(join(folder, 'at'), '0')
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Returns the exit code and the output of the script when the object looks like this at each `get`. */
function wait(looks: readonly Look[], env: Readonly<Record<string, string>> = {}) {
  for (const [at, { phase, isSettled = true, generation = 1, revision = 'old' }] of looks.entries()) {
    const stand = `2 ${generation + 1} ${isSettled ? 'True' : 'False'} ${phase}`
    writeFileSync(join(folder, `look-${at + 1}`), `${stand}\n${phase}: ${revision}\n{"revision":"${revision}"}`)
  }
  const path = `${folder}${delimiter}${process.env['PATH']}`
  const options = { env: { ...process.env, TIMEOUT: '60s', ...env, PATH: path }, encoding: 'utf8' } as const
  const { status, stdout } = spawnSync(SCRIPT, ['-n', 'farm', 'vmdi/golden'], options)
  return [status, stdout.trim()]
}

describe('examples/wait-settled.sh', () => {
  it.each([
    ['Succeeded', 0],
    ['Ready', 0],
    ['Failed', 1],
  ])('ends where it has settled as %s with %i', (phase, code) => {
    expect(wait([{ phase }])).toEqual([code, `${phase}: old`])
  })

  it('goes on waiting where somebody has changed the object in between', () => {
    expect(wait([{ phase: 'Queued', isSettled: false }, { phase: 'Succeeded' }])).toEqual([0, 'Succeeded: old'])
    writeFileSync(join(folder, 'at'), '0')
    expect(wait([{ phase: 'Succeeded', generation: 0 }, { phase: 'Failed' }])).toEqual([1, 'Failed: old'])
  })

  it('says that it was not in time, whatever the phase is', () => {
    const [code, said] = wait([{ phase: 'Queued', isSettled: false }], { TIMEOUT: '1s' })
    expect([code, said]).toEqual([2, 'Not settled within 1s; Queued: old'])
  })

  it('takes no answer from before the request that it makes', () => {
    const answered = [{ phase: 'Succeeded' }, { phase: 'Succeeded', revision: 'new' }]
    expect(wait(answered, { REQUEST: 'sync' })).toEqual([0, 'Succeeded: new'])
    const annotated = execFileSync('cat', [join(folder, 'annotated')], { encoding: 'utf8' })
    expect(annotated).toContain('-n farm vmdi/golden pelotech.ot/sync-requested-at=')
  })

  it('is not fooled while the operator is away', () => {
    const [code, said] = wait([{ phase: 'Succeeded' }], { REQUEST: 'retry', TIMEOUT: '0h0m1s' })
    expect([code, said]).toEqual([2, 'Not settled within 0h0m1s; the operator has not answered the request'])
  })
})
