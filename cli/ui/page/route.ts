import { UI_KINDS, type UiKind } from '../rows.ts'

export const VIEWS = ['queue', 'labs', 'images', 'machines', 'syncs', 'points'] as const
export type View = (typeof VIEWS)[number]

export const TITLES: Readonly<Record<View, string>> = {
  queue: 'Queue',
  labs: 'Labs',
  images: 'Images',
  machines: 'Machines',
  syncs: 'DataSyncs',
  points: 'Points in time',
}

/** What the page shows, as its address says: `#/labs`, `#/labs?lab=redblue`, `#/images?filter=Failed&open=images/vmdi-a/kali`. */
export interface Route {
  readonly view: View
  readonly filter: string
  /** A lab that is shown as a whole. */
  readonly lab?: string | undefined
  /** An object whose story is open beside the view. */
  readonly open?: { readonly kind: UiKind; readonly key: string } | undefined
}

export function routeOf(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?')
  const params = new URLSearchParams(query)
  const view = VIEWS.find((one) => one === path) ?? 'labs'
  const [kindText = '', ...rest] = (params.get('open') ?? '').split('/')
  const kind = UI_KINDS.find((one) => one === kindText)
  return {
    view,
    filter: params.get('filter') ?? '',
    lab: view === 'labs' ? (params.get('lab') ?? undefined) : undefined,
    open: kind === undefined || rest.length === 0 ? undefined : { kind, key: rest.join('/') },
  }
}

export function hashOf({ view, filter, lab, open }: Route): string {
  const params = new URLSearchParams()
  if (lab !== undefined) params.set('lab', lab)
  if (filter !== '') params.set('filter', filter)
  if (open !== undefined) params.set('open', `${open.kind}/${open.key}`)
  const query = params.toString()
  return `#/${view}${query === '' ? '' : `?${query}`}`
}
