import { POLICY_KEYS, POLICY_NAME, RESOURCES, type ReasonHelp } from '@open-terrain/constructs/operator'
import { isQuiet } from './quiet.ts'
import type { Subject } from './story.ts'

interface RemedyPlace {
  /** What is to be changed. */
  readonly subject: Subject
  /** What is to be looked at, where nothing else is to be done. */
  readonly looked: Subject
  readonly operatorNamespace: string
  /** Workspace that the subject is part of, if it is a machine of one. */
  readonly lab?: string | undefined
}

/** Where people look at operators and neighbours. */
const OPERATOR = 'open-terrain-operator'

/** Words of a remedy, and the command that does what they say. */
interface RemedyRule {
  readonly words: RegExp
  readonly command: (place: RemedyPlace, found: RegExpMatchArray) => string | undefined
}

/**
 * Returns the commands that do what a remedy of the catalogue asks for. Words in capitals stand for what only people know.
 * @param told commands that the message has already, with all names: they come first
 */
export function remedyCommands(
  help: ReasonHelp | undefined,
  told: readonly string[],
  place: RemedyPlace,
): readonly string[] {
  if (help === undefined) return told
  const { name } = place.subject
  const inRemedy = commandsIn(help.remedy).map((command) => command.replace(/\bNAME\b/, name))
  const byWords = RULES.flatMap(({ words, command }) => {
    const found = help.remedy.match(words)
    return found === null ? [] : (command(place, found) ?? [])
  })
  const derived = told.length > 0 ? [] : [...inRemedy, ...byWords, ...policyCommands(help.remedy, place)]
  const all = [...new Set([...told, ...derived])]
  return all.length > 0 || isQuiet(help) ? all : [describe(place.looked)]
}

/** Returns what follows `kubectl` or `virtctl` in a remedy of the catalogue, to the end of its part of the sentence. */
function commandsIn(text: string): string[] {
  return text
    .split(/; | \(|\)(?:[ .,]|$)/)
    .flatMap(
      (part) =>
        /\b((?:kubectl -n|kubectl patch|kubectl get|kubectl label|kubectl delete|virtctl \w+ -n) .+)$/.exec(
          part,
        )?.[1] ?? [],
    )
    .filter((command) => !/<|20\d\d-\d\d/.test(command))
    .map((command) => command.replace(/ shows .*$|\. [A-Z].*$|, with the time .*$|[.,]$/, '').trim())
}

const RULES: readonly RemedyRule[] = [
  {
    words: /pelotech\.ot\/((?:retry|sync|play)-requested-at)/,
    command: (place, [, name]) => annotate(place, `${name}`),
  },
  { words: /pelotech\.ot\/(rebuild|reset)-requested-at|replace the root disk|new disks? of/, command: diskCommand },
  { words: /spec\.suspend to false/, command: ({ subject }) => patch(subject, '{"spec":{"suspend":false}}') },
  { words: /spec\.expiresAt|"expiresAt"/, command: ({ subject }) => `ot extend ${subject.name} --by 24h` },
  { words: /^(?!.*spec\.expiresAt).*spec\.powerState/, command: (place) => labCommand(place, 'start') },
  { words: /restore-requested-at/, command: ({ subject }) => `ot restore ${subject.namespace} ${subject.name}` },
  {
    words: /virtctl (unpause|restart|start)\b/,
    command: ({ subject }, [, verb]) => ofMachine(subject, `virtctl ${verb} ${subject.name}${inNamespace(subject)}`),
  },
  {
    words: /console of the guest|for a guest its console/,
    command: ({ subject }) => ofMachine(subject, `virtctl console ${subject.name}${inNamespace(subject)}`),
  },
  {
    words: /VirtualMachineInstance/,
    command: ({ subject }) => ofMachine(subject, `kubectl${inNamespace(subject)} describe vmi ${subject.name}`),
  },
  {
    words: /\bcdi-(?:deployment|apiserver)\b|\bCDI (?:itself|and its webhook)/,
    command: () => "kubectl get deployments -A | grep -E 'cdi-(deployment|apiserver)'",
  },
  { words: /virt-controller/, command: () => "kubectl get deployments -A | grep -E 'virt-(controller|api)'" },
  {
    words: /log of the operator/,
    command: ({ operatorNamespace }) => `kubectl -n ${operatorNamespace} logs deployment/${OPERATOR} --since=1h`,
  },
  { words: /\bquota\b/i, command: ({ subject }) => `kubectl -n ${namespaceFor(subject)} describe resourcequotas` },
  {
    words: /\b[Cc]reate (?:the class|it), or correct spec\.snapshotClass|volumesnapshotclasses/,
    command: () => 'kubectl get volumesnapshotclasses',
  },
  {
    words: /storage class|the class, or set spec\.storageClass|StorageClass/,
    command: () => 'kubectl get storageclasses',
  },
  { words: /StorageProfile/, command: () => 'kubectl get storageprofiles' },
  { words: /lab-isolation/, command: () => 'kubectl -n open-terrain-nodes get pods -o wide' },
  {
    words:
      /\bspec\b|\bfield\b|[Cc]orrect the|\b[Uu]ndo the change|template|overrides|from devices|capabilities|privileged|hostPort|\battach\b|another (?:cidr|name)|type that is allowed|passwords?|user data|dependsOn|aliases|addresses/,
    command: edit,
  },
]

function policyCommands(remedy: string, { operatorNamespace }: RemedyPlace): string[] {
  const keys = POLICY_KEYS.filter((key) => isToBeChanged(remedy, key))
  return keys.map((key) => {
    const data = JSON.stringify({ data: { [key]: 'VALUE' } })
    return `kubectl -n ${operatorNamespace} patch configmap ${POLICY_NAME} --type merge -p '${data}'`
  })
}

/** Some keys are ordinary words, and some are only mentioned: until when something goes on by itself. */
function isToBeChanged(remedy: string, key: string): boolean {
  const at = remedy.search(new RegExp(`\\b${key}\\b(?!>)`))
  if (at === -1) return false
  const before = remedy.slice(0, at)
  const isNamed = /policy keys? $/.test(before)
  const isMentioned = /(?:(?:after|within|of) the |\()policy keys? (?:\w+ and )?$/.test(before)
  return !isMentioned && (isNamed || /[A-Z]/.test(key))
}

function annotate({ subject }: RemedyPlace, name: string): string {
  return `kubectl${inNamespace(subject)} annotate --overwrite ${shortOf(subject)} ${subject.name} pelotech.ot/${name}="$(date -u +%FT%TZ)"`
}

/** It loses what is on disks: `ot` asks before, and kubectl does not. */
function diskCommand(place: RemedyPlace, [words]: RegExpMatchArray): string | undefined {
  const verb = words.includes('reset') || words.includes('replace') ? 'reset' : 'rebuild'
  return labCommand(place, verb) ?? annotate(place, `${verb}-requested-at`)
}

function labCommand({ subject, lab }: RemedyPlace, verb: string): string | undefined {
  if (subject.kind === 'Workspace') return `ot ${verb} ${subject.name}`
  if (lab === undefined || subject.kind !== 'VirtualMachine') return undefined
  return verb === 'start' ? `ot ${verb} ${lab}` : `ot ${verb} ${lab} --vm ${subject.name}`
}

/** What is done with a machine is not done with its lab. */
function ofMachine({ kind }: Subject, command: string): string | undefined {
  return kind === 'VirtualMachine' ? command : undefined
}

/** What belongs to a lab is in a namespace of its name. */
function namespaceFor({ namespace, name }: Subject): string {
  return namespace ?? name
}

function edit({ subject, lab }: RemedyPlace): string {
  // What the operator makes of a Workspace follows its spec.
  return lab !== undefined && subject.kind === 'VirtualMachine'
    ? `kubectl edit otws ${lab}`
    : `kubectl${inNamespace(subject)} edit ${shortOf(subject)} ${subject.name}`
}

function patch(subject: Subject, body: string): string {
  return `kubectl${inNamespace(subject)} patch ${shortOf(subject)} ${subject.name} --type merge -p '${body}'`
}

function describe(subject: Subject): string {
  return `kubectl${inNamespace(subject)} describe ${shortOf(subject)} ${subject.name}`
}

function inNamespace({ namespace }: Subject): string {
  return namespace === undefined ? '' : ` -n ${namespace}`
}

/** Returns the word for a kind in a command of kubectl. KubeVirt has a VirtualMachine too. */
function shortOf({ kind, group }: Subject): string {
  const own = RESOURCES.find((one) => one.kind === kind && (group === undefined || one.group === group))
  if (own !== undefined) return own.shortNames[0] ?? own.singular
  return group === undefined || group === '' ? kind.toLowerCase() : `${kind.toLowerCase()}.${group}`
}
