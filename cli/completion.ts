import { Command } from 'commander'
import type { KubeClient } from '../operator/kube/kube-client.ts'
import type { CommandEntry, CommandLine } from './command-line.ts'
import type { ClusterChoice } from './surroundings.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]

export function isShell(text: string): text is Shell {
  return (SHELLS as readonly string[]).includes(text)
}

/** What the first argument of a command names, where these are labs. */
const LAB_COMMANDS = /\[name\.\.\.\]|<lab>|\[name\]|\[lab-and-name\.\.\.\]|<lab-/
const OBJECT_COMMANDS = /object/

/** Each asks `ot __complete`, which prints one word a line. */
export function completionScript(shell: Shell): string {
  if (shell === 'fish') return "complete -c ot -f -a '(ot __complete (commandline -opc)[2..] (commandline -ct))'\n"
  if (shell === 'zsh')
    return [
      '#compdef ot',
      `_ot() { compadd -- \${(f)"$(ot __complete "\${words[@]:1:$((CURRENT-1))}" 2>/dev/null)"} }`,
      'if [ "$funcstack[1]" = _ot ]; then _ot; else compdef _ot ot; fi',
      '',
    ].join('\n')
  return [
    '_ot() {',
    "  local IFS=$'\\n'",
    `  COMPREPLY=($(ot __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))`,
    '}',
    'complete -F _ot ot',
    '',
  ].join('\n')
}

/** Options of `ot` itself, which may stand anywhere. */
const CLUSTER_OPTION = /^--(kubeconfig|context)(?:=(.*))?$/s

/**
 * Returns which cluster a command line names, and its other words. The last word, which is being typed, stays.
 * @param words what was typed, without the name of the program
 */
export function withoutClusterChoice(words: readonly string[]): {
  readonly choice: ClusterChoice
  readonly rest: readonly string[]
} {
  const last = words.length - 1
  let choice: ClusterChoice = {}
  const rest: string[] = []
  for (let at = 0; at <= last; at += 1) {
    const word = words[at] ?? ''
    const [, name, inWord] = (at < last && CLUSTER_OPTION.exec(word)) || []
    if (name === undefined) {
      rest.push(word)
      continue
    }
    // Its value is being typed: nothing is known of it.
    if (inWord === undefined && at + 1 === last) return { choice, rest: ['', ''] }
    choice = { ...choice, [name]: inWord ?? words[at + 1] }
    if (inWord === undefined) at += 1
  }
  return { choice, rest }
}

/**
 * Returns the words that may stand at the end of a command line.
 * @param words what was typed, without the name of the program; the last one is the word that is being typed
 * @param labNames names of labs, by the rights of the caller
 */
export async function completionsOf(
  entries: readonly CommandEntry[],
  words: readonly string[],
  line: CommandLine,
  labNames: () => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const typed = words.at(-1) ?? ''
  const [name, ...before] = words.slice(0, -1).filter((word) => !word.startsWith('-'))
  const begins = (all: readonly string[]) => all.filter((word) => word.startsWith(typed)).toSorted()
  const entry = entries.find(({ usage }) => usage.split(' ')[0] === name)
  if (entry === undefined)
    return name === undefined ? begins(entries.map(({ usage }) => usage.split(' ')[0] ?? '')) : []
  const command = new Command(name)
  ;(await entry.load())(command, line)
  const option = command.options.find(({ long, short }) => [long, short].includes(words.at(-2) ?? ''))
  if (option !== undefined && (option.required || option.optional)) return begins(option.argChoices ?? [])
  if (typed.startsWith('-')) return begins([...command.options.flatMap(({ long }) => long ?? []), '--help'])
  if (entry.usage.startsWith('completion')) return begins(SHELLS)
  if (OBJECT_COMMANDS.test(entry.usage)) return begins(['vmdi/', 'dsync/', 'otws/', 'otvm/'])
  const isOver = before.length > 0 && !entry.usage.includes('...')
  return LAB_COMMANDS.test(entry.usage) && !isOver ? begins(await labNames()) : []
}

/** Returns the names of all labs; none where they may not be listed. A completion says nothing of what goes wrong. */
export async function labNamesOf(client: KubeClient): Promise<readonly string[]> {
  const { labsOf } = await import('./labs.ts')
  const labs = await labsOf(client, { names: [], all: true }).catch(() => [])
  return labs.map(({ metadata }) => metadata.name)
}
