import type { Logger } from '../../../operator/runtime/log.ts'

/** A log that is only kept in memory. */
export interface FakeLog extends Logger {
  readonly lines: { readonly level: string; readonly facts: unknown; readonly text: string | undefined }[]
}

export function fakeLog(): FakeLog {
  const lines: { level: string; facts: unknown; text: string | undefined }[] = []
  const at = (level: string) => (facts: unknown, text?: string) => void lines.push({ level, facts, text })
  const log = { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), child: () => log }
  return log as unknown as FakeLog
}
