import { Document, type ScalarTag, visit } from 'yaml'

/** What PyYAML does not read, reads as the end of a line, or as a byte order mark, unless it is escaped. */
const TO_ESCAPE = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g
/** Texts that PyYAML takes for more than text: a merge of mappings, a default value, and those with a tab in them. */
const MORE_THAN_TEXT = /^(<<|=)$|[\t\r]/

/** PyYAML takes `1e-7` for a text: a number needs a point. */
const WITHOUT_POINT = /^-?[0-9]+e/
const SHORT_FLOAT: ScalarTag = {
  tag: 'tag:yaml.org,2002:float',
  default: true,
  identify: (value) => typeof value === 'number' && WITHOUT_POINT.test(String(value)),
  test: WITHOUT_POINT,
  resolve: Number,
  stringify: ({ value }) => String(value).replace('e', '.0e'),
}

/** The library would write the text `<<` as what merges mappings. */
function isMerge(tag: unknown): boolean {
  return tag === 'merge' || (tag as { readonly tag?: string }).tag === 'tag:yaml.org,2002:merge'
}

/**
 * YAML 1.1 that PyYAML, and so Ansible, reads as exactly this value, which is of JSON. Half of a surrogate pair, which is no character,
 * becomes U+FFFD.
 */
export function ansibleYaml(value: unknown): string {
  const document = new Document(value, {
    version: '1.1',
    aliasDuplicateObjects: false,
    customTags: (tags) => [SHORT_FLOAT, ...tags.filter((tag) => !isMerge(tag))],
  })
  visit(document, {
    Scalar: (_key, node) => {
      if (typeof node.value !== 'string') return
      const text = node.value.toWellFormed()
      node.value = text
      if (MORE_THAN_TEXT.test(text) || text.search(TO_ESCAPE) >= 0) node.type = 'QUOTE_DOUBLE'
    },
  })
  return document
    .toString({ lineWidth: 0, doubleQuotedAsJSON: true })
    .replace(TO_ESCAPE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
