import { randomUUID } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Flags } from '../../sandbox/control-plane/flags.ts'

/** Names the folder where API servers keep what operators ask of them. Unset: they keep nothing. */
export const AUDIT_LOGS = 'AUDIT_LOGS'

/** ServiceAccounts alone: the operator has one, people, simulators and the controllers of Kubernetes have none here. */
const POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  // What has not been answered is of no interest, but a watch counts from its beginning: it may end with its API server.
  omitStages: ['RequestReceived'],
  rules: [{ level: 'Metadata', userGroups: ['system:serviceaccounts'] }, { level: 'None' }],
}

/** Flags of an API server that writes an audit log of its own into the folder of {@link AUDIT_LOGS}. */
export async function auditFlags(): Promise<Flags> {
  const folder = process.env[AUDIT_LOGS]
  if (folder === undefined || folder === '') return {}
  await mkdir(folder, { recursive: true })
  const log = join(folder, `${randomUUID()}.log`)
  const policy = `${log}.policy.json`
  await writeFile(policy, JSON.stringify(POLICY))
  return { 'audit-policy-file': policy, 'audit-log-path': log }
}
