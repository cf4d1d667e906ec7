import type { UiKind, UiVerb } from '../rows.ts'
import { LabMap } from './lab-map.tsx'
import type { PageStore } from './page-store.ts'
import { StoryBody, useStory } from './story-view.tsx'
import { VERB_WORDS } from './verb-dialog.tsx'

interface LabViewProps {
  readonly store: PageStore
  readonly name: string
  readonly onBack: () => void
  /** Returns the address of the story of an object, beside this. */
  readonly addressOf: (kind: UiKind, key: string) => string
  readonly onVerb: (verb: UiVerb, names: readonly string[]) => void
}

/** One lab as a whole: its map, and its story. */
export function LabView({ store, name, onBack, addressOf, onVerb }: LabViewProps) {
  const { story, problem } = useStory(store, 'labs', name)
  const namespace = store.row('labs', name)?.ownNamespace ?? name
  return (
    <>
      <div class="toolbar" role="toolbar" aria-label={`What to do with ${name}`}>
        <button type="button" onClick={onBack}>
          ← All labs
        </button>
        {(Object.keys(VERB_WORDS) as readonly UiVerb[]).map((verb) => (
          <button
            type="button"
            key={verb}
            class={VERB_WORDS[verb].isLoss ? 'danger' : ''}
            onClick={() => onVerb(verb, [name])}
          >
            {VERB_WORDS[verb].button}
          </button>
        ))}
      </div>
      <h2>{name}</h2>
      {problem !== undefined && <p class="problem">{problem}</p>}
      {story?.picture !== undefined && (
        <LabMap
          picture={story.picture}
          components={story.components}
          addressOf={(machine) => addressOf('machines', `${namespace}/${machine}`)}
        />
      )}
      {story !== undefined && <StoryBody story={story} />}
    </>
  )
}
