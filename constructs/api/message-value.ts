/** Fields whose value is never repeated in messages, because it is or may contain a secret. */
const SECRET_FIELDS: ReadonlySet<string> = new Set(['plain_text_passwd', 'ssh_authorized_keys', 'url'])

/** Reports whether messages about a field may include its value. */
export function mayBeShown(path: readonly PropertyKey[]): boolean {
  return !path.some((part) => SECRET_FIELDS.has(String(part)))
}

/** Appends the value to the message if it is a string, number, boolean or null. */
export function withValue(message: string, value: unknown): string {
  if (typeof value === 'string') return `${message}; it is ${JSON.stringify(value)}`
  const isPlain = value === null || ['number', 'boolean', 'bigint'].includes(typeof value)
  return isPlain ? `${message}; it is ${value}` : message
}
