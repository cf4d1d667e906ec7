// Loaded before the clock of a test moves: `ot` loads a command when somebody says its name.
import './commands/labs.ts'
import { expect, it } from 'vitest'
import type { KubeObject } from '../operator/kube/kube-object.ts'
import { OtRunner } from '../test/prepared/cli/ot-runner.ts'
import { EXIT_CODES } from './exit-codes.ts'

it('ot labs -w shows each change of a class, and of no other one', async () => {
  const ot = new OtRunner()
  const put = (name: string, course: string, phase: string) =>
    ot.client.put({
      apiVersion: 'pelotech.ot/v1alpha1',
      kind: 'Workspace',
      metadata: { name, labels: { course } },
      status: { phase },
    } as unknown as KubeObject)
  put('lab-1', 'net-1', 'Provisioning')
  const done = ot.run('labs', '-l', 'course=net-1', '-w')
  await ot.client.clock.advance(1_000)
  const first = ot.printed
  expect(first).toMatch(/^lab-1 +Provisioning/m)
  put('other', 'net-2', 'Ready')
  await ot.client.clock.advance(10_000)
  expect(ot.printed).toBe(first)
  put('lab-1', 'net-1', 'Ready')
  put('lab-2', 'net-1', 'Ready')
  await ot.client.clock.advance(1_000)
  expect(ot.printed.slice(first.length)).toContain('2 labs: 2 Ready')
  ot.interrupt()
  await ot.client.clock.advance(1_000)
  expect([await done, ot.told]).toEqual([EXIT_CODES.done, ''])
})

it('ot labs -w takes one choice, as without -w', async () => {
  const ot = new OtRunner()
  expect(await ot.run('labs', 'lab-1', '-l', 'course=net-1', '-w')).toBe(EXIT_CODES.usage)
  expect(ot.told).toBe('ot: name labs, or select them with -l, or take --all of them: one of the three\n')
})
