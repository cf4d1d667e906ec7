import { CommandError } from './exit-codes.ts'
import type { Surroundings } from './surroundings.ts'

/** Throws a CommandError unless somebody says yes. */
export async function confirm({ ask }: Pick<Surroundings, 'ask'>, question: string): Promise<void> {
  if (ask === undefined)
    throw new CommandError('declined', `nobody is at a terminal to be asked "${question}": say --yes`)
  const answer = await ask(`${question} [y/N] `)
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError('declined', 'nothing was done')
}
