import { type LabPicture, linesOf, type PictureMember, type PictureNetwork } from './lab-picture.ts'

/** Lengths in pixels. */
const MARGIN = 24
const TITLE = 34
const LINE = 17
const PADDING = 10
const GAP = 14
const SIZE = 12
/** From the end of a text to the bus that it belongs to, and from the bus to the end of its box. */
const BESIDE_BUS = 12
const CARD_TEXT = 36

/** Dark enough to be read on white, and told apart by most people. Each network has its number of them, and after the last the first again. */
const COLORS = ['#1d4ed8', '#b45309', '#047857', '#be123c', '#6d28d9', '#0e7490', '#4d7c0f', '#a21caf'] as const

interface Bus {
  readonly left: number
  readonly width: number
  readonly x: number
  readonly color: string
  readonly network: PictureNetwork
}

interface Card {
  readonly member: PictureMember
  readonly lines: readonly string[]
  readonly top: number
  readonly height: number
}

/**
 * Returns a picture as SVG: each network is a line from top to bottom, each member a box at the left with one line to each of its networks. It has a light
 * background of its own. Widths of texts are estimated, so it needs no browser.
 */
export function svgOf(picture: LabPicture): string {
  const cardLines = picture.members.map((member) => linesOf(member).flatMap(wrapped))
  const cardWidth = Math.max(120, ...cardLines.flat().map(textWidth)) + 2 * PADDING
  const buses = busesOf(picture, MARGIN + cardWidth + GAP)
  const headHeight = Math.max(...picture.networks.map((network) => linesOf(network).length), 0) * LINE + PADDING
  const cardsTop = MARGIN + TITLE + (picture.networks.length > 0 ? headHeight + GAP : 0)
  const cards = cardsOf(picture.members, cardLines, cardsTop)
  const last = cards.at(-1)
  const bottom = last === undefined ? cardsTop : last.top + last.height
  const lastBus = buses.at(-1)
  const right = Math.max(
    lastBus === undefined ? MARGIN + cardWidth : lastBus.left + lastBus.width,
    MARGIN + textWidth(picture.name) * 1.4,
  )
  const [width, height] = [Math.ceil(right) + MARGIN, bottom + MARGIN]
  const ends = buses.map((_bus, index) => endOf(index, cards) ?? cardsTop)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="${SIZE}">`,
    `<title>${escaped(picture.name)}</title>`,
    `<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8" fill="#ffffff" stroke="#d1d5db"/>`,
    text(picture.name, { x: MARGIN, y: MARGIN + 12, bold: true, size: 16 }),
    ...buses.map(
      ({ x, color }, index) =>
        `<line x1="${x}" y1="${MARGIN + TITLE + headHeight}" x2="${x}" y2="${ends[index]}" stroke="${color}" stroke-width="4" stroke-linecap="round"/>`,
    ),
    ...buses.flatMap((bus) => headOf(bus, headHeight)),
    ...cards.flatMap((card) => linksOf(card, buses, MARGIN + cardWidth)),
    ...cards.flatMap((card) => cardOf(card, cardWidth)),
    '</svg>',
    '',
  ].join('\n')
}

/** A column is as wide as its widest text: a line of its box, or an address beside the bus. */
function busesOf({ networks, members }: LabPicture, start: number): Bus[] {
  const buses: Bus[] = []
  let left = start
  for (const [index, network] of networks.entries()) {
    const head = Math.max(...linesOf(network).map(textWidth)) + 2 * PADDING
    const texts = members.flatMap(({ links }) => links.filter((link) => link.network === index))
    const labels = Math.max(0, ...texts.map((link) => textWidth(link.text))) + PADDING + 2 * BESIDE_BUS
    const width = Math.ceil(Math.max(head, labels))
    buses.push({ left, width, x: left + width - BESIDE_BUS, color: colorOf(index), network })
    left += width + GAP
  }
  return buses
}

function cardsOf(members: readonly PictureMember[], lines: readonly (readonly string[])[], start: number): Card[] {
  let top = start
  return members.map((member, index): Card => {
    const own = lines[index] ?? []
    const rows = Math.max(own.length, member.links.length)
    const card = { member, lines: own, top, height: rows * LINE + PADDING }
    top += card.height + GAP
    return card
  })
}

/** Where the line of an interface is. */
function rowOf({ top }: Card, index: number): number {
  return top + PADDING + index * LINE + 2
}

/** Returns where a bus ends: at its last member. Undefined: it has none. */
function endOf(network: number, cards: readonly Card[]): number | undefined {
  const rows = cards.flatMap((card) =>
    card.member.links.flatMap((link, index) => (link.network === network ? [rowOf(card, index)] : [])),
  )
  return rows.at(-1)
}

function headOf({ left, width, color, network }: Bus, height: number): string[] {
  const top = MARGIN + TITLE
  return [
    `<rect x="${left}" y="${top}" width="${width}" height="${height}" rx="4" fill="#f9fafb" stroke="${color}" stroke-width="1.5"/>`,
    ...linesOf(network).map((line, index) =>
      text(line, {
        x: left + PADDING,
        y: top + 16 + index * LINE,
        bold: index === 0,
        color: index === 0 ? color : DARK,
      }),
    ),
  ]
}

/** A line passes in front of the buses that it does not end at, with a gap on both sides. */
function linksOf(card: Card, buses: readonly Bus[], from: number): string[] {
  return card.member.links.flatMap((link, index) => {
    const bus = buses[link.network]
    if (bus === undefined) return []
    const y = rowOf(card, index)
    const path = `x1="${from}" y1="${y}" x2="${bus.x}" y2="${y}"`
    return [
      `<line x1="${from}" y1="${y}" x2="${bus.x - 6}" y2="${y}" stroke="#ffffff" stroke-width="7"/>`,
      `<line ${path} stroke="${bus.color}" stroke-width="1.5"/>`,
      `<circle cx="${bus.x}" cy="${y}" r="4.5" fill="${bus.color}"/>`,
      ...(link.text === '' ? [] : [label(link.text, bus.x - BESIDE_BUS, y)]),
    ]
  })
}

/** The text of a link is on its line, with a background of its own. */
function label(words: string, right: number, y: number): string {
  const width = textWidth(words) + 6
  return [
    `<rect x="${round(right - width)}" y="${y - 8}" width="${round(width)}" height="16" fill="#ffffff"/>`,
    `<text x="${right - 3}" y="${y + 4}" text-anchor="end" fill="${DARK}">${escaped(words)}</text>`,
  ].join('')
}

function cardOf({ member, lines, top, height }: Card, width: number): string[] {
  const fill = member.kind === 'machine' ? '#eef2ff' : '#ecfdf5'
  const dashes = member.kind === 'machine' ? '' : ' stroke-dasharray="5 3"'
  return [
    `<rect x="${MARGIN}" y="${top}" width="${width}" height="${height}" rx="4" fill="${fill}" stroke="#374151"${dashes}/>`,
    ...lines.map((line, index) =>
      text(line, { x: MARGIN + PADDING, y: top + 16 + index * LINE, bold: index === 0, color: DARK }),
    ),
  ]
}

const DARK = '#1f2937'

interface TextStyle {
  readonly x: number
  readonly y: number
  readonly bold?: boolean
  readonly size?: number
  readonly color?: string
}

function text(words: string, { x, y, bold = false, size, color = DARK }: TextStyle): string {
  const weight = bold ? ' font-weight="bold"' : ''
  const own = size === undefined ? '' : ` font-size="${size}"`
  return `<text x="${x}" y="${y}" fill="${color}"${weight}${own} xml:space="preserve">${escaped(words)}</text>`
}

/** Breaks a line at spaces. What has none stays whole, and its box becomes wider. */
function wrapped(line: string): string[] {
  const lines: string[] = []
  for (const word of line.split(' ')) {
    const last = lines.at(-1)
    if (last === undefined || last.length + word.length >= CARD_TEXT)
      lines.push(last === undefined ? word : `  ${word}`)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}

/** The width of a letter of the fonts that are named is at most 0.61 of their size. */
function textWidth(words: string): number {
  return [...words].length * SIZE * 0.61
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
