import { SHARED_LABEL, vmDiskImage } from '@open-terrain/constructs/operator'
import type { Subject } from './story.ts'

// Messages quote what programs in a lab, servers of images and neighbours say. What is cut out of one is to be pasted into a shell of somebody with rights, so
// it has to be, from start to end, what the operator itself writes in a message of that reason.

const NAME = '[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?'
const IN_NAMESPACE = `kubectl -n ${NAME}`
const KEY = '[-._a-zA-Z0-9]+'
const PART_OF_SECRET = `(?:--from-(?:literal|file)=${KEY}=(?:VALUE|FILE|PASSWORD)|--from-file=FOLDER|--from-env-file=FILE)`
const LOGIN = '--docker-server=REGISTRY --docker-username=USER --docker-password=PASSWORD'
const CREATE = `${IN_NAMESPACE} create (?:(?:secret generic|configmap) ${NAME}(?: ${PART_OF_SECRET})+|secret docker-registry ${NAME} ${LOGIN})`
const STRING_DATA = `'\\{"stringData":\\{"${KEY}":"[A-Z]+"(?:,"${KEY}":"[A-Z]+")*\\}\\}'`
const FROM_FILES = `"\\$\\(kubectl create secret generic ${NAME}(?: ${PART_OF_SECRET})+ --dry-run=client -o json\\)"`
const FOR_SECRET = `(?:${IN_NAMESPACE} delete secret ${NAME} && ${CREATE}|${CREATE}|${IN_NAMESPACE} patch secret ${NAME} -p (?:${STRING_DATA}|${FROM_FILES}))`

const SECRETS = [`${FOR_SECRET}(?: && ${FOR_SECRET})*`]
const DELETE_DISK = `${IN_NAMESPACE} delete (?:pvc|dv) ${NAME}(?: ${NAME})*`
const AMOUNT = `"(?:${KEY}/)?${KEY}":"[0-9]+(?:[KMGTP]i)?"`
const RAISE_QUOTA = `${IN_NAMESPACE} patch resourcequota ${NAME} --type merge -p '\\{"spec":\\{"hard":\\{${AMOUNT}(?:,${AMOUNT})*\\}\\}\\}'`
const IMAGE = `${IN_NAMESPACE} (?:edit|delete) vmdi ${NAME}`
const CREATOR = `${IN_NAMESPACE} annotate --overwrite vmdi ${NAME} pelotech\\.ot/creator=[A-Za-z]+/${NAME}/${NAME}/${NAME}`
const LABELLED = `kubectl delete pod -n ${NAME} -l pelotech\\.ot/${KEY}=${NAME}`
const DEPLOYMENT = `kubectl delete deployment -n ${NAME} ${NAME}`

/** By kind and reason: how the commands are written that the operator puts into such a message. Of all others, the catalogue has the commands. */
const FORMS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  VMDiskImage: { SecretInvalid: [`${IN_NAMESPACE} edit secret ${NAME}`] },
  VirtualMachine: {
    MissingPasswordSecret: SECRETS,
    MissingUserDataSecret: SECRETS,
    ImageMismatch: [IMAGE],
    DiskMissing: [DELETE_DISK],
    DiskKept: [DELETE_DISK],
    // The word that gives a disk up is for people who have read what it costs.
    ReplacementBlocked: [DELETE_DISK, RAISE_QUOTA],
    NamesNotCurrent: [`virtctl restart -n ${NAME} ${NAME}`],
    Restoring: [`${IN_NAMESPACE} describe virtualmachinerestores\\.snapshot\\.kubevirt\\.io ${NAME}`],
    // Always the same words between the quotes.
    StartFailed: [`${IN_NAMESPACE} annotate --overwrite (?:vm\\.kubevirt\\.io|vmi) ${NAME} poke="\\$\\(date\\)"`],
  },
  DataSync: { NameConflict: [IMAGE, CREATOR] },
  Workspace: {
    SecretMissing: SECRETS,
    ConfigMapMissing: SECRETS,
    MissingPasswordSecret: SECRETS,
    MissingUserDataSecret: SECRETS,
    SecretNotShared: [`${IN_NAMESPACE} label secret ${NAME} ${SHARED_LABEL.replaceAll('.', '\\.')}=true`],
    NamesNotCurrent: [LABELLED, DEPLOYMENT],
    Outdated: [DEPLOYMENT],
  },
  WorkspaceSnapshot: { RestoreRefused: [DELETE_DISK] },
}

/** What somebody says of an object: its status, or a condition of it. */
interface Saying {
  readonly about: Pick<Subject, 'kind' | 'group'>
  readonly reason?: string | undefined
  readonly message?: string | undefined
}

/** Returns the commands that the operator has written into a message. None, if others may have had a say in it. */
export function toldCommands({ about: { kind, group }, reason = '', message = '' }: Saying): readonly string[] {
  const forms = group === vmDiskImage.group ? FORMS[kind] : undefined
  if (forms === undefined || !Object.hasOwn(forms, reason)) return []
  const whole = new RegExp(`^(?:${(forms[reason] ?? []).join('|')})$`)
  const found = partsOf(message).flatMap((part) => {
    const from = part.search(/\b(?:kubectl|virtctl) /)
    const text = from === -1 ? '' : part.slice(from).replace(/[.,]$/, '')
    return whole.test(text) ? [text] : []
  })
  return [...new Set(found)]
}

/** Returns the parts of the sentences of a message. What it quotes is no part: whose words these are is not known. */
function partsOf(message: string): readonly string[] {
  const unquoted = message.replace(/(?<![='({:,])"(?!\$\()[^"]*"(?=[\s;,.)]|$)/g, '…')
  return unquoted.split(/; | \(|\)(?:[ .,]|$)|, (?=[A-Za-z]+\/)|\n/)
}

/** Reports whether a command creates a Secret or ConfigMap, and does nothing else. Names in a spec may be no names. */
export function isCreation(command: string): boolean {
  return new RegExp(`^${CREATE}$`).test(command)
}
