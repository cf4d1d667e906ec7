import { randomUUID } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Flags } from '../../sandbox/control-plane/flags.ts'

/** Environment variable that names the folder where API servers log the requests of operators. Unset: nothing is logged. */
export const AUDIT_LOGS = 'AUDIT_LOGS'

/** Logs only requests of ServiceAccounts. Here only the operator has one; people, simulators and Kubernetes controllers do not. */
const POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  // Requests without a response do not matter. A watch is logged when it starts, because it may end together with its API server.
  omitStages: ['RequestReceived'],
  rules: [{ level: 'Metadata', userGroups: ['system:serviceaccounts'] }, { level: 'None' }],
}

/** Returns the flags of an API server that writes its own audit log into the folder of {@link AUDIT_LOGS}. */
export async function auditFlags(): Promise<Flags> {
  const folder = process.env[AUDIT_LOGS]
  if (folder === undefined || folder === '') return {}
  await mkdir(folder, { recursive: true })
  const log = join(folder, `${randomUUID()}.log`)
  const policy = `${log}.policy.json`
  await writeFile(policy, JSON.stringify(POLICY))
  return { 'audit-policy-file': policy, 'audit-log-path': log }
}
