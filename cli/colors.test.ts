import { describe, expect, it } from 'vitest'
import { OtRunner } from '../test/prepared/cli/ot-runner.ts'
import { colored } from './colors.ts'

/** Shows what a terminal obeys. */
const visible = (text: string) => text.replaceAll('\u001b', 'ESC')

describe('colours', () => {
  it('are those of states, wherever a line says one', () => {
    expect(visible(colored('NAME   PHASE    REASON\nlab-1  Ready    Halted\nlab-2  Failed\n'))).toBe(
      'NAME   PHASE    REASON\nlab-1  ESC[32mReadyESC[0m    ESC[2mHaltedESC[0m\nlab-2  ESC[31mFailedESC[0m\n',
    )
    expect(visible(colored('Workspace a: Provisioning, WaitingForImages for 3m'))).toContain(
      'ESC[36mProvisioningESC[0m,',
    )
    expect(visible(colored('Cause: b'))).toBe('ESC[1mCause:ESC[0m b')
  })

  it.each(['Ready to go', 'not Ready', 'AlmostReady', 'Failed: no such host'])(
    'are not those of words in a sentence: %s',
    (text) => {
      expect(colored(text)).toBe(text)
    },
  )
})

describe('ot', () => {
  const labs = async (hasColors: boolean, ...more: string[]) => {
    const ot = new OtRunner()
    ot.hasColors = hasColors
    ot.client.put({
      apiVersion: 'pelotech.ot/v1alpha1',
      kind: 'Workspace',
      metadata: { name: 'lab-1', uid: 'u' },
      status: { phase: 'Ready', reason: '\u001b[31mHalted' },
    } as never)
    await ot.run('labs', ...more)
    return visible(ot.printed)
  }

  it('has colours on a terminal', async () => {
    expect(await labs(true)).toContain('ESC[32mReadyESC[0m')
    expect(await labs(true)).not.toContain('ESC[31m')
  })

  it.each([
    ['elsewhere', false, []],
    ['in what programs read', true, ['-o', 'json']],
    ['in names', true, ['-o', 'name']],
  ] as const)('has none %s', async (_where, hasColors, more) => {
    const printed = await labs(hasColors, ...more)
    expect(printed).toContain('lab-1')
    expect(printed).not.toContain('ESC')
  })
})
