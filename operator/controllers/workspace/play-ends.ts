import { redactUrls } from '../../base/messages.ts'
import { withoutSecretsOf } from '../../base/secrets-of.ts'
import { find } from '../../kube/find.ts'
import { type KubeObject, keyOf, namespaceOf } from '../../kube/kube-object.ts'
import { SECRET } from '../../kube/resource-types.ts'
import { LiveReadLoop, type LiveReadLoopOptions } from '../../runtime/live-read-loop.ts'
import { type ContainerPodView, LAST_WORDS_MAX, type PlayJobView } from './child-views.ts'

/** A pod whose last words are asked for. */
interface AskedEnd {
  readonly pod: ContainerPodView
  readonly secrets: readonly string[]
}

/** What is said where a Secret is gone: nobody can tell any more what of the text is secret. */
const LEFT_OUT = 'what it said is left out, as a Secret with which it logged in is gone'

/**
 * Takes the values of Secrets out of what a pod that played roles said at its end. For this it reads the Secrets that the pod mounted, once. It keeps none of
 * them.
 */
export class PlayEnds extends LiveReadLoop {
  readonly #asked = new Map<string, AskedEnd>()
  /** By the pod in the cache, which is another object after each change. */
  readonly #texts = new WeakMap<ContainerPodView, string>()

  constructor(options: LiveReadLoopOptions) {
    super(options, 'workspace-plays', async (key, signal) => {
      const asked = this.#asked.get(key)
      if (asked === undefined) return undefined
      const { pod, secrets } = asked
      const namespace = namespaceOf(key)
      let text = redactLines(pod.lastWords?.text ?? '')
      for (const name of secrets) {
        const secret = await find(options.client, SECRET, { namespace, name }, { signal })
        text = secret === undefined ? LEFT_OUT : withoutCutSecret(withoutSecretsOf(text, SECRET.kind, secret), secret)
      }
      if (this.#asked.get(key) === asked) this.#asked.delete(key)
      this.#texts.set(pod, text)
      options.onChange(namespace)
      return undefined
    })
  }

  /** Returns what a pod said, without secrets, once that is known. */
  of({ secrets }: Pick<PlayJobView, 'secrets'>, pod: ContainerPodView): string | undefined {
    const known = this.#texts.get(pod)
    if (known === undefined) {
      const key = keyOf(pod.metadata)
      this.#asked.set(key, { pod, secrets })
      this.readAfter(key, 0)
    }
    return known
  }
}

/** Lines tell the end of a log from what came before, and one of them may be all that is said. */
function redactLines(text: string): string {
  const lines = text.split('\n')
  return lines.map((line) => redactUrls(line, LAST_WORDS_MAX)).join('\n')
}

/** Shorter parts of a value are found in ordinary words. */
const PART_MIN = 4

/** Takes out the part of a value with which a text begins or ends, because it was cut there. */
function withoutCutSecret(
  text: string,
  { data = {} }: KubeObject & { readonly data?: Readonly<Record<string, string>> },
): string {
  const values = Object.values(data).flatMap((one) => Buffer.from(one, 'base64').toString().split('\n'))
  return values.reduce((rest, value) => withoutEnds(rest, value.trim()), text)
}

function withoutEnds(text: string, value: string): string {
  const [, body = '', end = ''] = /^(.*?)(["}\u2026\s]*)$/s.exec(text) ?? []
  let rest = body
  for (let length = value.length - 1; length >= PART_MIN; length -= 1) {
    if (rest.startsWith(value.slice(-length))) rest = `…${rest.slice(length)}`
    if (rest.endsWith(value.slice(0, length))) rest = `${rest.slice(0, -length)}…`
  }
  return `${rest}${end}`
}
