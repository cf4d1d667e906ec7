/** What a picture of a lab shows, in the order of the spec. Texts are as the object has them: who draws them escapes them. */
export interface LabPicture {
  readonly name: string
  readonly networks: readonly PictureNetwork[]
  readonly members: readonly PictureMember[]
}

export interface PictureNetwork {
  readonly name: string
  /** One line each: its addresses, gateway, name servers, routes. */
  readonly notes: readonly string[]
}

export interface PictureMember {
  readonly name: string
  readonly kind: 'machine' | 'containers'
  /** One line each: images, Services, ports. */
  readonly notes: readonly string[]
  readonly links: readonly PictureLink[]
}

/** An interface of a member. */
export interface PictureLink {
  /** Index in `networks` of the picture. */
  readonly network: number
  /** Its addresses without their lengths, or how it gets one. Empty: nothing is known of that. */
  readonly text: string
}

/** Returns what is said of a member or a network, with its name first. */
export function linesOf({ name, notes }: PictureMember | PictureNetwork): readonly string[] {
  return [name, ...notes]
}
