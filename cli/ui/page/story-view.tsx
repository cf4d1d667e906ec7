import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { StoryLink, Subject } from '../../why/story.ts'
import type { Row, Story, UiKind } from '../rows.ts'
import type { PageStore } from './page-store.ts'
import { Badge, CommandLine, RowBadge, useNow } from './parts.tsx'
import { askStory } from './server.ts'
import { agoOf, stateOfPhase } from './states.ts'

/** What is known of one object: read when it is opened, and again when its row changes. */
export function useStory(
  store: PageStore,
  kind: UiKind,
  key: string,
): { readonly story?: Story; readonly problem?: string } {
  const [story, setStory] = useState<Story>()
  const [problem, setProblem] = useState<string>()
  const row = store.row(kind, key)
  useEffect(() => {
    const stopped = new AbortController()
    askStory(kind, key, stopped.signal).then(
      (told) => {
        setStory(told)
        setProblem(undefined)
      },
      (error: unknown) => {
        if (!stopped.signal.aborted) setProblem(error instanceof Error ? error.message : String(error))
      },
    )
    return () => stopped.abort()
  }, [kind, key, row])
  const isOfThis = story?.kind === kind && story.row.key === key
  return { ...(isOfThis && { story }), ...(problem !== undefined && { problem }) }
}

interface StoryPanelProps {
  readonly store: PageStore
  readonly kind: UiKind
  readonly objectKey: string
  readonly onClose: () => void
}

/** The story of one object, beside the view. */
export function StoryPanel({ store, kind, objectKey, onClose }: StoryPanelProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  const { story, problem } = useStory(store, kind, objectKey)
  useEffect(() => heading.current?.focus(), [kind, objectKey])
  return (
    <aside class="story" aria-labelledby="story-title">
      <header>
        <h2 id="story-title" ref={heading} tabIndex={-1}>
          {objectKey}
        </h2>
        <button type="button" onClick={onClose} aria-label="Close (Escape)">
          ✕
        </button>
      </header>
      {problem !== undefined && <p class="problem">{problem}</p>}
      {story === undefined ? problem === undefined && <p>Reading …</p> : <StoryBody story={story} />}
    </aside>
  )
}

export function StoryBody({ story }: { readonly story: Story }) {
  const now = useNow()
  return (
    <>
      <Standing row={story.row} now={now} />
      <Why story={story} />
      <Commands story={story} />
      {story.components.length > 0 && <Components story={story} />}
      <Section title="Conditions">
        <table>
          <thead>
            <tr>
              <th scope="col">Type</th>
              <th scope="col">Status</th>
              <th scope="col">Reason</th>
              <th scope="col">Since</th>
            </tr>
          </thead>
          <tbody>
            {story.conditions.map(({ type, status, reason, message, since }) => (
              <tr key={type} title={message}>
                <th scope="row">{type}</th>
                <td>{status}</td>
                <td>{reason}</td>
                <td>{agoOf(since, now)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Section>
      <Timeline story={story} now={now} />
    </>
  )
}

function Section({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section>
      <h3>{title}</h3>
      {children}
    </section>
  )
}

function Standing({ row, now }: { readonly row: Row; readonly now: number }) {
  return (
    <p class="standing">
      <RowBadge row={row} /> {row.reason !== row.phase && <strong>{row.reason}</strong>}
      {row.since !== undefined && <span class="faint"> for {agoOf(row.since, now)}</span>}
      <br />
      {row.message}
      {row.isStale === true && <em> The operator has not seen the last change yet.</em>}
    </p>
  )
}

/** The chain to the causes, and what to do about them, as `ot why` says it. */
function Why({ story: { explanation } }: { readonly story: Story }) {
  const { chain, causes, warnings } = explanation
  if (chain.isWell && warnings.length === 0) return null
  return (
    <Section title="Why">
      {chain.because.length > 0 && (
        <ul class="chain">
          <Link link={chain} />
        </ul>
      )}
      {[...(chain.isWell ? [] : causes), ...warnings].map(({ about, reason, message, remedy, isQuiet, commands }) => (
        <div class="cause" key={`${titleOf(about)} ${reason}`}>
          <p>
            <strong>
              {titleOf(about)}
              {reason !== undefined && `: ${reason}`}
            </strong>
            <br />
            {message}
          </p>
          {remedy !== undefined && <p>{remedy}</p>}
          {!isQuiet && <ToPaste lines={commands} />}
        </div>
      ))}
    </Section>
  )
}

function Link({ link }: { readonly link: StoryLink }) {
  const { about, phase, reason, unseen, isRepeated, isWell, because, more } = link
  const told =
    unseen ?? (isRepeated === true ? 'see above' : [phase, reason].filter((one) => one !== undefined).join(', '))
  return (
    <li>
      <Badge state={isWell ? 'good' : stateOfPhase(phase)} word={titleOf(about)} /> <span class="faint">{told}</span>
      {because.length + (more === undefined ? 0 : 1) > 0 && (
        <ul class="chain">
          {because.map((one) => (
            <Link key={titleOf(one.about)} link={one} />
          ))}
          {more !== undefined && <li class="faint">{more}</li>}
        </ul>
      )}
    </li>
  )
}

function titleOf({ kind, namespace, name }: Subject): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`
}

function Commands({ story }: { readonly story: Story }) {
  return (
    <Section title="To paste">
      <ToPaste lines={story.commands} />
    </Section>
  )
}

/** Commands, each with what it loses before it. */
function ToPaste({ lines }: { readonly lines: readonly string[] }) {
  return (
    <>
      {lines.map((text, index) =>
        text.startsWith('#') ? (
          <p class="loss" key={`${index} ${text}`}>
            Careful: the next command {text.slice(2)}.
          </p>
        ) : (
          <CommandLine key={`${index} ${text}`} text={text} />
        ),
      )}
    </>
  )
}

function Components({ story }: { readonly story: Story }) {
  return (
    <Section title="Components">
      <ul class="components">
        {story.components.map(({ kind, name, phase, reason, message }) => (
          <li key={`${kind}/${name}`}>
            <Badge state={stateOfPhase(phase)} word={phase} /> {kind} <strong>{name}</strong>{' '}
            {reason !== phase && <span class="faint">{reason}</span>}
            {message !== undefined && phase !== 'Ready' && <div>{message}</div>}
          </li>
        ))}
      </ul>
    </Section>
  )
}

function Timeline({
  story: { timeline, noEvents, hasMoreEvents },
  now,
}: {
  readonly story: Story
  readonly now: number
}) {
  return (
    <Section title="Timeline">
      {noEvents !== undefined && <p class="faint">Events cannot be shown: {noEvents}</p>}
      {hasMoreEvents === true && <p class="faint">There are more Events than these: see kubectl describe.</p>}
      <ol class="timeline">
        {timeline.map(({ at, from, isWarning, title, text, count }, index) => (
          <li key={`${at} ${from} ${title} ${index}`} class={isWarning ? 'warning' : ''}>
            <time dateTime={at} title={at}>
              {agoOf(at, now)} ago
            </time>{' '}
            <strong>
              {isWarning && 'Warning: '}
              {title}
            </strong>
            {count !== undefined && ` (${count} times)`}
            <div>{text}</div>
          </li>
        ))}
      </ol>
    </Section>
  )
}
