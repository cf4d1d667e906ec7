/** A block of code in a page. */
export interface DocBlock {
  readonly language: string
  readonly text: string
  /** The file that it is the content of: the paragraph before it ends with "This is `lab.ts`:". Undefined: it is a part of the page. */
  readonly file: string | undefined
  /** The paragraph before it. */
  readonly before: string
}

const BLOCK = /^```(\w+)\n(.*?)^```$/gms

/** Returns the blocks of code of a page in Markdown, from top to bottom. Those without a language are output. */
export function docBlocks(page: string): DocBlock[] {
  return [...page.matchAll(BLOCK)].map(({ 1: language = '', 2: text = '', index }) => {
    const before = page.slice(0, index).trimEnd().split('\n\n').at(-1) ?? ''
    return { language, text, before, file: /This is `([\w.-]+)`:$/.exec(before)?.[1] }
  })
}
