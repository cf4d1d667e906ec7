import { useEffect, useRef, useState } from 'preact/hooks'
import type { UiVerb, VerbAnswer } from '../rows.ts'
import { askVerb } from './server.ts'

const HOUR_MS = 3_600_000
const EXTEND_HOURS = 24
const LONGEST_HOURS = 8_784

interface VerbWords {
  readonly button: string
  /** What it does to what people have. */
  readonly effect: string
  /** Work of people is lost: that is shown before, and somebody has to say yes. */
  readonly isLoss?: true
}

export const VERB_WORDS: Readonly<Record<UiVerb, VerbWords>> = {
  start: { button: 'Start', effect: 'Switches the labs on again. Disks, volumes and addresses are as they were.' },
  stop: { button: 'Stop', effect: 'Shuts guests and containers down. Disks, volumes, addresses and images stay.' },
  extend: { button: 'Extend', effect: 'Gives the labs a later end. One that has ended is switched on.' },
  rebuild: {
    button: 'Rebuild',
    effect: 'Gives new disks to machines that are outdated, or have lost theirs.',
    isLoss: true,
  },
  reset: { button: 'Reset', effect: 'Gives new disks to all machines.', isLoss: true },
}

interface VerbDialogProps {
  readonly verb: UiVerb
  readonly names: readonly string[]
  readonly onClose: () => void
}

/** Asks before something is done with labs, does it, and says what became of each. */
export function VerbDialog({ verb, names, onClose }: VerbDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [hours, setHours] = useState(EXTEND_HOURS)
  const [loss, setLoss] = useState<VerbAnswer>()
  const [answer, setAnswer] = useState<VerbAnswer>()
  const [isBusy, setBusy] = useState(false)
  const { button, effect, isLoss = false } = VERB_WORDS[verb]
  useEffect(() => dialog.current?.showModal(), [])
  useEffect(() => {
    if (isLoss) void askVerb({ verb, names }).then(setLoss)
  }, [verb, names, isLoss])
  const carryOut = async () => {
    setBusy(true)
    setAnswer(await askVerb({ verb, names, isConfirmed: true, ...(verb === 'extend' && { byMs: hours * HOUR_MS }) }))
    setBusy(false)
  }
  const isKnown = !isLoss || loss?.outcomes !== undefined
  const isNothing = loss?.outcomes?.every(({ result }) => result === 'unchanged') === true
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="verb-title">
      <h2 id="verb-title">
        {button} {names.length === 1 ? names[0] : `${names.length} labs`}
      </h2>
      <p>{effect}</p>
      {names.length > 1 && <p class="faint">{names.join(', ')}</p>}
      {verb === 'extend' && answer === undefined && (
        <p>
          <label>
            By{' '}
            <input
              type="number"
              min={1}
              max={LONGEST_HOURS}
              value={hours}
              onInput={({ currentTarget }) => setHours(Number(currentTarget.value))}
            />{' '}
            hours
          </label>
        </p>
      )}
      {isLoss && answer === undefined && (
        <section aria-live="polite">
          <h3 class="loss">What is on these disks is lost</h3>
          {loss === undefined ? <p>Looking …</p> : <Answer answer={loss} />}
        </section>
      )}
      {answer !== undefined && (
        <section aria-live="polite">
          <h3>Done</h3>
          <Answer answer={answer} />
        </section>
      )}
      <form method="dialog" class="buttons">
        {answer === undefined && (
          <button
            type="button"
            class={isLoss ? 'danger' : 'primary'}
            disabled={isBusy || !isKnown || isNothing}
            onClick={carryOut}
          >
            {isLoss ? `${button}, and lose what is listed` : button}
          </button>
        )}
        <button type="submit">{answer === undefined ? 'Cancel' : 'Close'}</button>
      </form>
    </dialog>
  )
}

function Answer({ answer }: { readonly answer: VerbAnswer }) {
  if (answer.problem !== undefined) return <p class="problem">{answer.problem}</p>
  return (
    <ul>
      {answer.outcomes.map(({ name, result, text }) => (
        <li key={name} class={result === 'refused' ? 'problem' : ''}>
          <strong>{name}</strong>: {WORDS[result] ?? result}
          {text !== '' && `: ${text}`}
        </li>
      ))}
    </ul>
  )
}

const WORDS: Readonly<Record<string, string>> = {
  changed: 'asked for',
  unchanged: 'nothing to do',
  planned: 'would be made again',
  refused: 'was not changed',
}
