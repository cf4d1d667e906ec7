import { useEffect, useRef, useState } from 'preact/hooks'
import type { UiKind, UiVerb } from '../rows.ts'
import { LabView } from './lab-view.tsx'
import { LabsView } from './labs-view.tsx'
import { ListView } from './list-view.tsx'
import type { PageStore } from './page-store.ts'
import { QueueView } from './queue-view.tsx'
import { hashOf, type Route, routeOf, TITLES, VIEWS } from './route.ts'
import { StoryPanel } from './story-view.tsx'
import { nextTheme, showTheme, type Theme, themeOf } from './theme.ts'
import { VerbDialog } from './verb-dialog.tsx'

const CONNECTION_WORDS = {
  connecting: 'connecting …',
  live: 'live',
  lost: 'ot ui does not answer: what is shown may be old',
} as const

/** The whole page. Its address says what is shown, so that Back, reloading and bookmarks work. */
export function App({ store }: { readonly store: PageStore }) {
  const [, setVersion] = useState(0)
  const [route, setRoute] = useState(routeOf(location.hash))
  const [verb, setVerb] = useState<{ readonly verb: UiVerb; readonly names: readonly string[] }>()
  const search = useRef<HTMLInputElement>(null)
  useEffect(() => store.subscribe(() => setVersion((version) => version + 1)), [store])
  useEffect(() => {
    const onHash = () => setRoute(routeOf(location.hash))
    addEventListener('hashchange', onHash)
    // It may have changed before anybody listened.
    onHash()
    return () => removeEventListener('hashchange', onHash)
  }, [])
  const go = (to: Partial<Route>) => {
    location.hash = hashOf({ ...route, ...to })
  }
  const filterBy = (filter: string) => {
    // A letter is no step to go back to.
    history.replaceState(null, '', hashOf({ ...route, filter }))
    setRoute({ ...route, filter })
  }
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const isElsewhere = event.ctrlKey || event.metaKey || event.altKey || verb !== undefined
      const key = isElsewhere ? undefined : meaningOf(event, route)
      if (key === undefined) return
      event.preventDefault()
      if (key === 'search') search.current?.focus()
      else if (key === 'leave search') search.current?.blur()
      else go(key)
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  })
  const open = (kind: UiKind, key: string) => go({ open: { kind, key } })
  return (
    <div class={`page ${route.open === undefined ? '' : 'with-story'}`}>
      <header class="top">
        <h1>Open Terrain</h1>
        <nav aria-label="Views">
          {VIEWS.map((view, index) => (
            <a
              key={view}
              href={hashOf({ view, filter: '' })}
              aria-current={route.view === view ? 'page' : undefined}
              title={`Key ${index + 1}`}
            >
              {TITLES[view]}
            </a>
          ))}
        </nav>
        <input
          ref={search}
          type="search"
          placeholder="Filter ( / )"
          aria-label="Filter by name, namespace, phase, reason, message or label"
          value={route.filter}
          onInput={({ currentTarget }) => filterBy(currentTarget.value)}
        />
        <ThemeButton />
        <span class={`connection ${store.connection}`} role="status">
          {CONNECTION_WORDS[store.connection]}
        </span>
      </header>
      <main>
        <Problems store={store} />
        <Shown
          store={store}
          route={route}
          go={go}
          onOpen={open}
          onVerb={(one, names) => setVerb({ verb: one, names })}
        />
      </main>
      {route.open !== undefined && (
        <StoryPanel
          store={store}
          kind={route.open.kind}
          objectKey={route.open.key}
          onClose={() => go({ open: undefined })}
        />
      )}
      {verb !== undefined && <VerbDialog {...verb} onClose={() => setVerb(undefined)} />}
    </div>
  )
}

/** Returns what a key means; undefined: nothing. */
function meaningOf(
  { key, target }: KeyboardEvent,
  route: Route,
): Partial<Route> | 'search' | 'leave search' | undefined {
  const isTyping = target instanceof HTMLInputElement && target.type !== 'checkbox'
  if (key === 'Escape') {
    if (route.open !== undefined) return { open: undefined }
    if (isTyping) return 'leave search'
    return route.lab === undefined ? undefined : { lab: undefined }
  }
  if (isTyping) return undefined
  if (key === '/') return 'search'
  const view = VIEWS[Number(key) - 1]
  return view === undefined ? undefined : { view, lab: undefined, open: undefined, filter: '' }
}

interface ShownProps {
  readonly store: PageStore
  readonly route: Route
  readonly go: (to: Partial<Route>) => void
  readonly onOpen: (kind: UiKind, key: string) => void
  readonly onVerb: (verb: UiVerb, names: readonly string[]) => void
}

function Shown({ store, route, go, onOpen, onVerb }: ShownProps) {
  const { view, filter, lab } = route
  const openKey = route.open?.key
  if (view === 'queue') return <QueueView store={store} filter={filter} onOpen={onOpen} openKey={openKey} />
  if (view !== 'labs')
    return <ListView store={store} kind={view} title={TITLES[view]} filter={filter} onOpen={onOpen} openKey={openKey} />
  if (lab !== undefined)
    return (
      <LabView
        store={store}
        name={lab}
        onBack={() => go({ lab: undefined })}
        addressOf={(kind, key) => hashOf({ ...route, open: { kind, key } })}
        onVerb={onVerb}
      />
    )
  return (
    <LabsView store={store} filter={filter} onShow={(name) => go({ lab: name, open: undefined })} onVerb={onVerb} />
  )
}

/** What cannot be shown, and why. */
function Problems({ store }: { readonly store: PageStore }) {
  const problems = Object.entries(store.problems)
  return (
    <div aria-live="polite">
      {problems.map(([kind, text]) => (
        <p class="problem" key={kind}>
          {TITLES[kind as UiKind]} cannot be read now: {text}
        </p>
      ))}
      {store.pending.length > 0 && store.connection === 'live' && (
        <p class="note">Reading {store.pending.map((kind) => TITLES[kind]).join(', ')} …</p>
      )}
    </div>
  )
}

function ThemeButton() {
  const [theme, setTheme] = useState<Theme>(themeOf())
  useEffect(() => showTheme(theme), [theme])
  return (
    <button type="button" onClick={() => setTheme(nextTheme(theme))} aria-label={`Colours: ${theme}. Change`}>
      {theme === 'auto' ? '◑' : theme === 'light' ? '☀' : '☾'}
    </button>
  )
}
