import type { ClusterChoice } from '../surroundings.ts'

/** What a command looks like that destroys something, and what to say before it. */
const LOSSES: readonly (readonly [RegExp, string])[] = [
  [/\b(?:rebuild|reset)-requested-at=/, '# loses what is on its disk'],
  [/^kubectl .*\bdelete secret\b/, '# loses the values that it has'],
  [/^kubectl .*\bdelete (?:pod|deployment)\b/, '# ends what runs in it'],
  [/^kubectl .*\bdelete\b/, '# loses what is on it'],
]

/** Returns the lines to paste: before each command that destroys something, one that says so. One behind it would be part of the command in zsh. @param cluster how the command line names it */
export function toPaste(commands: readonly string[], cluster: ClusterChoice = {}): readonly string[] {
  return commands.flatMap((command) => {
    const loss = LOSSES.find(([destroys]) => destroys.test(command))?.[1]
    const there = inCluster(command, cluster)
    return loss === undefined ? [there] : [loss, there]
  })
}

/** Returns a command for the cluster that the command line has named: the current one of the kubeconfig may be another. */
function inCluster(command: string, { kubeconfig, context }: ClusterChoice): string {
  const options = [
    ...(kubeconfig === undefined ? [] : [`--kubeconfig ${shellWord(kubeconfig)}`]),
    ...(context === undefined ? [] : [`--context ${shellWord(context)}`]),
  ]
  if (options.length === 0) return command
  return command.replace(/(^|&& )(kubectl|virtctl|ot) /g, (program) => `${program}${options.join(' ')} `)
}

/** Returns a word as a shell takes it. */
export function shellWord(word: string): string {
  return /^[-\w@%+=:,./]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
