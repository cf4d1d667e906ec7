/** What was scraped, in the order of time, in the text format of OpenMetrics. */
export interface History {
  readonly begunMs: number
  readonly endedMs: number
  readonly lines: readonly string[]
}

const SAMPLE = /^(?<name>[a-zA-Z_:][\w:]*)(?:\{(?<labels>.*)\})? (?<value>\S+)$/

/** Returns the samples of a scrape with the labels of its target and the time. Comments are left out: a history repeats no types. */
export function samplesOf(text: string, target: Readonly<Record<string, string>>, atMs: number): string[] {
  const more = Object.entries(target).map(([label, value]) => `${label}="${value}"`)
  return text.split('\n').flatMap((line) => {
    if (line === '' || line.startsWith('#')) return []
    const { name, labels, value } = SAMPLE.exec(line)?.groups ?? {}
    if (name === undefined) throw new Error(`no sample of Prometheus: ${line}`)
    return [`${name}{${[...(labels ? [labels] : []), ...more].join(',')}} ${value} ${atMs / 1_000}`]
  })
}
