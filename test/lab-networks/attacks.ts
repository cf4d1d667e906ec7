import type { Place } from './place.ts'

/** A member of a lab, the node that it is on, and what both of them could reach. All servers answer with a word of their own. */
export interface Scene {
  readonly node: Pick<Place, 'linkLocalOf'>
  readonly mallory: Place
  /** The bridge of the lab on the node. Interface net1 of mallory is on it. */
  readonly bridge: string
  /** An address of the node, and the port that it serves on all of them. */
  readonly nodeAddress: string
  readonly nodePort: number
  /** An address that is behind the node, and serves on port 80. */
  readonly outsideAddress: string
  /** Makes mallory send what is for an address to the node, without ARP: root in a guest can send anything. */
  readonly known: (address: string) => Promise<void>
}

/** What a member of a lab tries, and the word of who answers where nothing prevents it. */
export const ATTACKS: readonly (readonly [what: string, open: string, attack: (scene: Scene) => Promise<string>])[] = [
  [
    'the node by the link-local address of its bridge',
    'the node',
    async ({ node, mallory, bridge, nodePort }) => {
      await mallory.linkLocalOf('net1')
      return await mallory.ask(`${await node.linkLocalOf(bridge)}%net1`, nodePort)
    },
  ],
  [
    'the node by one of its addresses',
    'the node',
    async ({ mallory, nodeAddress, nodePort }) => await mallory.ask(nodeAddress, nodePort),
  ],
  [
    'the node by one of its addresses, without ARP',
    'the node',
    async ({ mallory, known, nodeAddress, nodePort }) => {
      await known(nodeAddress)
      return await mallory.ask(nodeAddress, nodePort)
    },
  ],
  [
    'what is behind the node',
    'outside',
    async ({ mallory, known, outsideAddress }) => {
      await known(outsideAddress)
      return await mallory.ask(outsideAddress, 80)
    },
  ],
]
