import { layoutOf, type PlacedBus, type PlacedCard, type PlacedLink, type PlacedText, TEXT_SIZE } from './layout.ts'
import type { LabPicture } from './picture.ts'

/** Dark enough to be read on white, and told apart by most people. Each network has its number of them, and after the last the first again. */
const COLORS = ['#1d4ed8', '#b45309', '#047857', '#be123c', '#6d28d9', '#0e7490', '#4d7c0f', '#a21caf'] as const

/** Returns a picture as SVG. It has a light background of its own. */
export function svgOf(picture: LabPicture): string {
  const { width, height, title, buses, cards } = layoutOf(picture)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="${TEXT_SIZE}">`,
    `<title>${escaped(title.text)}</title>`,
    `<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8" fill="#ffffff" stroke="#d1d5db"/>`,
    text(title, { bold: true, size: 16 }),
    ...buses.map(
      ({ x, from, to, index }) =>
        `<line x1="${x}" y1="${from}" x2="${x}" y2="${to}" stroke="${colorOf(index)}" stroke-width="4" stroke-linecap="round"/>`,
    ),
    ...buses.flatMap(headOf),
    ...cards.flatMap(({ links }) => links.flatMap(linkOf)),
    ...cards.flatMap(cardOf),
    '</svg>',
    '',
  ].join('\n')
}

function headOf({ head, lines, index }: PlacedBus): string[] {
  const color = colorOf(index)
  return [
    `<rect x="${head.left}" y="${head.top}" width="${head.width}" height="${head.height}" rx="4" fill="#f9fafb" stroke="${color}" stroke-width="1.5"/>`,
    ...lines.map((line, at) => text(line, { bold: at === 0, color: at === 0 ? color : DARK })),
  ]
}

/** A line passes in front of the buses that it does not end at, with a gap on both sides. */
function linkOf({ link, from, to, y, label: words }: PlacedLink): string[] {
  const color = colorOf(link.network)
  return [
    `<line x1="${from}" y1="${y}" x2="${to - 6}" y2="${y}" stroke="#ffffff" stroke-width="7"/>`,
    `<line x1="${from}" y1="${y}" x2="${to}" y2="${y}" stroke="${color}" stroke-width="1.5"/>`,
    `<circle cx="${to}" cy="${y}" r="4.5" fill="${color}"/>`,
    ...(words === undefined ? [] : [label(words, y)]),
  ]
}

/** The text of a link is on its line, with a background of its own. */
function label({ text: words, right, width }: NonNullable<PlacedLink['label']>, y: number): string {
  return [
    `<rect x="${round(right - width)}" y="${y - 8}" width="${round(width)}" height="16" fill="#ffffff"/>`,
    `<text x="${right - 3}" y="${y + 4}" text-anchor="end" fill="${DARK}">${escaped(words)}</text>`,
  ].join('')
}

function cardOf({ member, box, lines }: PlacedCard): string[] {
  const fill = member.kind === 'machine' ? '#eef2ff' : '#ecfdf5'
  const dashes = member.kind === 'machine' ? '' : ' stroke-dasharray="5 3"'
  return [
    `<rect x="${box.left}" y="${box.top}" width="${box.width}" height="${box.height}" rx="4" fill="${fill}" stroke="#374151"${dashes}/>`,
    ...lines.map((line, at) => text(line, { bold: at === 0 })),
  ]
}

const DARK = '#1f2937'

interface TextStyle {
  readonly bold?: boolean
  readonly size?: number
  readonly color?: string
}

function text({ text: words, x, y }: PlacedText, { bold = false, size, color = DARK }: TextStyle): string {
  const weight = bold ? ' font-weight="bold"' : ''
  const own = size === undefined ? '' : ` font-size="${size}"`
  return `<text x="${x}" y="${y}" fill="${color}"${weight}${own} xml:space="preserve">${escaped(words)}</text>`
}

function round(length: number): number {
  return Math.round(length * 10) / 10
}

function colorOf(index: number): string {
  return COLORS[index % COLORS.length] ?? COLORS[0]
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** XML has no way to write most control characters and half characters. */
const NOT_IN_XML = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu

function escaped(words: string): string {
  return words.replace(NOT_IN_XML, '\u{FFFD}').replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}
