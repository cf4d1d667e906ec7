/** What is wrong with a field of a spec. */
export interface SpecProblem {
  /** Path of the field as the API server writes it, such as `spec.url` or `spec.users[0].name`. */
  readonly path: string
  /** The rule in words and, unless it may be secret, the value that breaks it. */
  readonly message: string
}

/** A spec that was checked, or what is wrong with it. */
export type Parsed<Spec> =
  | { readonly ok: true; readonly spec: Spec }
  | { readonly ok: false; readonly problems: readonly SpecProblem[] }

/** All problems as one message for people. */
export function problemsText(problems: readonly SpecProblem[]): string {
  return problems.map(({ path, message }) => `${path}: ${message}`).join('; ')
}
