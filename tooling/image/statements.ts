import type { Descriptor, Statement } from '../../sandbox/oci/image-layout.ts'
import type { LockedPackage, PackageLock } from './locked-packages.ts'

/** Not the name in a registry: the image is the same wherever it is. */
const NAME = 'open-terrain-operator'
/** Programs that read documents of CycloneDX take this as their kind. */
const SBOM = 'https://cyclonedx.org/bom'
const PROVENANCE = 'https://slsa.dev/provenance/v1'
const BUILD_TYPE = 'urn:open-terrain:build:npm-run-image'
const BUILDER = 'urn:open-terrain:builder:npm-run-image'
/** What Node reports besides the versions of its own parts. */
const NO_PARTS: readonly string[] = ['node', 'modules', 'napi']

/** A document of CycloneDX, as npm writes it. */
export interface Sbom {
  readonly specVersion: string
  readonly metadata: object
  readonly components?: readonly object[]
  readonly dependencies?: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[]
}

interface Said {
  readonly version: string
  /** The commit, if all is as it is there. */
  readonly revision?: string | undefined
  /** Architecture in Debian's words. */
  readonly architecture: string
  readonly lock: PackageLock
  /** What is in the bundle. */
  readonly bundle: Sbom
  /** Versions by the name of a part of Node, as `process.versions` has them. */
  readonly partsOfNode: Readonly<Record<string, string | undefined>>
}

/**
 * Returns the versions of Node's parts, by the names in `process.versions`. Throws where another Node runs than the one that is in the image: its parts
 * are of other versions.
 */
export function partsOfNode(
  { node }: PackageLock,
  running: NodeJS.ProcessVersions = process.versions,
): Said['partsOfNode'] {
  if (running.node === node.version) return running
  throw new Error(
    `this runs on Node ${running.node}, and the image has ${node.version}, whose parts are not known here: run npm ci, and then npm run image`,
  )
}

/**
 * What is said about the image of one platform: the list of all that is in it, and from what it was made. Neither has a time or a place, so the same
 * commit gives the same bytes wherever it is built on the same architecture. Who built a release is said by whoever signs it.
 */
export function statementsOf(said: Said, image: Descriptor): readonly Statement[] {
  const subject = [{ name: NAME, digest: { sha256: image.digest.replace('sha256:', '') } }]
  const about = (predicateType: string, predicate: object): Statement => ({
    _type: 'https://in-toto.io/Statement/v1',
    subject,
    predicateType,
    predicate,
  })
  return [about(SBOM, imageSbom(said, image)), about(PROVENANCE, provenance(said))]
}

/** The packages of the bundle, Node with its parts, and the packages of Debian. What has parts of several licenses says none: the image has their texts. */
export function imageSbom({ bundle, lock, ...said }: Said, image: Descriptor): Sbom {
  const node = nodeComponent(lock.node, said.partsOfNode)
  const debian = lock.debian.map((one) => debianComponent(one, said.architecture))
  const ref = `pkg:oci/${NAME}@${encodeURIComponent(image.digest)}?arch=${said.architecture}`
  const whole = {
    type: 'container',
    'bom-ref': ref,
    name: NAME,
    version: said.version,
    purl: ref,
  }
  const { component, ...metadata } = bundle.metadata as { component: { 'bom-ref': string } }
  const parts = [component, node, ...debian]
  return {
    ...bundle,
    metadata: { ...metadata, component: whole },
    components: [...parts, ...(bundle.components ?? [])],
    dependencies: [{ ref, dependsOn: parts.map((part) => part['bom-ref']) }, ...(bundle.dependencies ?? [])],
  }
}

function debianComponent({ name, version, sha256 }: LockedPackage, architecture: string) {
  const purl = purlOfDebian(name, version, architecture)
  return { type: 'library', 'bom-ref': purl, name, version, purl, hashes: [{ alg: 'SHA-256', content: sha256 }] }
}

function purlOfDebian(name: string, version: string, architecture: string): string {
  return `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}&distro=debian-12`
}

function nodeComponent({ name, version, sha256 }: LockedPackage, parts: Said['partsOfNode']) {
  const purl = `pkg:npm/${name}@${version}`
  const components = Object.entries(parts).flatMap(([part, its]) =>
    NO_PARTS.includes(part) || its === undefined
      ? []
      : [{ type: 'library', 'bom-ref': `${purl}#${part}`, name: part, version: its }],
  )
  const hashes = [{ alg: 'SHA-256', content: sha256 }]
  return { type: 'application', 'bom-ref': purl, name: 'node', version, purl, hashes, components }
}

/** In the words of SLSA 1.0: what was asked for, and all that the result depends on. */
function provenance({ version, revision, architecture, lock }: Said): object {
  const debian = lock.debian.map((one) => ({
    uri: purlOfDebian(one.name, one.version, architecture),
    digest: { sha256: one.sha256 },
  }))
  // Packages of the bundle are locked by that commit, in package-lock.json.
  const source = revision === undefined ? [] : [{ name: 'source', digest: { gitCommit: revision } }]
  const node = { uri: `pkg:npm/${lock.node.name}@${lock.node.version}`, digest: { sha256: lock.node.sha256 } }
  return {
    buildDefinition: {
      buildType: BUILD_TYPE,
      externalParameters: { version, platform: `linux/${architecture}` },
      resolvedDependencies: [...source, node, ...debian],
    },
    runDetails: { builder: { id: BUILDER } },
  }
}
