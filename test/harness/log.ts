import type { Logger } from '../../operator/runtime/log.ts'

/** A log that is kept as JSON lines. */
export class LogBook {
  readonly lines: string[] = []
  readonly log: Logger

  constructor() {
    const write =
      (level: string) =>
      (...args: unknown[]) => {
        this.lines.push(JSON.stringify([new Date().toISOString(), level, ...args]))
      }
    this.log = {
      debug: write('debug'),
      info: write('info'),
      warn: write('warn'),
      error: write('error'),
      child: () => this.log,
    } as unknown as Logger
  }
}

const nothing = () => undefined

export const silentLog: Logger = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  child: () => silentLog,
} as unknown as Logger
