import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CLUSTER_ACCESS, NAMESPACE_ACCESS } from '@open-terrain/constructs/platform'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { AUDIT_LOGS } from '../harness/audit-log.ts'
import { differences, type Unseen } from './differences.ts'
import { readUses, type Use } from './uses.ts'

const ROOT = join(import.meta.dirname, '../..')
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs')

const UNSEEN: Unseen = {
  'use vmdiskimages': 'admission asks the authorizer for it, which writes no audit log',
  'manage workspaces': 'admission asks the authorizer for it, which writes no audit log',
  'update vmdiskimages/finalizers': 'admission asks for it where an owner is to block its deletion',
  'update virtualmachines/finalizers': 'admission asks for it where an owner is to block its deletion',
  'update workspaces/finalizers': 'admission asks for it where an owner is to block its deletion',
  'update workspacesnapshots/finalizers': 'admission asks for it where an owner is to block its deletion',
  'list virtualmachinesnapshots':
    'only an API server that begins no watch with what exists is asked for it, once somebody takes a snapshot: the scenario of such a server has none',
  'bind clusterroles': 'the API server asks for it where a RoleBinding is created',
  'create datavolumes/source': 'CDI asks for it by a SubjectAccessReview of its own',
}

/** The folder with the audit logs of all scenarios, quick and deep. If unset, the scenarios run now. */
const given = process.env[AUDIT_LOGS]
let folder = given ?? ''
let uses: readonly Use[] = []

beforeAll(async () => {
  if (given === undefined) {
    folder = await mkdtemp(join(tmpdir(), 'open-terrain-audit-'))
    for (const mode of ['test', 'deep']) await runScenarios(mode)
  }
  uses = await readUses(folder)
})

afterAll(async () => {
  if (given === undefined && folder !== '') await rm(folder, { recursive: true, force: true })
})

/** Other runs show whether the scenarios succeed. */
async function runScenarios(mode: string): Promise<void> {
  const args = [VITEST, 'run', '--mode', mode, '--project', 'scenario', '--reporter', 'dot']
  // Without the variables that this run sets for its own workers.
  const kept = Object.entries(process.env).filter(([name]) => !/^(VITEST|TEST$|NODE_ENV$)/.test(name))
  const env = { ...Object.fromEntries(kept), [AUDIT_LOGS]: folder }
  const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ['ignore', 'ignore', 'inherit'] })
  const [code] = await once(child, 'exit')
  if (code !== 0) process.stderr.write(`scenarios (${mode}) ended with exit code ${code}\n`)
}

it('the operator is granted what it uses in all scenarios, and nothing else', () => {
  expect(uses.length, `audit logs in ${folder}`).toBeGreaterThan(50)
  expect(differences({ cluster: CLUSTER_ACCESS, own: NAMESPACE_ACCESS }, uses, UNSEEN)).toEqual([])
})
