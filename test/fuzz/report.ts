import { writeFile } from 'node:fs/promises'
import { commitFact } from '../bench/machine.ts'
import { table } from '../harness/markdown-table.ts'
import type { PolicyTally } from './policy-campaign.ts'
import type { SpecFinding, SpecTally } from './spec-campaign.ts'
import { MANIFEST_CLASSES } from './spec-manifests.ts'

export interface FuzzResult {
  readonly seed: number
  readonly startedAt: Date
  readonly endedAt: Date
  readonly specs: SpecTally
  readonly policies: PolicyTally
}

export function hasFindings({ specs, policies }: FuzzResult): boolean {
  return specs.findings.length > 0 || policies.finding !== undefined
}

/** The findings, with everything that is needed to repeat them. */
export function resultText({ specs, policies }: FuzzResult): string {
  const counts =
    `${specs.judged} specs judged by the API server and by the schema, ${specs.findings.length} differences; ` +
    `${policies.writes} policies written, ${policies.finding === undefined ? 'no' : 'a'} difference`
  const ofSpecs = specs.findings.map(findingText)
  const { finding } = policies
  const ofPolicies =
    finding === undefined
      ? []
      : [
          `\n${finding.difference}\n${finding.writes}\n  again: npm run fuzz -- --specs 0 --policies 1 ${finding.replay}`,
        ]
  return [counts, ...ofSpecs, ...ofPolicies].join('\n')
}

export function findingText({ replay, difference, body }: SpecFinding): string {
  return `\n${difference}\n  ${body}\n  again: npm run fuzz -- ${replay}`
}

export async function writeReport(file: string, result: FuzzResult): Promise<void> {
  await writeFile(file, reportOf(result))
}

function reportOf(result: FuzzResult): string {
  const { seed, startedAt, endedAt, specs, policies } = result
  const seconds = Math.round((endedAt.getTime() - startedAt.getTime()) / 1_000)
  return `# Fuzz

Written by \`npm run fuzz\`; do not edit.

${table(
  ['', ''],
  [
    ['commit', commitFact()],
    ['started', startedAt.toISOString()],
    ['duration', `${seconds} s`],
    ['seed', String(seed)],
  ],
)}

## Specs

Random manifests of VMDiskImages, VirtualMachines, DataSyncs and Workspaces go to a real API server (a create that is checked in full and not carried out) and to the schema that
operator and authors use. Both have to accept or to refuse, for a reason in the same field, and what is stored has to be read as what was
written; no accepted URL may lead to a local address. \`test/fuzz/spec-differences.ts\` says it in full.

${table(
  ['made as', 'accepted', 'refused'],
  [
    ...MANIFEST_CLASSES.map((made) => [
      made,
      String(specs.byClass[made].accepted),
      String(specs.byClass[made].refused),
    ]),
    ['all', String(sumOf(specs, 'accepted')), String(sumOf(specs, 'refused'))],
  ],
)}

Differences: ${specs.findings.length}. Allowed differences (a whole number written as \`1e7\` or \`1048576.0\`): ${specs.floatSpellings}.

What the API server said where it had one reason alone:

${table(
  ['times', 'reason'],
  [
    ...[...specs.soleReasons]
      .toSorted((a, b) => b[1] - a[1])
      .slice(0, 40)
      .map(([reason, times]) => [String(times), cell(reason)]),
  ],
)}

## Policies

Random sequences of writes of the policy ConfigMap go to the watch of the operator and to a model: per key the last usable value stays in
force, every other one is reported by a Warning and by \`ot_config_valid\`.

${table(
  ['', ''],
  [
    ['ConfigMaps written', String(policies.writes - policies.deletions)],
    ['of which with a value that is not used', String(policies.withBadValues)],
    ['deletions', String(policies.deletions)],
    ['differences', policies.finding === undefined ? '0' : '1'],
  ],
)}
${hasFindings(result) ? `\n## Findings\n\n\`\`\`\n${resultText(result)}\n\`\`\`\n` : ''}`
}

function sumOf({ byClass }: SpecTally, verdict: 'accepted' | 'refused'): number {
  return MANIFEST_CLASSES.reduce((sum, made) => sum + byClass[made][verdict], 0)
}

function cell(text: string): string {
  return `\`${text.slice(0, 140).replaceAll('`', "'")}\``
}
