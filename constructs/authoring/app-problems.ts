import { Chart } from 'cdk8s'
import type { IConstruct } from 'constructs'
import { DATA_SYNC_IMAGE_FIELDS, dataSync } from '../api/data-sync.ts'
import { isWithHash } from '../api/data-sync-names.ts'
import { POLICY_DEFAULTS } from '../api/policy.ts'
import { vmDiskImage } from '../api/vm-disk-image.ts'
import { workspace } from '../api/workspace.ts'
import { differingSettings } from '../children/workspace-lab-warnings.ts'
import type { AuthorWarning } from './author-warning.ts'
import { nearestTo } from './nearest-name.ts'
import { type AuthoredImage, type AuthoredNode, authoredIn, changesIn, insideAuthored } from './node-problems.ts'

const IMAGE_MAKERS: readonly string[] = [dataSync.kind, vmDiskImage.kind]

/** What an object was the first to say of an image. */
interface Said {
  readonly by: AuthoredNode
  readonly settings: object
}

/** What the objects of a chart, or of an app, say, in the order of the tree. Charts may be for different clusters: each is a file of its own. */
interface ObjectIndex {
  /** Place of each object among them. */
  readonly places: Map<AuthoredNode, number>
  /** The first object of each kind, namespace and name. */
  readonly names: Map<string, AuthoredNode>
  /** All different things that are said of an image. */
  readonly images: Map<string, Said[]>
}

interface AppIndex {
  readonly charts: ReadonlyMap<IConstruct | undefined, ObjectIndex>
  readonly whole: ObjectIndex
}

/** Which images the objects of an app make, or bring with them. */
interface ImagesOfApp {
  /** Whether an object of the app makes images: then its author does not leave that to others. */
  readonly isMaker: boolean
  /** The namespaces of each name. What has none may be anywhere. */
  readonly names: ReadonlyMap<string, readonly (string | undefined)[]>
  /** What they say that its disk has, by the name of the image. */
  readonly sizes: ReadonlyMap<string, string>
}

/** Every object of an app is compared with all others, each time that it is checked: what they say is gathered once for as long as nothing is added. */
const known = new WeakMap<IConstruct, { readonly changes: number; readonly index: AppIndex }>()

const knownImages = new WeakMap<IConstruct, { readonly changes: number; readonly images: ImagesOfApp }>()

/** Returns which images the objects of an app make, in all of its charts: images may be in another one than the labs. */
export function imagesOfApp(root: IConstruct): ImagesOfApp {
  const changes = changesIn(root)
  const before = knownImages.get(root)
  if (before?.changes === changes) return before.images
  const objects = authoredIn(root)
  const names = new Map<string, (string | undefined)[]>()
  const sizes = new Map<string, string>()
  for (const object of objects) {
    const ofLabs = object.kind === workspace.kind ? POLICY_DEFAULTS.imageNamespace : undefined
    for (const claim of insideAuthored(object).images()) {
      const { image, namespace = ofLabs } = claim
      names.set(image, [...(names.get(image) ?? []), namespace])
      const size = sizeOf(claim)
      if (size !== undefined && !sizes.has(image)) sizes.set(image, size)
    }
  }
  const images = { isMaker: objects.some(({ kind }) => IMAGE_MAKERS.includes(kind)), names, sizes }
  knownImages.set(root, { changes, images })
  return images
}

function sizeOf({ settings }: AuthoredImage): string | undefined {
  const { diskSize } = settings as { readonly diskSize?: unknown }
  return typeof diskSize === 'string' || typeof diskSize === 'number' ? String(diskSize) : undefined
}

/** Returns what to say of an image that is named by a text, and that no object of its app makes. */
export function unknownImage(image: string, names: ImagesOfApp['names'], elsewhere: string): string {
  const all = [...names.keys()]
  const hashed = all.find((name) => isWithHash(name, image))
  if (hashed !== undefined)
    return `no object of this app makes the image ${image}: its Release or DataSync names it ${hashed}, with a hash, since the name without it could be that of another image; take it as release.image(...)`
  const near = nearestTo(image, all)
  const meant = near === undefined ? '' : `, such as ${near}`
  return `no object of this app makes the image ${image}: take it from its Release or VMDiskImage${meant}, or ${elsewhere} if something else makes it`
}

/** Returns what is wrong between an object and those that were added to the app before it. */
export function appProblemsOf(object: AuthoredNode): string[] {
  return foundIn(object, ({ charts }) => {
    const beside = charts.get(chartOf(object))
    return beside === undefined ? [] : [...takenName(beside, object), ...otherImages(beside, object)]
  })
}

/** Returns what is wrong between an object and those of other charts, if they are for one cluster. */
export function appWarningsOf(object: AuthoredNode): AuthorWarning[] {
  const isElsewhere = (other: AuthoredNode) => chartOf(other) !== chartOf(object)
  return foundIn(object, ({ whole }) => [
    ...nameElsewhere(whole, object)
      .filter(isElsewhere)
      .map((other) => nameWarning(object, other)),
    ...differingImages(whole, object)
      .filter(({ by }) => isElsewhere(by))
      .map((one) => imageWarning(object, one)),
  ])
}

function foundIn<Found>(object: AuthoredNode, find: (index: AppIndex) => Found[]): Found[] {
  const { root } = object.node
  const changes = changesIn(root)
  const before = known.get(root)
  const index = before?.changes === changes ? before.index : indexOf(root)
  known.set(root, { changes, index })
  const found = find(index)
  // Somebody may have taken the other object out of the tree.
  return found.length === 0 ? found : find(indexOf(root))
}

function indexOf(root: IConstruct): AppIndex {
  const charts = new Map<IConstruct | undefined, ObjectIndex>()
  const whole = emptyIndex()
  for (const object of authoredIn(root)) {
    const chart = chartOf(object)
    const said = charts.get(chart) ?? emptyIndex()
    charts.set(chart, said)
    for (const index of [said, whole]) note(index, object)
  }
  return { charts, whole }
}

function emptyIndex(): ObjectIndex {
  return { places: new Map(), names: new Map(), images: new Map() }
}

function note({ places, names, images }: ObjectIndex, object: AuthoredNode): void {
  places.set(object, places.size)
  const name = nameKey(object)
  if (!names.has(name)) names.set(name, object)
  for (const claim of insideAuthored(object).images()) {
    const said = images.get(imageKey(claim)) ?? []
    const isNew = said.every(({ settings }) => differingSources(claim.settings, settings).length > 0)
    if (isNew) images.set(imageKey(claim), [...said, { by: object, settings: claim.settings }])
  }
}

function chartOf({ node }: AuthoredNode): IConstruct | undefined {
  return node.scopes.findLast((scope) => Chart.isChart(scope))
}

/** A lab is in no namespace, whatever its chart says. */
function nameKey({ kind, name, metadata: { namespace = '' } }: AuthoredNode): string {
  return [kind, kind === workspace.kind ? '' : namespace, name].join('/')
}

/** Machines of labs have their images where the policy says. */
function imageKey({ namespace = POLICY_DEFAULTS.imageNamespace, image }: AuthoredImage): string {
  return [namespace, image].join('/')
}

function takenName(index: ObjectIndex, object: AuthoredNode): string[] {
  return nameElsewhere(index, object).map(
    (first) =>
      `metadata.name: ${object.name} is the name of ${first.node.path} too, and one would replace the other: call one of them otherwise, or put objects for different clusters into charts of their own`,
  )
}

function nameWarning(object: AuthoredNode, first: AuthoredNode): AuthorWarning {
  const message = `${object.name} is the name of ${first.node.path} too, and in one cluster each would replace the other: call one of them otherwise, or acknowledge this if their charts are for different clusters`
  return { at: object, id: 'NameInOtherChart', message }
}

/** Returns the first object of this name, if that is another one. */
function nameElsewhere({ names }: ObjectIndex, object: AuthoredNode): AuthoredNode[] {
  const first = names.get(nameKey(object))
  return first === undefined || first === object ? [] : [first]
}

function otherImages(index: ObjectIndex, object: AuthoredNode): string[] {
  return differingImages(index, object).map(
    ({ image, by, fields }) =>
      `image ${image}: ${by.node.path} says something else about it, in ${fields.join(', ')}: make them the same, or name another image`,
  )
}

function imageWarning(object: AuthoredNode, { image, by, fields }: Difference): AuthorWarning {
  const message = `of image ${image}, ${by.node.path} in another chart says something else, in ${fields.join(', ')}: make them the same or name another image, or acknowledge this if the charts are for different clusters`
  return { at: object, id: 'ImageInOtherChart', message }
}

interface Difference {
  readonly image: string
  /** Who was the first to say something else. */
  readonly by: AuthoredNode
  readonly fields: readonly string[]
}

/** Returns what was said of the images of an object before it, and is not the same. */
function differingImages({ places, images }: ObjectIndex, object: AuthoredNode): Difference[] {
  const own = places.get(object) ?? 0
  return insideAuthored(object)
    .images()
    .flatMap((claim) => {
      for (const { by, settings } of images.get(imageKey(claim)) ?? []) {
        if ((places.get(by) ?? 0) >= own) break
        const fields = differingSources(claim.settings, settings)
        if (fields.length > 0) return [{ image: claim.image, by, fields }]
      }
      return []
    })
}

/** How an image is kept, its owner says alone. */
function differingSources(one: object, other: object): string[] {
  const source = (settings: object) =>
    Object.fromEntries(
      DATA_SYNC_IMAGE_FIELDS.flatMap((field) => {
        const value = (settings as Readonly<Record<string, unknown>>)[field]
        return value === undefined || value === null ? [] : [[field, typeof value === 'number' ? String(value) : value]]
      }),
    )
  return differingSettings(source(one), source(other))
}
