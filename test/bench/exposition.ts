export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g

/** Parses the Prometheus text format. Skips comments and lines that are not samples. */
export function parseExposition(text: string): Sample[] {
  return text.split('\n').flatMap((line) => {
    const match = LINE.exec(line)
    if (match === null) return []
    const [, name = '', labels = '', value] = match
    const pairs = [...labels.matchAll(LABEL)].map(([, key, text]) => [key, text])
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }]
  })
}

/** Sum of all samples with this name and at least these labels. 0 if there are none. */
export function sumOf(samples: readonly Sample[], name: string, labels: Readonly<Record<string, string>> = {}): number {
  const wanted = Object.entries(labels)
  return samples
    .filter((sample) => sample.name === name && wanted.every(([key, value]) => sample.labels[key] === value))
    .reduce((sum, { value }) => sum + value, 0)
}
