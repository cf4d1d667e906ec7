import type { Story, UiKind, VerbAnswer, VerbRequest } from '../rows.ts'

/** Asks the server for the story of an object. Throws an Error with one sentence. */
export async function askStory(kind: UiKind, key: string, signal: AbortSignal): Promise<Story> {
  const query = new URLSearchParams({ kind, key })
  const response = await fetch(`api/story?${query}`, { signal })
  if (!response.ok) throw new Error(await response.text())
  return (await response.json()) as Story
}

/** Asks the server to do something with labs. Every failure is a problem of the answer. */
export async function askVerb(request: VerbRequest): Promise<VerbAnswer> {
  try {
    const response = await fetch('api/verbs', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request),
    })
    return response.ok ? ((await response.json()) as VerbAnswer) : { problem: await response.text() }
  } catch {
    return { problem: 'ot ui does not answer: is it still running?' }
  }
}
