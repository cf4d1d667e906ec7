import { Document, type ScalarTag, visit } from 'yaml'

/** Characters that PyYAML refuses, or reads as a line break or a byte order mark, unless they are escaped. */
const TO_ESCAPE = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g
/** Texts that PyYAML does not read as plain text: the merge key, the default value, and those with a tab or a carriage return. */
const MORE_THAN_TEXT = /^(<<|=)$|[\t\r]/

/** PyYAML reads `1e-7` as a text: a number needs a decimal point. */
const WITHOUT_POINT = /^-?[0-9]+e/
const SHORT_FLOAT: ScalarTag = {
  tag: 'tag:yaml.org,2002:float',
  default: true,
  identify: (value) => typeof value === 'number' && WITHOUT_POINT.test(String(value)),
  test: WITHOUT_POINT,
  resolve: Number,
  stringify: ({ value }) => String(value).replace('e', '.0e'),
}

/** With this tag, the library would write the text `<<` as the merge key. */
function isMerge(tag: unknown): boolean {
  return tag === 'merge' || (tag as { readonly tag?: string }).tag === 'tag:yaml.org,2002:merge'
}

/** Returns YAML 1.1 that PyYAML, and so Ansible, reads as exactly this JSON value. A lone surrogate, which is not a character, becomes U+FFFD. */
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
