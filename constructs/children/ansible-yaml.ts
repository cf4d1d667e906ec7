import { Document, Scalar, type ScalarTag, type Tags } from 'yaml'
import { stringTag } from 'yaml/util'

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

/** Writes a text so that PyYAML reads it as it is. */
const TEXT: ScalarTag = {
  ...stringTag,
  stringify: ({ value }, ...context) => {
    const text = new Scalar(String(value).toWellFormed())
    if (MORE_THAN_TEXT.test(text.value) || text.value.search(TO_ESCAPE) >= 0) text.type = 'QUOTE_DOUBLE'
    return stringTag.stringify?.(text, ...context) ?? text.value
  },
}

/** Types that no JSON value has. With the first, the library would write the text `<<` as the merge key. */
const NOT_JSON = ['merge', 'binary', 'omap', 'pairs', 'set']

/** The types of YAML 1.1 that JSON values have, and those that a text may look like. */
const { schema: SCHEMA } = new Document(null, {
  version: '1.1',
  customTags: (tags) => [SHORT_FLOAT, ...tags.flatMap(jsonTag)],
})

function jsonTag(tag: Tags[number]): Tags {
  const name = typeof tag === 'string' ? tag : tag.tag.replace('tag:yaml.org,2002:', '')
  if (NOT_JSON.includes(name)) return []
  return name === 'str' ? [TEXT] : [tag]
}

/** Returns YAML 1.1 that PyYAML, and so Ansible, reads as exactly this JSON value. A lone surrogate, which is not a character, becomes U+FFFD. */
export function ansibleYaml(value: unknown): string {
  return new Document(value, { version: '1.1', schema: SCHEMA, aliasDuplicateObjects: false })
    .toString({ lineWidth: 0, doubleQuotedAsJSON: true, directives: false })
    .replace(TO_ESCAPE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
