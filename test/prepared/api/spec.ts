/**
 * Specs that the API server and the parser of their kind must judge alike. The table test checks the zod side, and a scenario on a real API server
 * checks the CEL side.
 */
export interface SpecFixture {
  readonly name: string
  readonly spec: unknown
  readonly valid: boolean
  /** Field of the first problem, if the spec is refused. */
  readonly path?: string
  /** Message of both, in addition to the value. */
  readonly says?: string
}

export const accepted = (name: string, spec: unknown): SpecFixture => ({ name, spec, valid: true })
export const refused = (name: string, spec: unknown, path: string, says?: string): SpecFixture => ({
  name,
  spec,
  valid: false,
  path,
  ...(says !== undefined && { says }),
})

/** An object of one of our kinds as people write it. */
export const manifest = <const Kind extends string, const Spec>(kind: Kind, name: string, spec: Spec) => ({
  apiVersion: 'pelotech.ot/v1alpha1',
  kind,
  metadata: { name },
  spec,
})

const shown = (value: unknown) => {
  const text = JSON.stringify(value) ?? String(value)
  return text.length <= 60 ? text : `${text.slice(0, 40)}... of ${text.length}`
}

/** Fixtures of one field: values that are accepted, and values that are refused with the path of the field. */
export function field(path: string, put: (value: unknown) => unknown, values: { yes: unknown[]; no: unknown[] }) {
  return [
    ...values.yes.map((value) => accepted(`${path} ${shown(value)}`, put(value))),
    ...values.no.map((value) => refused(`${path} ${shown(value)}`, put(value), path)),
  ]
}
