import { vmDiskImage } from '@open-terrain/constructs/operator'
import { compareTexts, messageOf } from '../../operator/base/messages.ts'
import { OLDER_OWNER_LABEL, viewAdopted } from '../../operator/controllers/vm-disk-image/adoption-facts.ts'
import { ClaimUsers, readAdoptionRule } from '../../operator/controllers/vm-disk-image/adoption-reads.ts'
import { find } from '../../operator/kube/find.ts'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import { type KubeObject, keyOf, type Raw, type ResourceType } from '../../operator/kube/kube-object.ts'
import { listWhole } from '../../operator/kube/list-all.ts'
import { DATA_VOLUME, PERSISTENT_VOLUME_CLAIM } from '../../operator/kube/resource-types.ts'
import { confirm } from '../confirm.ts'
import { CommandError, EXIT_CODES, type ExitCode } from '../exit-codes.ts'
import { structuredText } from '../structured-text.ts'
import type { Surroundings } from '../surroundings.ts'
import { bytesText, shown, tableOf } from '../table.ts'
import {
  type AdoptionStep,
  type FoundVolume,
  isOlderOwner,
  OLDER_GROUP,
  type PlannedAdoption,
  planAdoption,
  releaseOf,
  shownManifest,
} from './plan-adoption.ts'

export const ADOPT_FORMS = ['text', 'json', 'yaml'] as const

export interface AdoptOptions {
  /** Names of DataVolumes, or of VMDiskImages of the older operator. Empty: all. */
  readonly names: readonly string[]
  /** Undefined: all. */
  readonly namespace: string | undefined
  readonly selector?: string
  /** Do it without asking. */
  readonly isAgreed: boolean
  /** Only show it. */
  readonly isDryRun: boolean
  readonly output: (typeof ADOPT_FORMS)[number]
}

type Around = Pick<Surroundings, 'print' | 'tell' | 'ask' | 'clock'> & { readonly client: KubeClient }

const OLDER: ResourceType = {
  group: OLDER_GROUP,
  version: 'v1alpha1',
  kind: 'VMDiskImage',
  plural: 'vmdiskimages',
  namespaced: true,
}
const READY = 'Ready'

/** How one of them has ended. */
interface Ended {
  readonly planned: PlannedAdoption
  readonly done: readonly AdoptionStep['what'][]
  readonly error?: string
}

/** Shows what can be adopted, and does it if somebody says so. Throws CommandError and ApiError. */
export async function adoptImages(around: Around, options: AdoptOptions): Promise<ExitCode> {
  const planned = await plannedOf(around, options)
  const ready = planned.filter(({ state }) => state === 'ready')
  const isAsked = !options.isDryRun && (options.isAgreed || (ready.length > 0 && mayAsk(around, options)))
  if (!isAsked) {
    show(around, options, planned)
    return EXIT_CODES.done
  }
  if (!options.isAgreed) {
    show(around, options, planned)
    await confirm(around, `adopt ${ready.length} of ${planned.length}?`)
  }
  const ended: Ended[] = []
  for (const one of planned) ended.push(await carryOut(around.client, one))
  tellEnds(around, options, ended)
  const isDone = ended.every(({ planned: { state }, error }) => error === undefined && state !== 'refused')
  return isDone ? EXIT_CODES.done : EXIT_CODES.failed
}

/** Scripts are not asked: they say --yes. */
function mayAsk({ ask }: Around, { output }: AdoptOptions): boolean {
  return ask !== undefined && output === 'text'
}

async function plannedOf(
  { client, clock }: Pick<Around, 'client' | 'clock'>,
  options: AdoptOptions,
): Promise<readonly PlannedAdoption[]> {
  const { names, namespace, selector } = options
  const where = { ...(namespace !== undefined && { namespace }), project: (object: KubeObject) => object }
  const selected = { ...where, ...(selector !== undefined && { labelSelector: selector }) }
  const older = await listWhole(client, OLDER, selected)
  const volumes = await listWhole(client, DATA_VOLUME, where)
  const owned = volumesByOwner(volumes)
  const places = older.flatMap((one) =>
    (owned.get(one.metadata.uid ?? '') ?? [one.metadata]).map((key) => ({ key, one })),
  )
  const known = new Map(places.map(({ key, one }) => [keyOf(key), one]))
  const made = (selector === undefined ? volumes : await listWhole(client, DATA_VOLUME, selected)).filter(isOfPeople)
  const keys: readonly Place[] = [
    ...places.map(({ key }) => key),
    ...made.flatMap(({ metadata }) => (known.has(keyOf(metadata)) ? [] : [metadata])),
  ]
  const isChosen = (key: Place) => {
    const owner = known.get(keyOf(key))?.metadata.name
    return names.length === 0 || names.includes(key.name) || (owner !== undefined && names.includes(owner))
  }
  const chosen = keys.filter(isChosen)
  const absent = names.find(
    (name) => !chosen.some((key) => key.name === name || known.get(keyOf(key))?.metadata.name === name),
  )
  if (absent !== undefined) {
    const what = `no VMDiskImage of ${OLDER_GROUP} and no finished DataVolume without an owner is named ${absent}`
    throw new CommandError('notFound', `${what}: ot adopt without a name lists them`)
  }
  if (chosen.length === 0) return []
  const reads = { client, users: new ClaimUsers({ client, clock }), rule: await readAdoptionRule(client, FOREVER) }
  const listed = new Map(volumes.map((volume) => [keyOf(volume.metadata), volume]))
  const planned: PlannedAdoption[] = []
  for (const object of chosen.toSorted((a, b) => compareTexts(keyOf(a), keyOf(b)))) {
    const key = keyOf(object)
    planned.push(planOf(await foundAt(reads, object, { older: known.get(key), dataVolume: listed.get(key) })))
  }
  return planned
}

const { signal: FOREVER } = new AbortController()

interface Reads {
  readonly client: KubeClient
  readonly users: ClaimUsers
  readonly rule: Awaited<ReturnType<typeof readAdoptionRule>>
}

type Place = Pick<KubeObject['metadata'], 'namespace' | 'name'>

/** Returns where the DataVolumes are that name an older VMDiskImage as their owner, by its uid. They may be named by its spec; others have its name. */
function volumesByOwner(volumes: readonly KubeObject[]): ReadonlyMap<string, readonly Place[]> {
  const owned = new Map<string, Place[]>()
  for (const { metadata } of volumes) {
    const uids = new Set(metadata.ownerReferences?.filter(isOlderOwner).map(({ uid }) => uid))
    for (const uid of uids) owned.set(uid, [...(owned.get(uid) ?? []), metadata])
  }
  return owned
}

/** Reports whether a DataVolume is finished, and nobody owns it: people made it. */
function isOfPeople(dataVolume: KubeObject): boolean {
  const { source, sourceRef }: Raw = (dataVolume as Raw).spec ?? {}
  const isCopy = sourceRef !== undefined || source?.pvc !== undefined || source?.snapshot !== undefined
  return !dataVolume.metadata.ownerReferences?.length && !isCopy && (dataVolume as Raw).status?.phase === 'Succeeded'
}

/** What the older operator has not finished is not adopted. */
function planOf(found: FoundVolume): PlannedAdoption {
  const planned = planAdoption(found)
  const phase = (found.older as Raw)?.status?.phase
  if (found.older === undefined || planned.state !== 'ready' || phase === READY) return planned
  const message = `its VMDiskImage of ${OLDER_GROUP} is ${phase ?? 'new'}, not ${READY}: the older operator still acts on it`
  return { ...planned, state: 'refused', reason: 'AdoptionUnfinished', message, steps: [] }
}

async function foundAt(
  { client, users, rule }: Reads,
  { namespace = '', name }: KubeObject['metadata'],
  listed: Pick<FoundVolume, 'older' | 'dataVolume'>,
): Promise<FoundVolume> {
  const key = { namespace, name }
  const { dataVolume } = listed
  const claim = await find(client, PERSISTENT_VOLUME_CLAIM, key)
  return {
    ...key,
    ...listed,
    claim,
    image: await find(client, vmDiskImage, key),
    facts: {
      ...rule,
      object: dataVolume && viewAdopted(dataVolume, 'DataVolume'),
      claim: claim && viewAdopted(claim, 'PersistentVolumeClaim'),
      usedBy: await users.of(namespace, { kind: 'DataVolume', name }, FOREVER),
    },
  }
}

/** Carries out what is left to do. After a break, the same command goes on from there. */
async function carryOut(client: KubeClient, planned: PlannedAdoption): Promise<Ended> {
  const done: AdoptionStep['what'][] = []
  if (planned.state !== 'ready') return { planned, done }
  try {
    // Who may not create the image is told before anything is taken from its owner.
    if (planned.steps.some(({ what }) => what === 'create'))
      await client.create(vmDiskImage, planned.manifest, { isDryRun: true })
    for (const { what } of planned.steps) {
      await write(client, what, planned)
      done.push(what)
    }
    return { planned, done }
  } catch (error) {
    return { planned, done, error: messageOf(error) }
  }
}

/** The version that is changed is the one that is read now: what it was judged by may have changed since. */
async function write(client: KubeClient, what: AdoptionStep['what'], { namespace, name, manifest }: PlannedAdoption) {
  const key = { namespace, name }
  if (what === 'create') {
    await client.create(vmDiskImage, manifest, { isStrict: true })
    return
  }
  const type = what === 'release' ? DATA_VOLUME : PERSISTENT_VOLUME_CLAIM
  const object = await client.get(type, key)
  const { uid, resourceVersion, deletionTimestamp } = object.metadata
  if (deletionTimestamp !== undefined) throw new Error(`${object.kind} ${name} is being deleted`)
  const { metadata } = what === 'release' ? releaseOf(object) : { metadata: { labels: { [OLDER_OWNER_LABEL]: null } } }
  await client.mergePatch(type, key, { metadata: { ...metadata, uid, resourceVersion } })
}

function show({ print }: Around, { output }: AdoptOptions, planned: readonly PlannedAdoption[]): void {
  const shownPlans = planned.map((one) => ({ ...one, manifest: shownManifest(one.manifest) }))
  if (output !== 'text') {
    print(structuredText(shownPlans, output))
    return
  }
  if (planned.length === 0) {
    print(`nothing can be adopted: ${NOTHING}\n`)
    return
  }
  print(
    tableOf(
      ['NAMESPACE', 'NAME', 'MADE BY', 'OWNER', 'STATE', 'PROVED', 'SIZE'],
      planned.map((one) => [
        one.namespace,
        one.name,
        one.madeBy,
        one.owner ?? '-',
        one.state,
        one.reason,
        bytesText(one.bytes),
      ]),
    ),
  )
  for (const one of shownPlans) print(`\n${storyOf(one)}`)
  const saved = planned.filter(({ state }) => state === 'ready').reduce((sum, { bytes }) => sum + bytes, 0)
  print(`\n${bytesText(saved)} of disks would not be downloaded again. Nothing was changed.\n`)
}

const NOTHING = `no VMDiskImage of ${OLDER_GROUP}, and no finished DataVolume without an owner`

function storyOf({ namespace, name, state, message, steps, manifest }: PlannedAdoption): string {
  const lines = [`${namespace}/${name} is ${state}: ${message}`]
  for (const [at, { text, command }] of steps.entries()) {
    lines.push(`  ${at + 1}. ${text}`)
    if (command !== undefined) lines.push(`     ${command}`)
  }
  const told = lines.map((line) => `${shown(line)}\n`).join('')
  if (state !== 'ready') return told
  const yaml = structuredText(manifest, 'yaml').trimEnd().split('\n')
  return `${told}${yaml.map((line) => `     ${line}\n`).join('')}`
}

function tellEnds({ print, tell }: Around, { output }: AdoptOptions, ended: readonly Ended[]): void {
  if (output !== 'text') {
    const all = ended.map(({ planned, ...rest }) => ({
      ...planned,
      manifest: shownManifest(planned.manifest),
      ...rest,
    }))
    print(structuredText(all, output))
    return
  }
  for (const { planned, done, error } of ended) {
    const title = `${planned.namespace}/${planned.name}`
    if (error !== undefined) {
      const after = done.length === 0 ? 'nothing was changed' : `done before that: ${done.join(', ')}`
      tell(`${shown(`${title}: ${error}; ${after}; the same command goes on from there`)}\n`)
    } else if (planned.state === 'refused') tell(`${shown(`${title} is not adopted: ${planned.message}`)}\n`)
    else
      print(
        `${shown(`${title}: VMDiskImage ${planned.name} ${planned.state === 'adopted' ? 'adopts it already' : 'adopts it now'}`)}\n`,
      )
  }
}
