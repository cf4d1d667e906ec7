import { renderWorkspaceAnsible, type WorkspaceSpec } from '@open-terrain/constructs/operator'
import fc from 'fast-check'
import { describe, expect, inject, it } from 'vitest'
import type { CloudInit } from './package.ts'
import { readYaml } from './verdict.ts'

const SAMPLES = 2_000
const cloudInit = inject('cloudInit')

/** Texts that YAML 1.1 reads as something else. */
const TRAPS = [
  ...['yes', 'no', 'On', 'off', 'y', 'N', 'True', '~', 'null', '', '<<', '=', '-', '?', ':', '---', '...', '%YAML 1.1'],
  ...['007', '0o7', '0x1f', '1_000', '1:30', '12:30:45', '2001-01-01', '1e3', '.inf', '.NaN', '+1', '4.'],
  ...['*a', '&a', '!x', '!!python/none x', '@a', '`a`', "'", '"', '|', '>', ' a', 'a ', 'a: b', 'a #b', '{{ a }}'],
  ...['a\nb', 'a\n', '\n a', 'a\r\nb', '\t', '\u0000', '\u007f', '\u0085', '\u2028', '\ufeff', '\uffff', '\ud800'],
]
const text = fc.oneof(fc.constantFrom(...TRAPS), fc.string({ unit: 'binary', maxLength: 8 }))
const number = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(1e21, 1e-7, -5e-324, 0.5),
)
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    ...[text, number, fc.boolean(), fc.constant(null)],
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(text, tie('value'), { maxKeys: 3 }),
  ),
}))

/** The variables as they arrive: through JSON, without lone surrogates. */
function asJson(variables: unknown): unknown {
  return JSON.parse(JSON.stringify(variables), (_key, member: unknown) => {
    if (typeof member === 'string') return member.toWellFormed()
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member
    return Object.fromEntries(Object.entries(member).map(([key, each]) => [key.toWellFormed(), each]))
  })
}

describe.skipIf(cloudInit === undefined)('variables of Ansible roles', () => {
  it(`are to Ansible what they are in the workspace, whatever they are: ${SAMPLES} at random`, async () => {
    if (typeof cloudInit === 'string') throw new Error(cloudInit)
    const samples = fc.sample(fc.dictionary(text, value, { maxKeys: 4 }), SAMPLES)
    const files = samples.map((variables) => {
      const roles = { build: [{ role: 'role', variables: variables as never }] }
      const vm = {
        name: 'vm',
        backingVMDiskImage: 'golden',
        resources: { cpu: '1', memory: '1Gi' },
        ansible: { roles },
      }
      const spec: WorkspaceSpec = { vms: [vm] }
      return renderWorkspaceAnsible({ workspace: { name: 'lab', uid: 'uid' }, spec }).data['build.yaml']
    })
    const plays = await readYaml(cloudInit as CloudInit, files)
    expect(plays).toHaveLength(SAMPLES)
    for (const [at, play] of plays.entries()) {
      const wanted = [{ name: 'build vm', hosts: 'vm', roles: [{ role: 'role', vars: asJson(samples[at]) }] }]
      expect(play, files[at]).toEqual(wanted)
    }
  })
})
