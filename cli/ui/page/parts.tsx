import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Row } from '../rows.ts'
import { SIGNS, type State, stateOf, wordFor } from './states.ts'

/** How something is: a sign, and a word. */
export function Badge({ state, word }: { readonly state: State; readonly word: string }) {
  return (
    <span class={`badge ${state}`}>
      <span aria-hidden="true">{SIGNS[state]}</span> {word}
    </span>
  )
}

export function RowBadge({ row }: { readonly row: Row }) {
  return <Badge state={stateOf(row)} word={wordFor(row)} />
}

/** How much of a download is there, as far as CDI tells. */
export function Progress({ percent }: { readonly percent: number | undefined }) {
  if (percent === undefined) return <span class="faint">no progress reported</span>
  return (
    <span class="progress">
      <progress max={100} value={percent} aria-label="Progress of the download" /> {percent.toFixed(1)} %
    </span>
  )
}

export function Note({ children }: { readonly children: ComponentChildren }) {
  return <p class="note">{children}</p>
}

/** Returns the time, which moves on by itself so that ages stay true. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  return now
}

/** A command to paste. */
export function CommandLine({ text }: { readonly text: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = () => {
    navigator.clipboard.writeText(text).then(
      () => setCopied(true),
      () => setCopied(false),
    )
  }
  return (
    <div class="command">
      <code>{text}</code>
      <button type="button" onClick={copy} aria-label={`Copy the command ${text}`}>
        {isCopied ? 'copied' : 'copy'}
      </button>
    </div>
  )
}
