import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runbookAnchor } from '@open-terrain/constructs/infra'
import { ALERTS, type AlertName } from '@open-terrain/constructs/platform'
import { describe, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const RUNBOOK = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8')
const NAMES = Object.keys(ALERTS) as AlertName[]

/** Text of each section, by the anchor of its heading. */
const SECTIONS = new Map(
  RUNBOOK.split(/^#+ /m).map((section) => {
    const [heading = '', ...lines] = section.split('\n')
    return [
      heading
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
      lines.join('\n'),
    ] as const
  }),
)

describe('the runbook', () => {
  it.each(NAMES)('has a section for %s that says what it means and what to do', (name) => {
    const anchor = runbookAnchor(name)
    const text = SECTIONS.get(anchor) ?? ''
    expect(text.split(/[.:] |[.:]\n/).length, `section ${anchor}`).toBeGreaterThan(3)
    expect(text).toContain(`Severity: ${ALERTS[name].severity}. `)
  })
})
