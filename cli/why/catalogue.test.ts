import {
  DATA_SYNC_REASON_HELP,
  REASON_HELP,
  type ReasonHelp,
  VIRTUAL_MACHINE_REASON_HELP,
  WORKSPACE_REASON_HELP,
  WORKSPACE_SNAPSHOT_REASON_HELP,
} from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { causesOf } from './causes.ts'
import { isQuiet } from './quiet.ts'
import { ownLink } from './story.ts'

const CATALOGUES: Readonly<Record<string, Readonly<Record<string, ReasonHelp>>>> = {
  VMDiskImage: REASON_HELP,
  VirtualMachine: VIRTUAL_MACHINE_REASON_HELP,
  DataSync: DATA_SYNC_REASON_HELP,
  Workspace: WORKSPACE_REASON_HELP,
  WorkspaceSnapshot: WORKSPACE_SNAPSHOT_REASON_HELP,
}
const ALL = Object.entries(CATALOGUES).flatMap(([kind, catalogue]) =>
  Object.entries(catalogue).map(([reason, help]) => ({ kind, reason, help })),
)

function causeOf(kind: string, reason: string) {
  const namespace = kind === 'Workspace' ? {} : { namespace: 'team' }
  const status = { observedGeneration: 1, phase: 'Failed', reason, message: 'as it is' }
  const object = {
    apiVersion: 'pelotech.ot/v1alpha1',
    kind,
    metadata: { name: 'it', generation: 1, ...namespace },
    status,
  }
  const [cause] = causesOf(ownLink(object), { operatorNamespace: 'sync-operator', lab: undefined })
  return cause
}

describe('every reason of the catalogue', () => {
  it.each(ALL)('$kind $reason is explained, with a command where somebody has to act', ({ kind, reason, help }) => {
    const cause = causeOf(kind, reason)
    expect(cause).toMatchObject({ reason, meaning: help.meaning, remedy: help.remedy, isQuiet: isQuiet(help) })
    if (!isQuiet(help)) expect(cause?.commands).not.toEqual([])
    // What is to be pasted has no words of the sentence around it.
    for (const command of cause?.commands ?? []) {
      if (command.startsWith('# loses ')) continue
      expect(command).toMatch(/^(?:kubectl|virtctl|ot) /)
      expect(command).not.toMatch(/[;.,]$|<|\bNAME\b| (?:to|with|and|the|for|or) /)
    }
  })

  it('has the commands that were read', () => {
    const lines = ALL.flatMap(({ kind, reason }) =>
      (causeOf(kind, reason)?.commands ?? []).map((command) => `${kind} ${reason}: ${command}`),
    )
    expect(lines.join('\n')).toMatchSnapshot()
  })
})
