import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { cpuSecondsOf } from './process-stats.ts'

interface Question {
  readonly id: number
}

interface Reply extends Question {
  readonly answer: unknown
}

/** Runs a module of this folder in its own process, so that its work delays no other. The process ends when its parent does. */
export class Child implements AsyncDisposable {
  readonly #child: ChildProcess
  /** Rejects when it has ended. */
  readonly #ended: Promise<never>
  #asked = 0

  private constructor(child: ChildProcess, ended: Promise<never>) {
    this.#child = child
    this.#ended = ended
  }

  /** Resolves when the module calls {@link serveParent}. @param plan plain JSON, which {@link planOf} returns in the child */
  static async start(module: string, plan: object): Promise<Child> {
    const child = fork(join(import.meta.dirname, module), [JSON.stringify(plan)], { execArgv: [] })
    const ended = once(child, 'exit').then(() => {
      throw new Error(`${module} has ended`)
    })
    ended.catch(() => undefined)
    await Promise.race([once(child, 'message'), ended])
    return new Child(child, ended)
  }

  /** Returns the child's answer. Rejects if the child ends first. */
  async ask<Answer>(): Promise<Answer> {
    const id = ++this.#asked
    const answer = Promise.withResolvers<Answer>()
    const onMessage = (message: unknown) => {
      const reply = message as Reply
      if (reply.id === id) answer.resolve(reply.answer as Answer)
    }
    this.#child.on('message', onMessage)
    this.#child.send({ id } satisfies Question)
    try {
      return await Promise.race([answer.promise, this.#ended])
    } finally {
      this.#child.off('message', onMessage)
    }
  }

  cpuSeconds(): Promise<number> {
    return cpuSecondsOf(this.#child.pid ?? 0)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = once(this.#child, 'exit')
    this.#child.disconnect()
    await exited
  }
}

/** In the child: returns the plan that it was started with. */
export function planOf<Plan>(): Plan {
  return JSON.parse(process.argv[2] ?? '{}') as Plan
}

/** In the child: reports to the parent that it is ready, answers each of its questions, and ends with it. An error ends it too. */
export function serveParent(answer: () => Promise<unknown>): void {
  process.on('message', async ({ id }: Question) => {
    process.send?.({ id, answer: await answer() } satisfies Reply)
  })
  process.on('disconnect', () => process.exit(0))
  process.send?.('ready')
}
