import { Warnings, Workspace } from '@open-terrain/constructs'
import { POLICY_DEFAULTS, parseWorkspaceSpec, type WorkspaceSpec } from '@open-terrain/constructs/operator'
import { App, Chart } from 'cdk8s'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { randomWorkspace } from '../../../../test/prepared/children/random-workspaces.ts'
import { renderComponents } from './render.ts'

/** What depends on the policy: whoever renders a lab does not know that of its cluster. */
const OF_POLICY = [/nobody plays the roles/, /its nodeSelector wants/, /may not be one of its nodeSelector/]
const POLICY = { ...POLICY_DEFAULTS, localVolumeRoot: '/srv' }

/** Returns the warnings of the operator that its author did not get from the same spec. */
function unsaid(spec: WorkspaceSpec): string[] {
  const workspace = { name: 'lab', uid: '' }
  const warned = renderComponents({ workspace, spec, policy: POLICY }).flatMap(({ warnings = [] }) => warnings)
  const lab = new Workspace(new Chart(new App(), 'labs'), 'lab', spec as never)
  const said = [
    ...lab.node.validate(),
    ...Warnings.of(lab)
      .all()
      .map(({ message }) => message),
  ]
    .map(plain)
    .join('\n')
  if (lab.node.validate().length > 0) return []
  return warned
    .map(({ message }) => plain(message))
    .filter((message) => !(said.includes(message) || OF_POLICY.some((pattern) => pattern.test(message))))
}

/** The operator names components, and an author knows the members. */
function plain(message: string): string {
  return message
    .replaceAll(/\b(VirtualMachine|ContainerCluster) /g, '')
    .replaceAll('spec.ansible names it', 'Ansible names it')
    .replaceAll(/its key (\S+) is not made, and (\S+) needs it: .*/g, 'key $1 of $2')
    .replaceAll(/it needs key (\S+) of Secret \S+, which is not made: .*/g, 'key $1')
}

it('what the operator warns of from the spec alone, authors are told', () => {
  let warnings = 0
  fc.assert(
    fc.property(randomWorkspace, ({ workspace, spec }) => {
      warnings += renderComponents({ workspace, spec, policy: POLICY }).flatMap((one) => one.warnings ?? []).length
      expect(unsaid(spec)).toEqual([])
    }),
    { numRuns: 60 },
  )
  expect(warnings).toBeGreaterThan(100)
})

const VM = { name: 'a', backingVMDiskImage: 'x', resources: { cpu: 1, memory: '1Gi' } }
const POD = { name: 'p', containers: [{ name: 'c', image: 'web:1' }] }
const LOGINS = { name: 'logins', generate: [{ key: 'eve' }] }
const EVE = { name: 'eve', passwordSecretRef: { name: 'logins', key: 'eve' }, lock_passwd: false }

it.each<[string, object]>([
  ['a password that is too long for Windows', { secrets: [LOGINS], vms: [{ ...VM, os: 'windows', users: [EVE] }] }],
  [
    'a login to a registry that is none',
    { secrets: [LOGINS], containerClusters: [{ ...POD, pullSecrets: ['logins'] }] },
  ],
  [
    'a login of the player that is none',
    {
      secrets: [LOGINS],
      vms: [{ ...VM, ansible: { roles: { build: [{ role: 'r' }] } } }],
      ansible: { image: 'ansible:1', pullSecrets: ['logins'] },
    },
  ],
  [
    'roles that nobody can play',
    { vms: [{ ...VM, ansible: { roles: { build: [{ role: 'r' }] } } }], ansible: { image: 'ansible:1' } },
  ],
  ['overrides', { containerClusters: [{ ...POD, overrides: { spec: { enableServiceLinks: true } } }] }],
  ['a volume that nobody uses', { volumes: [{ name: 'v', size: '1Gi' }] }],
])('also of %s', (_name, raw) => {
  const parsed = parseWorkspaceSpec(raw)
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems))
  const workspace = { name: 'lab', uid: '' }
  const warned = renderComponents({ workspace, spec: parsed.spec, policy: POLICY }).flatMap((one) => one.warnings ?? [])
  expect(warned).not.toEqual([])
  expect(unsaid(parsed.spec)).toEqual([])
})
