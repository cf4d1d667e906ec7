/** Another system that the operator leaves work to, and whose reports it believes. */
export type Neighbour = 'CDI' | 'KubeVirt'
export const NEIGHBOURS: readonly Neighbour[] = ['CDI', 'KubeVirt']

/** `works`: the Lease of its controller is being renewed. `away`: it is not. `unsure`: it has not been observed for long enough. `unknown`: there is none that may be read. */
export type Presence = 'works' | 'away' | 'unsure' | 'unknown'

/** What is known of a neighbour that something waits for. */
export interface NeighbourFacts {
  readonly presence: Presence
  /** Until when it is known to have worked, in ms: what it reported then was true. Undefined where that cannot be known. */
  readonly workedUntil?: number
  /** When it was last found to be away, in ms. */
  readonly awayAt?: number
}

/** The neighbours that one object waits for. */
export type AwaitedNeighbours = Readonly<Partial<Record<Neighbour, NeighbourFacts>>>

/** Names the neighbour whose webhook could not be called, by the message of the API server. */
export function neighbourUnreached(message = ''): Neighbour | undefined {
  const [, cdi, kubevirt] =
    /failed calling webhook "[^"]*?(?:(\.cdi\.kubevirt\.io)|(\.kubevirt\.io))"/.exec(message) ?? []
  return cdi === undefined ? (kubevirt === undefined ? undefined : 'KubeVirt') : 'CDI'
}
