import { type LabPicture, linesOf, type PictureLink, type PictureMember, type PictureNetwork } from './picture.ts'

/** Lengths in pixels. */
const MARGIN = 24
const TITLE = 34
const LINE = 17
const PADDING = 10
const GAP = 14
export const TEXT_SIZE = 12
/** From the end of a text to the bus that it belongs to, and from the bus to the end of its box. */
const BESIDE_BUS = 12
const CARD_TEXT = 36

/** Where everything of a picture is: each network is a line from top to bottom, each member a box at the left with one line to each of its networks. */
export interface Layout {
  readonly width: number
  readonly height: number
  readonly title: PlacedText
  readonly buses: readonly PlacedBus[]
  readonly cards: readonly PlacedCard[]
}

interface Box {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
}

export interface PlacedText {
  readonly text: string
  readonly x: number
  /** Of the line that letters stand on. */
  readonly y: number
}

export interface PlacedBus {
  /** Index in `networks` of the picture. */
  readonly index: number
  readonly network: PictureNetwork
  readonly head: Box
  /** The first is the name. */
  readonly lines: readonly PlacedText[]
  readonly x: number
  readonly from: number
  readonly to: number
}

export interface PlacedCard {
  readonly member: PictureMember
  readonly box: Box
  /** The first is the name. */
  readonly lines: readonly PlacedText[]
  readonly links: readonly PlacedLink[]
}

export interface PlacedLink {
  readonly link: PictureLink
  readonly from: number
  /** Where its network is. */
  readonly to: number
  readonly y: number
  /** Absent: there is nothing to say of it. It ends at `right`. */
  readonly label?: { readonly text: string; readonly right: number; readonly width: number }
}

/** Returns where everything is. Widths of texts are estimated, so it needs no browser. The same picture has the same layout. */
export function layoutOf(picture: LabPicture): Layout {
  const cardLines = picture.members.map((member) => linesOf(member).flatMap(wrapped))
  const cardWidth = Math.max(120, ...cardLines.flat().map(textWidth)) + 2 * PADDING
  const headHeight = Math.max(...picture.networks.map((network) => linesOf(network).length), 0) * LINE + PADDING
  const cardsTop = MARGIN + TITLE + (picture.networks.length > 0 ? headHeight + GAP : 0)
  const columns = columnsOf(picture, MARGIN + cardWidth + GAP)
  const cards = cardsOf(picture.members, cardLines, cardWidth, cardsTop, columns)
  const last = cards.at(-1)?.box
  const bottom = last === undefined ? cardsTop : last.top + last.height
  const lastColumn = columns.at(-1)
  const right = Math.max(
    lastColumn === undefined ? MARGIN + cardWidth : lastColumn.left + lastColumn.width,
    MARGIN + textWidth(picture.name) * 1.4,
  )
  const buses = picture.networks.map((network, index): PlacedBus => {
    const { left, width, x } = columns[index] as Column
    const head = { left, top: MARGIN + TITLE, width, height: headHeight }
    const ends = cards.flatMap(({ links }) => links.filter((one) => one.link.network === index).map(({ y }) => y))
    const lines = linesOf(network).map((text, at) => ({ text, x: left + PADDING, y: head.top + 16 + at * LINE }))
    return { index, network, head, lines, x, from: head.top + headHeight, to: ends.at(-1) ?? cardsTop }
  })
  return {
    width: Math.ceil(right) + MARGIN,
    height: bottom + MARGIN,
    title: { text: picture.name, x: MARGIN, y: MARGIN + 12 },
    buses,
    cards,
  }
}

interface Column {
  readonly left: number
  readonly width: number
  readonly x: number
}

/** A column is as wide as its widest text: a line of its box, or an address beside the bus. */
function columnsOf({ networks, members }: LabPicture, start: number): Column[] {
  const columns: Column[] = []
  let left = start
  for (const [index, network] of networks.entries()) {
    const head = Math.max(...linesOf(network).map(textWidth)) + 2 * PADDING
    const texts = members.flatMap(({ links }) => links.filter((link) => link.network === index))
    const labels = Math.max(0, ...texts.map((link) => textWidth(link.text))) + PADDING + 2 * BESIDE_BUS
    const width = Math.ceil(Math.max(head, labels))
    columns.push({ left, width, x: left + width - BESIDE_BUS })
    left += width + GAP
  }
  return columns
}

function cardsOf(
  members: readonly PictureMember[],
  texts: readonly (readonly string[])[],
  width: number,
  start: number,
  columns: readonly Column[],
): PlacedCard[] {
  let top = start
  return members.map((member, index): PlacedCard => {
    const own = texts[index] ?? []
    const box = { left: MARGIN, top, width, height: Math.max(own.length, member.links.length) * LINE + PADDING }
    const lines = own.map((text, at) => ({ text, x: MARGIN + PADDING, y: box.top + 16 + at * LINE }))
    const links = member.links.flatMap((link, at) => {
      const column = columns[link.network]
      return column === undefined ? [] : linkAt(link, MARGIN + width, column.x, box.top + PADDING + at * LINE + 2)
    })
    top += box.height + GAP
    return { member, box, lines, links }
  })
}

function linkAt(link: PictureLink, from: number, to: number, y: number): PlacedLink {
  if (link.text === '') return { link, from, to, y }
  return { link, from, to, y, label: { text: link.text, right: to - BESIDE_BUS, width: textWidth(link.text) + 6 } }
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
  return [...words].length * TEXT_SIZE * 0.61
}
