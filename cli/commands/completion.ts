import type { CommandDefinition } from '../command-line.ts'
import { completionScript, isShell, SHELLS } from '../completion.ts'
import { CommandError, EXIT_CODES } from '../exit-codes.ts'

export const defineCompletion: CommandDefinition = (command, line) => {
  command
    .addHelpText(
      'after',
      [
        '\nExamples:',
        '  source <(ot completion bash)',
        `  ot completion zsh > "\${fpath[1]}/_ot"`,
        '  ot completion fish > ~/.config/fish/completions/ot.fish',
        '\nkubectl ot is completed by a program kubectl_complete-ot on PATH:',
        `  printf '#!/bin/sh\\nexec ot __complete "$@"\\n' > ~/.local/bin/kubectl_complete-ot`,
        '  chmod +x ~/.local/bin/kubectl_complete-ot',
      ].join('\n'),
    )
    .action((shell: string) =>
      line.offline(async () => {
        if (!isShell(shell))
          throw new CommandError('usage', `there is no completion for ${shell}: say ${SHELLS.join(', ')}`)
        line.print(completionScript(shell))
        return EXIT_CODES.done
      }),
    )
}
