import about from './package.json' with { type: 'json' }

/**
 * The container image of the operator that was released with this package, by digest where it was known. `npm run pack` writes it into the manifest of the
 * package. Undefined in the repository, and in a package that was made without one: a guessed name would not be there, or be somebody else's.
 */
export function releasedImage(
  manifest: Readonly<Record<string, unknown>> & { readonly operatorImage?: string } = about,
): string | undefined {
  return manifest.operatorImage
}
