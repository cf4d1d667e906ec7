/** Fields whose value no message repeats: it is a secret, or may hold one. */
const UNTOLD: ReadonlySet<string> = new Set(['plain_text_passwd', 'ssh_authorized_keys', 'url'])

/** Whether messages about a field tell its value too. */
export function isTold(path: readonly PropertyKey[]): boolean {
  return !path.some((part) => UNTOLD.has(String(part)))
}

/** The message with the value behind it, where that is one that can be told in a few words. */
export function withValue(message: string, value: unknown): string {
  if (typeof value === 'string') return `${message}; it is ${JSON.stringify(value)}`
  const isPlain = value === null || ['number', 'boolean', 'bigint'].includes(typeof value)
  return isPlain ? `${message}; it is ${value}` : message
}
