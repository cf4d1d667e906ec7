import { Chart } from 'cdk8s'
import { DATA_SYNC_IMAGE_FIELDS } from '../api/data-sync.ts'
import { POLICY_DEFAULTS } from '../api/policy.ts'
import { differingSettings } from '../children/workspace-lab-warnings.ts'
import { type AuthoredImage, type AuthoredNode, authoredIn } from './node-problems.ts'

/** Returns what is wrong between an object and those that were added to the app before it. */
export function appProblemsOf(object: AuthoredNode): string[] {
  const all = authoredIn(object.node.root)
  const before = all.slice(0, all.indexOf(object))
  return [...takenNames(object, before), ...otherImages(object, before)]
}

function takenNames(object: AuthoredNode, before: readonly AuthoredNode[]): string[] {
  const other = before.find(
    (one) =>
      isBesideIt(object, one) &&
      one.kind === object.kind &&
      one.name === object.name &&
      one.metadata.namespace === object.metadata.namespace,
  )
  if (other === undefined) return []
  return [
    `metadata.name: ${object.name} is the name of ${other.node.path} too, and one would replace the other: call one of them otherwise, or put objects for different clusters into charts of their own`,
  ]
}

/** Charts may be for different clusters: each is a file of its own. */
function isBesideIt(one: AuthoredNode, other: AuthoredNode): boolean {
  const chartOf = ({ node }: AuthoredNode) => node.scopes.findLast((scope) => Chart.isChart(scope))
  return chartOf(one) === chartOf(other)
}

function otherImages(object: AuthoredNode, before: readonly AuthoredNode[]): string[] {
  return object.authoredImages().flatMap((claim) => {
    for (const one of before.filter((other) => isBesideIt(object, other)))
      for (const other of one.authoredImages()) {
        const differing = isSameImage(claim, other) ? differingSources(claim.settings, other.settings) : []
        if (differing.length > 0)
          return `image ${claim.image}: ${one.node.path} says something else about it, in ${differing.join(', ')}: make them the same, or name another image`
      }
    return []
  })
}

function isSameImage(one: AuthoredImage, other: AuthoredImage): boolean {
  // Machines of labs have their images where the policy says.
  const [own, others] = [one, other].map(({ namespace = POLICY_DEFAULTS.imageNamespace }) => namespace)
  return one.image === other.image && own === others
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
