import type { Requests } from './bundled-operator.ts'
import type { Table } from './figure.ts'

/** How often each kind of request was sent in each run, and for each of what the run was about. */
export function requestTable(
  runs: readonly Requests[],
  { count, of }: { readonly count: number; readonly of: string },
): Table {
  const kinds = [...new Set(runs.flatMap((requests) => [...requests.keys()]))].toSorted()
  const rows = kinds.map((kind) => {
    const counts = runs.map((requests) => requests.get(kind) ?? 0)
    const each = counts.reduce((sum, one) => sum + one, 0) / runs.length / count
    return [kind, counts.join(', '), each.toFixed(2)]
  })
  return { title: 'API requests by kind', head: ['request', 'count in each run', `per ${of}`], rows }
}
