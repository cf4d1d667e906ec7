import type { Requests } from './bundled-operator.ts'
import type { Table } from './figure.ts'

/** Counts of each kind of request in each run, and the mean per item, such as per image. */
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
