import { layoutOf, type PlacedCard, type PlacedLink, type PlacedText } from '../../picture/layout.ts'
import type { LabPicture } from '../../picture/picture.ts'
import type { StoryComponent } from '../rows.ts'
import { SIGNS, stateOfPhase } from './states.ts'

/** Colours of networks in the style sheet: after the last comes the first again. */
const COLORS = 8
const KINDS = { machine: 'VirtualMachine', containers: 'ContainerCluster' } as const

interface LabMapProps {
  readonly picture: LabPicture
  readonly components: readonly StoryComponent[]
  /** Returns the address of the story of a machine. */
  readonly addressOf: (name: string) => string
}

/** A lab as its networks, members and addresses, with how each member is. */
export function LabMap({ picture, components, addressOf }: LabMapProps) {
  const { width, height, title, buses, cards } = layoutOf(picture)
  const componentOf = ({ member }: PlacedCard) =>
    components.find(({ kind, name }) => kind === KINDS[member.kind] && name === member.name)
  return (
    <div class="map">
      <svg
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        role="group"
        aria-label={`Map of ${title.text}`}
      >
        {buses.map(({ x, from, to, index }) => (
          <line key={index} class={`bus ${colorOf(index)}`} x1={x} y1={from} x2={x} y2={to} />
        ))}
        {buses.map(({ head, lines, index }) => (
          <g key={index} class={colorOf(index)}>
            <rect class="net" x={head.left} y={head.top} width={head.width} height={head.height} rx={4} />
            <Lines lines={lines} />
          </g>
        ))}
        {cards.flatMap(({ member, links }) =>
          links.map((link, index) => <Link key={`${member.name} ${index}`} placed={link} />),
        )}
        {cards.map((card) => (
          <Card key={card.member.name} card={card} component={componentOf(card)} addressOf={addressOf} />
        ))}
      </svg>
    </div>
  )
}

function Lines({ lines }: { readonly lines: readonly PlacedText[] }) {
  return (
    <>
      {lines.map(({ text, x, y }, at) => (
        <text key={y} x={x} y={y} class={at === 0 ? 'name' : ''}>
          {text}
        </text>
      ))}
    </>
  )
}

function Link({ placed: { link, from, to, y, label } }: { readonly placed: PlacedLink }) {
  return (
    <g class={colorOf(link.network)}>
      <line class="gap" x1={from} y1={y} x2={to - 6} y2={y} />
      <line class="link" x1={from} y1={y} x2={to} y2={y} />
      <circle cx={to} cy={y} r={4.5} />
      {label !== undefined && (
        <>
          <rect class="behind" x={label.right - label.width} y={y - 8} width={label.width} height={16} />
          <text x={label.right - 3} y={y + 4} text-anchor="end">
            {label.text}
          </text>
        </>
      )}
    </g>
  )
}

interface CardProps {
  readonly card: PlacedCard
  readonly component: StoryComponent | undefined
  /** Returns the address of the story of a machine. */
  readonly addressOf: (name: string) => string
}

function Card({ card: { member, box, lines }, component, addressOf }: CardProps) {
  const state = component === undefined ? 'unknown' : stateOfPhase(component.phase)
  const word = component === undefined ? 'not deployed' : component.phase
  const shape = (
    <>
      <rect
        class={`card ${member.kind} ${state}`}
        x={box.left}
        y={box.top}
        width={box.width}
        height={box.height}
        rx={4}
      >
        <title>{component?.message ?? word}</title>
      </rect>
      <Lines lines={lines} />
      <text class={`sign ${state}`} x={box.left + box.width - 18} y={box.top + 16}>
        {SIGNS[state]}
        <title>{word}</title>
      </text>
    </>
  )
  return member.kind === 'machine' ? <a href={addressOf(member.name)}>{shape}</a> : <g>{shape}</g>
}

function colorOf(network: number): string {
  return `net-${network % COLORS}`
}
