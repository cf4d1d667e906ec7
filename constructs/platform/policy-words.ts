/** Converts a text with CEL expressions in braces to one CEL expression. */
export function sentence(...parts: readonly string[]): string {
  const pieces = parts.join('').split(/[{}]/)
  const terms = pieces.map((piece, at) => (at % 2 === 0 ? `'${piece}'` : `(${piece})`))
  return terms.filter((term) => term !== "''").join(' + ')
}

/** CEL: true for a new object, and if an update changes the value of one of the fields. */
export function isChanged(...fields: readonly string[]): string {
  const changes = fields.map((field) => `object.?spec.?${field} != oldObject.?spec.?${field}`)
  return ["request.operation == 'CREATE'", ...changes].join(' || ')
}
