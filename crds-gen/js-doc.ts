interface Comment {
  readonly text: string
  /** What holds without the field. */
  readonly absent?: string
  readonly example?: string
}

const WIDTH = 150

/** Returns a comment for editors and documentation, with its line break. */
export function jsDoc({ text, absent, example }: Comment, indent = ''): string {
  const lines = [
    ...wrapped(plain(text), WIDTH - indent.length - 3),
    ...(absent === undefined ? [] : [`@default ${plain(absent)}`]),
    ...(example === undefined ? [] : [`@example ${plain(example)}`]),
  ]
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`
}

/** Nothing may end the comment, and no "@" may begin a tag or a link. */
function plain(text: string): string {
  return text.replaceAll('*/', '*\\/').replaceAll(/(^|\s)@/g, '$1\\@')
}

function wrapped(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/\s+/)) {
    if (line !== '' && line.length + word.length >= width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}
