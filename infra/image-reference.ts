/** `<registry>/<path>`. The first part is a host only if it has a dot or a port, or is `localhost`. Otherwise each node picks the registry. */
const QUALIFIED =
  /^(?:localhost|[a-z0-9-]+(?:\.[a-z0-9-]+)+|[a-z0-9.-]+(?=:\d))(?::\d{1,5})?\/[a-z0-9]+(?:[._/-]+[a-z0-9]+)*$/
const DIGEST = /^sha256:[0-9a-f]{64}$/
/** A tag that starts like a version. Tags such as `latest`, `main` or `stable` move. */
const VERSION_TAG = /^v?\d[\w.-]{0,126}$/

export interface ImageReference {
  readonly repository: string
  readonly tag: string | undefined
  readonly digest: string | undefined
}

/** Splits `repository[:tag][@digest]` without validating it. */
export function parseImageReference(text: string): ImageReference {
  const [named = '', digest] = text.split('@', 2)
  const colon = named.indexOf(':', named.lastIndexOf('/') + 1)
  if (colon < 0) return { repository: named, tag: undefined, digest }
  return { repository: named.slice(0, colon), tag: named.slice(colon + 1), digest }
}

/**
 * Returns why a container image must not be rolled out, or undefined: it must mean the same bytes on every node, on every day.
 * The text continues a sentence that starts with the image: `must ...`.
 */
export function imageProblem(text: string): string | undefined {
  const { repository, tag, digest } = parseImageReference(text)
  if (!QUALIFIED.test(repository))
    return 'must name its registry: write <registry>/<repository>, such as registry.example/open-terrain/operator'
  if (digest !== undefined)
    return DIGEST.test(digest) ? undefined : 'must have a digest of the form sha256:<64 hexadecimal digits>'
  if (tag !== undefined && VERSION_TAG.test(tag)) return undefined
  return 'must be pinned: add @sha256:<digest>, or a tag that is a version, such as :1.4.0; other tags can move'
}
