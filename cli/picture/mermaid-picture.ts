import { type LabPicture, linesOf } from './picture.ts'

/** Characters that mean nothing in a quoted text of Mermaid. All others are written as numbers. */
const PLAIN = /[^A-Za-z0-9 .,:()/_-]/gu

/** Returns a picture as a flowchart of Mermaid, which GitHub and others show in Markdown. */
export function mermaidOf(picture: LabPicture): string {
  const { name, networks, members } = picture
  const isSimple = /^[A-Za-z0-9._-]+$/.test(name)
  const links = members.flatMap(({ links: those }, member) =>
    those.map(({ network, text }) => {
      const label = text === '' ? '' : `|${quoted([text])}|`
      return `  member${member} ---${label} network${network}`
    }),
  )
  return [
    // A title has no numbers for characters. The name of a Workspace needs none.
    ...(isSimple ? ['---', `title: "${name}"`, '---'] : []),
    'flowchart LR',
    ...members.map((member, at) => `  member${at}[${quoted(linesOf(member))}]:::${member.kind}`),
    ...networks.map((network, at) => `  network${at}([${quoted(linesOf(network))}]):::network`),
    ...links,
    // Colours of their own, so that the texts are read on a dark page, too.
    '  classDef network fill:#dbeafe,stroke:#1d4ed8,color:#111827',
    '  classDef machine fill:#ffffff,stroke:#374151,color:#111827',
    '  classDef containers fill:#f3f4f6,stroke:#374151,color:#111827,stroke-dasharray:4 2',
    '',
  ].join('\n')
}

function quoted(lines: readonly string[]): string {
  return `"${lines.map((line) => line.trim().replace(PLAIN, numbered)).join('<br/>')}"`
}

function numbered(character: string): string {
  return `#${character.codePointAt(0)};`
}
