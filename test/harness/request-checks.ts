import type { RequestReport } from '../../operator/kube/kube-client.ts'

/** Throws if the operator was denied a request. Denied creations are ignored: a namespace that is being deleted, or has a quota, denies them too. */
export function checkRights(requests: readonly RequestReport[]): void {
  const refused = requests.filter(({ verb, code }) => code === '401' || (code === '403' && verb !== 'create'))
  const names = new Set(refused.map(({ verb, resource }) => `${verb} ${resource}`))
  if (names.size > 0) throw new Error(`the operator lacks rights: ${[...names].join(', ')}`)
}

/** Throws if a request wrote a field that the schema lacks, which the API server therefore dropped. */
export function checkSchemas(requests: readonly RequestReport[]): void {
  const dropped = requests.filter(({ warning }) => warning?.includes('unknown field'))
  const told = new Set(dropped.map(({ verb, resource, warning }) => `${verb} ${resource}: ${warning}`))
  if (told.size > 0) throw new Error(`a schema lacks what was written: ${[...told].join(', ')}`)
}
