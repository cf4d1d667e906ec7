import type { Command } from 'commander'
import type { KubeClient } from '../operator/kube/kube-client.ts'
import type { ExitCode } from './exit-codes.ts'
import type { ClusterChoice, Surroundings } from './surroundings.ts'

/** What a command is given when it is defined. */
export interface CommandLine extends Surroundings {
  /** Carries out work with a client of the cluster that the command line names. How the work ends is how the command ends. */
  readonly connected: (work: (client: KubeClient, context: ClusterContext) => Promise<ExitCode>) => Promise<void>
  /** The same without a cluster. */
  readonly offline: (work: () => Promise<ExitCode>) => Promise<void>
}

/** What the command line and the kubeconfig say beside the cluster. */
export interface ClusterContext {
  /** How the command line names the cluster: commands to paste have to name the same one. */
  readonly cluster: ClusterChoice
  /** Namespace of those who name none. */
  readonly namespace: string
  readonly readPath: ((path: string) => Promise<string>) | undefined
}

/** Adds options, examples and what is done to a command that has its name and description already. */
export type CommandDefinition = (command: Command, line: CommandLine) => void

/** One command. Its code is loaded when somebody says its name, so that `ot --help` starts without it. */
export interface CommandEntry {
  /** Name and arguments, as commander takes them: `labs [name...]`. */
  readonly usage: string
  /** One sentence for the list of commands, without a full stop. */
  readonly description: string
  readonly load: () => Promise<CommandDefinition>
}
