import type { IConstruct } from 'constructs'

/** Words of manifests that have another form here: of all parts, and of those of one list. */
const COMMON: Readonly<Record<string, string>> = {
  ipAddress: 'the address of connect',
  ipAddresses: 'the addresses of connect',
}
const WORDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  vms: {
    ...COMMON,
    backingVMDiskImage: 'image',
    lock_passwd: 'password',
    passwordSecretRef: 'password',
    plain_text_passwd: 'plainText',
    'resources.cpu': 'cpu',
    'resources.memory': 'memory',
    'resources.diskSize': 'diskSize',
    ssh_authorized_keys: 'sshKeys',
    'ansible.roles': 'build and deploy',
    'ansible.roles.build': 'build',
    'ansible.roles.deploy': 'deploy',
  },
  containerClusters: {
    ...COMMON,
    portMappings: 'ports',
    volumeMounts: 'mounts',
    'resources.cpu': 'cpu',
    'resources.memory': 'memory',
    'resources.limits': 'limits',
    secretKeyRef: 'key of a Secret',
  },
  networks: {
    rangeGateway: 'gateway',
    nextHopIpAddress: 'via',
    destinationNetworkCidr: 'to',
    'nameservers.addresses': 'nameservers',
  },
}

/** What a sentence says for those who write YAML, and for those who do not. */
const SENTENCES: readonly (readonly [RegExp, string])[] = [
  [/set passwordSecretRef with lock_passwd: false, or ssh_authorized_keys/, 'give one a password or sshKeys'],
  [/give one of its interfaces an ipAddress/, 'give connect an address'],
  [/take it from a Secret with passwordSecretRef/, "take it from a Secret, as password: secret.key('name')"],
  [/lock_passwd is true unless it is set to false/, 'give it by password, and not by lock_passwd'],
  [/mount it in a container \(volumeMounts\)/, "mount it in a container (mounts: [volume.at('/data')])"],
  [/add an interface with network pod to it/, 'call its connectToPodNetwork()'],
  [/add one with network: pod,/, 'call connectToPodNetwork(),'],
  [
    /which is not in spec\.volumes: add it there, or name one that is, or ansible/,
    "which the lab does not have: take a mount from what addVolume returned, as volume.at('/data'), or from lab.ansibleAt",
  ],
  [
    /which is not in spec\.volumes: add it there, or name one that is/,
    'which the lab does not have: give what addVolume returned',
  ],
  [
    /which is not in spec\.networks: add it there, or name one that is/,
    'which the lab does not have: give what addNetwork returned',
  ],
  [/\bcontainer cluster\b/g, 'member with containers'],
]

function wordsOf(part: IConstruct): Readonly<Record<string, string>> {
  const [list = ''] = part.node.id.split('.')
  return WORDS[list] ?? {}
}

/** Returns a sentence about a lab for a reader who wrote it in TypeScript. */
export function inWords(sentence: string): string {
  return SENTENCES.reduce((text, [yaml, typed]) => text.replace(yaml, typed), sentence)
}

/** Returns a sentence about a part of a lab for a reader who wrote it in TypeScript. The word of the manifest follows in brackets. */
export function inWordsOf(part: IConstruct, sentence: string): string {
  return Object.entries(wordsOf(part)).reduce(
    (text, [yaml, typed]) =>
      text.replace(new RegExp(`(?<![\\w.(])${yaml.replaceAll('.', '[.]')}(?![\\w.])`, 'g'), `${typed} (${yaml})`),
    inWords(sentence),
  )
}

/** Returns the place of a field, such as spec.vms[0].backingVMDiskImage, with the word for it before it. */
export function placeInWordsOf(part: IConstruct, field: string): string {
  const steps = field.replaceAll(/\[\d+\]/g, '')
  const words = Object.entries(wordsOf(part)).filter(([yaml]) => steps.endsWith(`.${yaml}`))
  const [longest] = words.toSorted(([one], [other]) => other.length - one.length)
  return longest === undefined ? field : `${longest[1]} (${field})`
}
