import { Document, isCollection, isPair, isScalar, Scalar, visit } from 'yaml'

/** Characters of JSON. */
const SHORT = 140
/** Within braces, YAML 1.1 ends a text without quotes at these. kubectl reads YAML 1.1. */
const ENDS_PLAIN_TEXT = /[?:]/

/**
 * Returns an object as YAML, with few bytes: what is short and holds nothing but values is on one line. Other lines are not folded, so that a rule or a
 * URL can be searched for. There are no anchors, because not every tool reads them.
 */
export function manifestYaml(object: object): string {
  const document = new Document(object, { aliasDuplicateObjects: false })
  visit(document, {
    Collection: (_key, collection) => {
      const values = collection.items.map((item) => (isPair(item) ? item.value : item))
      const isPlain = values.length > 0 && !values.some(isCollection)
      if (!isPlain || JSON.stringify(collection).length > SHORT) return
      collection.flow = true
      for (const value of values)
        if (isScalar(value) && ENDS_PLAIN_TEXT.test(String(value.value))) value.type = Scalar.QUOTE_DOUBLE
    },
  })
  return document.toString({ lineWidth: 0, indentSeq: false })
}
