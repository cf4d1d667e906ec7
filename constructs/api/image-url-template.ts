/** Placeholders of the policy key imageUrlTemplate: the name of the image, and fields of one machine of a workspace with it. */
export const IMAGE_URL_WORDS = ['image', 'name', 'version', 'baseVm', 'baseVmVersion'] as const
export type ImageUrlWords = Readonly<Record<(typeof IMAGE_URL_WORDS)[number], string | undefined>>

const PLACEHOLDER = /\{([a-zA-Z]+)\}/g

/** Returns the words in braces that are not placeholders. */
export function unknownWords(template: string): string[] {
  return wordsIn(template).filter((word) => !(IMAGE_URL_WORDS as readonly string[]).includes(word))
}

/**
 * Returns the URL of a machine's image, or a `problem` that names the field that the machine lacks: no part of a URL is ever left out. The caller
 * must validate the URL like any other.
 */
export function fillImageUrl(
  template: string,
  words: ImageUrlWords,
): { readonly ok: true; readonly url: string } | { readonly ok: false; readonly problem: string } {
  const values = new Map<string, string | undefined>(Object.entries(words))
  const missing = wordsIn(template).find((word) => values.get(word) === undefined)
  if (missing !== undefined) return { ok: false, problem: `it has no ${missing}, which the template names` }
  return { ok: true, url: template.replaceAll(PLACEHOLDER, (_, word: string) => values.get(word) ?? '') }
}

function wordsIn(template: string): string[] {
  return [...template.matchAll(PLACEHOLDER)].map(([, word = '']) => word)
}
