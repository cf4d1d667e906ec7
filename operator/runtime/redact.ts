const MESSAGE_LIMIT = 1_000

/** Leaves no presigned query and no userinfo of a URL in a text that others may read; cut to what a status can bear. */
export function redactUrls(text: string): string {
  const clean = text.replace(/\b([a-z][a-z0-9+.-]*:\/\/)([^\s"'<>]+)/gi, (_all, scheme: string, rest: string) => {
    const withoutUser = rest.replace(/^[^/?#]*@/, '')
    const query = withoutUser.search(/[?#]/)
    return scheme + (query < 0 ? withoutUser : `${withoutUser.slice(0, query)}?…`)
  })
  return clean.length > MESSAGE_LIMIT ? `${clean.slice(0, MESSAGE_LIMIT - 1)}…` : clean
}

/** What the log says about an error that should not happen at all: where it was thrown, too. */
export function traceOf(error: unknown): string {
  return redactUrls(error instanceof Error ? (error.stack ?? error.message) : String(error))
}
