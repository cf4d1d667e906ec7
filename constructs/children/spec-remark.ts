/** What an author should know about a part of a workspace, by what it is about. */
export interface SpecRemark {
  /** Never changes: authors acknowledge what they have read by it. */
  readonly id: SpecRemarkId
  /** A sentence without its end. Contains no password. */
  readonly message: string
  /** The address that it is about, if it is about one. */
  readonly address?: string
}

export const SPEC_REMARK_IDS = [
  'AliasUnused',
  'AnsibleUnused',
  'DeadAddress',
  'DefaultRouteLeftOut',
  'FileUnreadable',
  'HostnameTaken',
  'InternetUnused',
  'NameserversLeftOut',
  'NamesUnused',
  'NetworkAttached',
  'NetworksOverlap',
  'NodeSelectorsDiffer',
  'NotWaitedFor',
  'OverridesReplace',
  'PasswordTooLong',
  'PathInFolder',
  'PodNetworkName',
  'RepliesLost',
  'RolesNotPlayed',
  'RouteUnused',
  'SecretIsNoLogin',
  'ServiceUnanswered',
  'TooSmallForIpv6',
  'TunnelUnusable',
  'VolumeShared',
  'VolumeUnused',
] as const
export type SpecRemarkId = (typeof SPEC_REMARK_IDS)[number]

export function remarks(id: SpecRemarkId, messages: readonly string[]): SpecRemark[] {
  return messages.map((message) => ({ id, message }))
}

export function messagesOf(all: readonly SpecRemark[]): string[] {
  return all.map(({ message }) => message)
}
