const GAP = '   '

/** What a terminal obeys, or would end a line: people and programs in a lab have a say in some texts. */
const CONTROL = /\p{Cc}+/gu

/** Returns a text as one line that a terminal only shows. */
export function shown(text: string): string {
  return text.replace(/\n/g, ' ').replace(CONTROL, '')
}

/** Returns lines whose columns line up, as those of kubectl do. The last column is not filled up. */
export function tableOf(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headers, ...rows].map((line) => line.map(shown))
  const widths = headers.map((_, at) => Math.max(...lines.map((line) => (line[at] ?? '').length)))
  const textOf = (line: readonly string[]) =>
    line
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join(GAP)
      .trimEnd()
  return lines.map((line) => `${textOf(line)}\n`).join('')
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const

/** Returns a duration in the largest unit that fits it once: `3d`, `45m`. Less than a second is `0s`. */
export function shortDuration(ms: number): string {
  const [unit, size] = UNITS.find(([, one]) => ms >= one) ?? ['s', 1_000]
  return `${Math.floor(Math.max(0, ms) / size)}${unit}`
}

const SIZES = ['TiB', 'GiB', 'MiB', 'KiB'] as const

/** Returns bytes in the largest unit that fits once: `10.0 GiB`. */
export function bytesText(bytes: number): string {
  const at = SIZES.findIndex((_, place) => bytes >= 1_024 ** (SIZES.length - place))
  return at < 0 ? `${bytes} B` : `${(bytes / 1_024 ** (SIZES.length - at)).toFixed(1)} ${SIZES[at]}`
}
