import type { RequestReport } from '../../operator/kube/kube-client.ts'

/** Throws where the operator was refused what it asked for. In a namespace that is being deleted, or that has a quota, nobody may create everything. */
export function checkRights(requests: readonly RequestReport[]): void {
  const refused = requests.filter(({ verb, code }) => code === '401' || (code === '403' && verb !== 'create'))
  const names = new Set(refused.map(({ verb, resource }) => `${verb} ${resource}`))
  if (names.size > 0) throw new Error(`the operator lacks rights: ${[...names].join(', ')}`)
}

/** Throws where somebody wrote what a schema does not have, and the API server therefore dropped. */
export function checkSchemas(requests: readonly RequestReport[]): void {
  const dropped = requests.filter(({ warning }) => warning?.includes('unknown field'))
  const told = new Set(dropped.map(({ verb, resource, warning }) => `${verb} ${resource}: ${warning}`))
  if (told.size > 0) throw new Error(`a schema lacks what was written: ${[...told].join(', ')}`)
}
