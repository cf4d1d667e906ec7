import { Chart } from 'cdk8s'
import type { IConstruct } from 'constructs'
import { DATA_SYNC_IMAGE_FIELDS, dataSync } from '../api/data-sync.ts'
import { POLICY_DEFAULTS } from '../api/policy.ts'
import { vmDiskImage } from '../api/vm-disk-image.ts'
import { differingSettings } from '../children/workspace-lab-warnings.ts'
import { nearestTo } from './nearest-name.ts'
import { type AuthoredImage, type AuthoredNode, authoredIn, changesIn } from './node-problems.ts'

const IMAGE_MAKERS: readonly string[] = [dataSync.kind, vmDiskImage.kind]

/** What an object was the first to say of an image. */
interface Said {
  readonly by: AuthoredNode
  readonly settings: object
}

/** What the objects of a chart say, in the order of the tree. Charts may be for different clusters: each is a file of its own. */
interface ChartIndex {
  /** Place of each object among them. */
  readonly places: Map<AuthoredNode, number>
  /** The first object of each kind, namespace and name. */
  readonly names: Map<string, AuthoredNode>
  /** All different things that are said of an image. */
  readonly images: Map<string, Said[]>
}

type AppIndex = ReadonlyMap<IConstruct | undefined, ChartIndex>

/** Which images the objects of an app make, or bring with them. */
interface ImagesOfApp {
  /** Whether an object of the app makes images: then its author does not leave that to others. */
  readonly isMaker: boolean
  readonly names: ReadonlySet<string>
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
  const claims = objects.flatMap((one) => one.authoredImages())
  const images = {
    isMaker: objects.some(({ kind }) => IMAGE_MAKERS.includes(kind)),
    names: new Set(claims.map(({ image }) => image)),
    sizes: new Map(claims.flatMap((claim) => sizeOf(claim)).toReversed()),
  }
  knownImages.set(root, { changes, images })
  return images
}

function sizeOf({ image, settings }: AuthoredImage): [string, string][] {
  const { diskSize } = settings as { readonly diskSize?: unknown }
  return typeof diskSize === 'string' || typeof diskSize === 'number' ? [[image, String(diskSize)]] : []
}

/** Returns what to say of an image that is named by a text, and that no object of its app makes. */
export function unknownImage(image: string, names: ReadonlySet<string>, elsewhere: string): string {
  const near = nearestTo(image, [...names])
  const meant = near === undefined ? '' : `, such as ${near}`
  return `no object of this app makes the image ${image}: take it from its Release or VMDiskImage${meant}, or ${elsewhere} if something else makes it`
}

/** Returns what is wrong between an object and those that were added to the app before it. */
export function appProblemsOf(object: AuthoredNode): string[] {
  const { root } = object.node
  const changes = changesIn(root)
  const before = known.get(root)
  const index = before?.changes === changes ? before.index : indexOf(root)
  known.set(root, { changes, index })
  const problems = problemsAmong(index, object)
  // Somebody may have taken the other object out of the tree.
  return problems.length === 0 ? problems : problemsAmong(indexOf(root), object)
}

function problemsAmong(index: AppIndex, object: AuthoredNode): string[] {
  const beside = index.get(chartOf(object))
  return beside === undefined ? [] : [...takenName(beside, object), ...otherImages(beside, object)]
}

function indexOf(root: IConstruct): AppIndex {
  const index = new Map<IConstruct | undefined, ChartIndex>()
  for (const object of authoredIn(root)) {
    const chart = chartOf(object)
    const said = index.get(chart) ?? { places: new Map(), names: new Map(), images: new Map() }
    index.set(chart, said)
    note(said, object)
  }
  return index
}

function note({ places, names, images }: ChartIndex, object: AuthoredNode): void {
  places.set(object, places.size)
  const name = nameKey(object)
  if (!names.has(name)) names.set(name, object)
  for (const claim of object.authoredImages()) {
    const said = images.get(imageKey(claim)) ?? []
    const isNew = said.every(({ settings }) => differingSources(claim.settings, settings).length > 0)
    if (isNew) images.set(imageKey(claim), [...said, { by: object, settings: claim.settings }])
  }
}

function chartOf({ node }: AuthoredNode): IConstruct | undefined {
  return node.scopes.findLast((scope) => Chart.isChart(scope))
}

function nameKey({ kind, name, metadata: { namespace = '' } }: AuthoredNode): string {
  return [kind, namespace, name].join('/')
}

/** Machines of labs have their images where the policy says. */
function imageKey({ namespace = POLICY_DEFAULTS.imageNamespace, image }: AuthoredImage): string {
  return [namespace, image].join('/')
}

function takenName({ names }: ChartIndex, object: AuthoredNode): string[] {
  const first = names.get(nameKey(object))
  if (first === undefined || first === object) return []
  return [
    `metadata.name: ${object.name} is the name of ${first.node.path} too, and one would replace the other: call one of them otherwise, or put objects for different clusters into charts of their own`,
  ]
}

function otherImages({ places, images }: ChartIndex, object: AuthoredNode): string[] {
  return object.authoredImages().flatMap((claim) => {
    const own = places.get(object) ?? 0
    for (const { by, settings } of images.get(imageKey(claim)) ?? []) {
      if ((places.get(by) ?? 0) >= own) break
      const differing = differingSources(claim.settings, settings)
      if (differing.length > 0)
        return `image ${claim.image}: ${by.node.path} says something else about it, in ${differing.join(', ')}: make them the same, or name another image`
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
