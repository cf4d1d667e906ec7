import { table } from '../harness/markdown-table.ts'
import type { Chapter, Figure, Table } from './figure.ts'
import { median } from './statistics.ts'

export interface Report {
  /** Rows of a table: facts that hold for all chapters. */
  readonly facts: readonly (readonly [string, string])[]
  readonly chapters: readonly MeasuredChapter[]
  /** What could not be measured, and why. */
  readonly failures: readonly string[]
}

export interface MeasuredChapter extends Chapter {
  /** Commit and conditions, as text for readers. */
  readonly measured: string
}

const INTRODUCTION = `# Benchmarks

Written by \`npm run bench\`; do not edit. The operator runs as its bundle (\`dist/operator.mjs\`) in a process of its own against a real etcd and
kube-apiserver. CDI, storage and snapshots are simulated by another process; downloads take their time and move nothing. What is said about images
and DataVolumes was seen by a third process through watches of its own; requests are the operator's \`rest_client_requests_total\`; memory is \`Rss\` of
\`/proc/<pid>/smaps_rollup\` (all resident pages, those of the executable included; \`VmRSS\` is an estimate), 1 MB being 1,000,000 bytes.

A figure with several runs is given as its median and, in parentheses, the smallest and the largest. It is _met_ when every run meets the target,
_met in the median_ when the median does, else _missed_. Everything shares the cores of one machine, and machines differ by a factor of three from day to
day, so seconds are of that machine and that day; each chapter names its processor. Where seconds would decide, a bare client does the same in the same run, under the same load and in a
process of its own: it writes what a hand-over of a slot writes, or reads what a start reads. Targets are for the ratio to that; the seconds are reported
beside it.

The column _older operator_ is **another run, of another program**, on a machine with 2 cores: the Go operator that this one replaces, with the same
loads on kube-apiserver 1.36 and its own simulation of CDI; where two runs differ, both ends are given, and for the leader that is killed and frozen the
figures of two seeds. What is in parallel is counted at each revision of etcd, as what is unfinished there: an earlier figure of 11 in parallel for 200 images
was the observer's own delay, and is withdrawn. The column is there for the order of magnitude; nobody has to measure it again.`

/**
 * Returns the whole report in Markdown.
 * @param earlier a report of this program: its chapters that were not measured again are kept, if the introduction and all facts are the same
 */
export function renderReport({ facts, chapters, failures }: Report, earlier = ''): string {
  const failed = failures.map((failure) => `- **Could not be measured:** ${failure}`)
  const head = [INTRODUCTION, renderTable({ title: '', head: ['', ''], rows: facts })].join('\n\n')
  const known = earlier.startsWith(head) ? chaptersIn(earlier) : new Map<string, string>()
  for (const chapter of chapters) known.set(chapter.title, renderChapter(chapter))
  const parts = [head, ...(failed.length > 0 ? [failed.join('\n')] : []), ...known.values()]
  return `${parts.join('\n\n')}\n`
}

const CHAPTER = /^## (.+)$/gm

/** The text of each chapter of a report, by title, in order. */
function chaptersIn(report: string): Map<string, string> {
  const starts = [...report.matchAll(CHAPTER)]
  const ends = [...starts.slice(1).map(({ index }) => index), report.length]
  return new Map(starts.map(({ index, 1: title = '' }, at) => [title, report.slice(index, ends[at]).trimEnd()]))
}

function renderChapter({ title, method, figures, tables = [], measured }: MeasuredChapter): string {
  const hasOlder = figures.some(({ older }) => older !== undefined)
  const head = ['figure', 'measured', 'target', 'verdict', ...(hasOlder ? ['older operator'] : [])]
  const rows = figures.map((figure) => [
    figure.title,
    renderValues(figure),
    figure.target?.text ?? '',
    verdictOn(figure),
    ...(hasOlder ? [figure.older ?? ''] : []),
  ])
  const parts = [
    `## ${title}`,
    method,
    `Measured ${measured}.`,
    renderTable({ title: '', head, rows }),
    ...tables.map(renderTable),
  ]
  return parts.join('\n\n')
}

function renderTable({ title, head, rows }: Table): string {
  const text = table(head, rows)
  return title === '' ? text : `### ${title}\n\n${text}`
}

/** `1.014 (1.012 to 1.018)`, or one value. */
export function renderValues({ values, unit, digits = 0 }: Figure): string {
  const text = (value: number) =>
    Number.isNaN(value)
      ? 'none'
      : value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
  const suffix = unit === '' ? '' : ` ${unit}`
  const middle = `${text(median(values))}${suffix}`
  if (values.length < 2) return middle
  return `${middle} (${text(Math.min(...values))} to ${text(Math.max(...values))})`
}

export function verdictOn({ values, target }: Figure): string {
  if (target === undefined) return ''
  if (values.length > 0 && values.every(target.isMetBy)) return 'met'
  return target.isMetBy(median(values)) ? 'met in the median' : '**missed**'
}
