import { VIRTUAL_MACHINE_REASON_HELP } from '../api/virtual-machine-reasons.ts'

const ofMachine = (reason: keyof typeof VIRTUAL_MACHINE_REASON_HELP) => VIRTUAL_MACHINE_REASON_HELP[reason].meaning

/** What each warning is about, by the id that authors acknowledge. `npm run gen` makes the list of the docs of it. */
export const WARNING_TEXTS = {
  AliasUnused: 'Aliases that nobody gets, or that others have too.',
  AnsibleUnused: 'Words for the player of roles, where no machine has roles.',
  DeadAddress: 'A gateway, next hop or name server that no member has, or only one that is not deployed.',
  DefaultRouteLeftOut: 'A port of the node takes the default route of the networks from containers.',
  DiskSmallerThanImage: ofMachine('DiskSmallerThanImage'),
  EndIsOver: 'An expiresAt that was over when the app was rendered: the lab is off, or deleted, at once.',
  FileUnreadable: 'A file whose mode does not let the user of its container read it.',
  GroupsOfImage: ofMachine('GroupsOfImage'),
  HostnameTaken: 'A host name of containers that is the name of another member.',
  ImageElsewhere: 'An image that an object of the app makes in a namespace where labs do not look for it.',
  ImageInOtherChart: 'An image of which objects of two charts say different things, which one cluster cannot have.',
  InternetUnused: 'Access to the internet for a lab of which no member is on the pod network.',
  LoginRenamed: ofMachine('LoginRenamed'),
  NameInOtherChart: 'Objects of one kind and name in two charts, of which one cluster has one.',
  NameserversLeftOut: 'More name servers than containers can have.',
  NamesUnused: 'Names of members that nobody gets.',
  NetworkAttached: 'Words for a network that somebody else defines.',
  NetworkUnused: 'A network that nobody is on.',
  NetworksOverlap: 'Two networks with common addresses.',
  NoDhcpServer: 'A guest that asks for an address on a network where every other guest asks, too.',
  NoLogin: ofMachine('NoLogin'),
  NoNetwork: 'A member of a lab with networks that is on none of them, and so on the network of all pods.',
  NoSuchNodeLabel: ofMachine('NoSuchNodeLabel'),
  NotWaitedFor: 'A member to wait for that is not deployed.',
  OverridesReplace: 'Overrides of containers that replace what the rest of them says.',
  PasswordInEnvironment: 'A text as a variable of a container whose name is that of a password.',
  PasswordInVariables: 'A text as a variable of a role whose name is that of a password.',
  PasswordLocked: ofMachine('PasswordLocked'),
  PasswordTooLong: 'A generated password that is longer than Windows takes.',
  PathInFolder: 'A path of a container in a folder that is read-only.',
  PlainTextPassword:
    'A plain_text_passwd in fields that are written as in YAML. In addVm, plainText is the word for it.',
  PodNetworkName: 'A network with the name of the pod network.',
  RepliesLost: 'Clients or probes that get no reply, since it leaves by the default route of a network.',
  RolesNotPlayed: 'Roles of a machine that Ansible cannot reach, or cannot log in to.',
  RouteUnused: 'A route that members do not get, or that another one comes before.',
  SecretIsNoLogin: 'A Secret whose keys are made, in pullSecrets.',
  SecretKeyNotMade: 'A key of a Secret whose other keys the operator makes.',
  ServiceUnanswered: 'A service for a member that is not deployed.',
  TooSmallForIpv6: 'An mtu with which there is no IPv6.',
  TunnelUnusable: 'A tunnel device without the capability that it needs.',
  UnknownImage: 'An image by a text that no object of the app makes, although the app makes images.',
  UnknownWarning: 'An acknowledged id that no warning has.',
  UntaggedImage: 'A container image without a tag, or with latest.',
  UserDataOverridden: ofMachine('UserDataOverridden'),
  UserDataUnreadable: ofMachine('UserDataUnreadable'),
  VolumeShared: 'A volume that several write to at once.',
  VolumeUnused: 'A volume that nobody mounts.',
  WindowsGuest: ofMachine('WindowsGuest'),
} satisfies Readonly<Record<string, string>>

/** What a warning of this package is about. */
export type WarningId = keyof typeof WARNING_TEXTS

export const WARNING_IDS = Object.keys(WARNING_TEXTS) as readonly WarningId[]

export function isWarningId(id: string): id is WarningId {
  return Object.hasOwn(WARNING_TEXTS, id)
}
