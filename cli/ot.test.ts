import { deletionWord, revisionOf, shortHash, type WorkspaceStatus } from '@open-terrain/constructs/operator'
import { beforeEach, describe, expect, it } from 'vitest'
import { budgetKeyOf } from '../operator/images/decide/image-content.ts'
import type { KubeObject } from '../operator/kube/kube-object.ts'
import { apiError } from '../test/prepared/kube/api-error.ts'
import { ScriptedClient } from '../test/prepared/kube/scripted-client.ts'
import { drawManifest } from './draw-lab.ts'
import { EXIT_CODES } from './exit-codes.ts'
import type { Lab } from './labs.ts'
import { runOt } from './program.ts'

const RUNNING: WorkspaceStatus = {
  phase: 'Ready',
  reason: 'Ready',
  message: 'all 3 components are ready',
  counts: { total: 3, ready: 3, provisioning: 0, failed: 0 },
}
const OFF: WorkspaceStatus = {
  ...RUNNING,
  reason: 'Halted',
  message: 'the lab is off',
  counts: { total: 3, ready: 3, provisioning: 0, failed: 0, halted: 2 },
}

let client: ScriptedClient
let printed = ''
let told = ''
let asked = ''
let answer: string | undefined
const files = new Map<string, string>()
beforeEach(() => {
  client = new ScriptedClient()
  ;[printed, told, asked, answer] = ['', '', '', undefined]
  files.clear()
})

function put(name: string, status: WorkspaceStatus, { course = 'net-1', isOff = false } = {}): void {
  client.put({
    apiVersion: 'pelotech.ot/v1alpha1',
    kind: 'Workspace',
    metadata: { name, generation: 1, labels: { course }, creationTimestamp: '2025-12-31T21:00:00Z' },
    spec: isOff ? { powerState: 'Halted' } : {},
    status: { observedGeneration: 1, ...status },
  } as KubeObject)
}

/** The operator has seen a lab, and says this of it. */
function report(name: string, status: WorkspaceStatus): void {
  const lab = client.peek<Lab>('Workspace', name) as Lab
  client.put({ ...lab, status: { observedGeneration: lab.metadata.generation ?? 1, ...status } } as KubeObject)
}

async function ot(...argv: string[]): Promise<number> {
  const { clock } = client
  return await runOt(argv, {
    clock,
    readText: async (path) => {
      const found = files.get(path)
      if (found === undefined) throw new Error(`ENOENT: no such file or directory, open '${path}'`)
      return found
    },
    writeNew: () => Promise.reject(new Error('nothing is written')),
    connect: async () => ({ client, close: async () => undefined }),
    print: (text) => {
      printed += text
    },
    tell: (text) => {
      told += text
    },
    ask:
      answer === undefined
        ? undefined
        : async (question) => {
            asked = question
            return answer ?? ''
          },
  })
}

const powerOf = (name: string) => client.peek<Lab>('Workspace', name)?.spec?.powerState

describe('ot labs', () => {
  it('shows a class at a glance', async () => {
    put('lab-1', { ...RUNNING, outdated: '1/2', expiresAt: '2026-01-03T12:00:00Z' })
    put('lab-2', OFF, { isOff: true })
    put('lab-3', { phase: 'Provisioning', reason: 'WaitingForImages', waitingFor: 'Image kali (Syncing)' })
    put('other', RUNNING, { course: 'net-2' })
    expect(await ot('labs', '-l', 'course=net-1')).toBe(EXIT_CODES.done)
    expect(printed).toBe(
      [
        'NAME    PHASE          REASON             READY   OUTDATED   WAITING                LEFT   AGE',
        'lab-1   Ready          Ready              3/3     1/2                               2d     3h',
        'lab-2   Ready          Halted             3/3                                              3h',
        'lab-3   Provisioning   WaitingForImages                      Image kali (Syncing)          3h',
        '',
        '3 labs: 2 Ready (1 off), 1 Provisioning',
        'waiting for Image kali (Syncing): lab-3',
        'with outdated machines: 1',
        'next to end: lab-1, in 2d',
        '',
      ].join('\n'),
    )
  })

  it('shows named ones, and all in forms for scripts', async () => {
    put('lab-1', RUNNING)
    put('lab-2', OFF, { isOff: true })
    expect(await ot('labs', '-o', 'name')).toBe(EXIT_CODES.done)
    expect(printed).toBe('workspace.pelotech.ot/lab-1\nworkspace.pelotech.ot/lab-2\n')
    printed = ''
    expect(await ot('labs', 'lab-2', '-o', 'json')).toBe(EXIT_CODES.done)
    expect(JSON.parse(printed)).toEqual([
      {
        name: 'lab-2',
        phase: 'Ready',
        reason: 'Halted',
        message: 'the lab is off',
        ...{ ready: 3, total: 3, halted: 2, powerState: 'Halted' },
        creationTimestamp: '2025-12-31T21:00:00Z',
      },
    ])
  })

  it('shows nothing to a terminal that it would obey', async () => {
    put('lab-1', { ...RUNNING, message: 'app: \u001b[2J\nerased' })
    expect(await ot('labs', '-o', 'wide')).toBe(EXIT_CODES.done)
    expect(printed).toMatch(/app: \[2J erased\n$/)
  })

  it('says what does not exist', async () => {
    put('lab-1', RUNNING)
    expect(await ot('labs', 'lab-1', 'lab-9')).toBe(EXIT_CODES.notFound)
    expect(await ot('labs', '-l', 'course=none')).toBe(EXIT_CODES.notFound)
    expect(told).toBe(
      'ot: there is no Workspace lab-9: see kubectl get otws\n' +
        'ot: no Workspace has the labels course=none: see kubectl get otws --show-labels\n',
    )
  })
})

describe('ot restore', () => {
  const annotationsOf = () => client.peek<KubeObject>('WorkspaceSnapshot', 'lab-1/before-exam')?.metadata.annotations
  const point = (status: object) =>
    client.put({
      apiVersion: 'pelotech.ot/v1alpha1',
      kind: 'WorkspaceSnapshot',
      metadata: { namespace: 'lab-1', name: 'before-exam', annotations: annotationsOf() ?? {} },
      spec: {},
      status: {
        members: [{ kind: 'Machine', name: 'router', snapshot: 'x', phase: 'Succeeded', reason: 'Taken', ready: true }],
        ...status,
      },
    } as KubeObject)
  beforeEach(() => {
    put('lab-1', OFF, { isOff: true })
    point({})
  })

  it('says what is replaced, and does nothing unless somebody says yes', async () => {
    answer = 'n'
    expect(await ot('restore', 'lab-1', 'before-exam')).toBe(EXIT_CODES.declined)
    expect(told).toContain(
      'what was written since before-exam to these is not used any more: the disks of machines router',
    )
    expect([asked, annotationsOf()]).toEqual(['restore lab-1 to before-exam? [y/N] ', {}])
    expect(await ot('restore', 'lab-1', 'nothing', '--yes')).toBe(EXIT_CODES.notFound)
    expect(told).toContain('lab-1 has no WorkspaceSnapshot nothing: see kubectl -n lab-1 get otwss')
  })

  it('asks the operator, with or without the volumes', async () => {
    expect(await ot('restore', 'lab-1', 'before-exam', '--yes', '--machines-only')).toBe(EXIT_CODES.done)
    const value = annotationsOf()?.['pelotech.ot/restore-requested-at']
    expect([annotationsOf()?.['pelotech.ot/restore-scope'], value]).toEqual(['Machines', expect.stringMatching(/^2/)])
    expect(await ot('restore', 'lab-1', 'before-exam', '--yes')).toBe(EXIT_CODES.done)
    expect(annotationsOf()?.['pelotech.ot/restore-scope'] ?? undefined).toBeUndefined()
  })

  it('waits for what the operator says of this request, and not of an earlier one', async () => {
    point({
      restoreRequest: 'earlier',
      restore: { phase: 'Succeeded', message: 'of before', startTime: '2025-12-31T21:00:00Z' },
    })
    expect(await ot('restore', 'lab-1', 'before-exam', '--yes', '--wait', '--timeout', '0s')).toBe(EXIT_CODES.timedOut)
    expect(printed).toContain('is not so yet: the request is not taken yet')
    const value = annotationsOf()?.['pelotech.ot/restore-requested-at'] ?? ''
    point({
      restoreRequest: `${shortHash([value])} later`,
      restore: {
        phase: 'Refused',
        request: shortHash([value]),
        message: 'nothing was restored',
        startTime: '2025-12-31T21:00:00Z',
      },
    })
    expect(await ot('restore', 'lab-1', 'before-exam', '--yes', '--wait', '--timeout', '0s')).toBe(EXIT_CODES.failed)
    expect(printed).toContain('has failed: nothing was restored')
    point({
      restoreRequest: `earlier ${shortHash([value])}`,
      restore: { phase: 'InProgress', request: 'earlier', message: 'of before', startTime: '2025-12-31T21:00:00Z' },
    })
    expect(await ot('restore', 'lab-1', 'before-exam', '--yes', '--wait')).toBe(EXIT_CODES.failed)
    expect(printed).toContain('has no restore of this request: see kubectl -n lab-1 describe otwss before-exam')
  })
})

describe('ot stop and ot start', () => {
  it('switch the labs of a class, and no other ones', async () => {
    put('lab-1', RUNNING)
    put('lab-2', OFF, { isOff: true })
    put('other', RUNNING, { course: 'net-2' })
    expect(await ot('stop', '-l', 'course=net-1')).toBe(EXIT_CODES.done)
    expect(printed.split('\n').toSorted()).toEqual([
      '',
      'workspace.pelotech.ot/lab-1 powerState is Halted now',
      'workspace.pelotech.ot/lab-2 powerState was Halted already',
    ])
    expect([powerOf('lab-1'), powerOf('lab-2'), powerOf('other')]).toEqual(['Halted', 'Halted', undefined])
    expect(client.callsOf('patch', 'mergePatch')).toEqual(['patch Workspace lab-1'])
    expect(await ot('start', 'lab-1', 'lab-2')).toBe(EXIT_CODES.done)
    expect([powerOf('lab-1'), powerOf('lab-2')]).toEqual(['Running', 'Running'])
  })

  it('go on with the others where one is refused, and say so', async () => {
    for (const name of ['lab-1', 'lab-2']) put(name, RUNNING)
    client.before = ({ verb, key }) => {
      if (verb === 'patch' && key === 'lab-1') throw apiError('Rejected', { message: 'you may not' })
    }
    expect(await ot('stop', '-l', 'course', '-o', 'json')).toBe(EXIT_CODES.failed)
    expect(JSON.parse(printed)).toEqual([
      { name: 'lab-1', result: 'refused', message: 'you may not' },
      { name: 'lab-2', result: 'changed' },
    ])
  })

  it('wait until the operator says so of the present spec', async () => {
    // What it says of the spec before is no answer.
    put('lab-1', { ...OFF, observedGeneration: 1 })
    const done = ot('stop', 'lab-1', '--wait')
    await client.clock.advance(10_000)
    expect(printed).toBe('')
    report('lab-1', { ...RUNNING, phase: 'Provisioning', reason: 'Halting' })
    await client.clock.advance(10_000)
    expect(printed).toBe('')
    report('lab-1', OFF)
    await client.clock.advance(10_000)
    expect([await done, printed]).toEqual([EXIT_CODES.done, 'workspace.pelotech.ot/lab-1 is off\n'])
  })

  it.each<[string, WorkspaceStatus, number, string]>([
    [
      'has failed',
      { phase: 'Failed', reason: 'VolumeLost', message: 'it is gone' },
      EXIT_CODES.failed,
      'has failed: Failed, VolumeLost: it is gone',
    ],
    [
      'is late',
      { phase: 'Provisioning', reason: 'Halting', message: 'one pod' },
      EXIT_CODES.timedOut,
      'is not so yet: Provisioning, Halting: one pod',
    ],
  ])('say of a lab that %s why, and end with a code of its own', async (_what, status, code, says) => {
    put('lab-1', RUNNING)
    const done = ot('stop', 'lab-1', '--wait', '--timeout', '1m')
    await client.clock.advance(1_000)
    report('lab-1', status)
    await client.clock.advance(60_000)
    expect([await done, printed]).toEqual([code, `workspace.pelotech.ot/lab-1 ${says}\n`])
  })

  it.each<[string | undefined, number, string | undefined]>([
    ['y', EXIT_CODES.done, 'Halted'],
    ['', EXIT_CODES.declined, undefined],
    [undefined, EXIT_CODES.declined, undefined],
  ])('ask before they take all labs of the cluster: %j', async (said, code, power) => {
    put('lab-1', RUNNING)
    answer = said
    expect([await ot('stop', '--all'), powerOf('lab-1')]).toEqual([code, power])
    expect(await ot('stop', '--all', '--yes')).toBe(EXIT_CODES.done)
  })
})

describe('ot extend', () => {
  const ended = { source: 'lifetime', value: '72h', ended: true } as const
  const endOf = (name: string) => client.peek<Lab & { spec: { expiresAt?: string } }>('Workspace', name)?.spec.expiresAt

  it('gives labs a later end: than theirs, than now if that is over or there is none, or one that is said', async () => {
    put('far', { ...RUNNING, expiresAt: '2026-01-02T00:00:00Z' })
    put('over', { ...OFF, expiresAt: '2025-12-31T00:00:00Z', expiry: ended }, { isOff: true })
    put('never', RUNNING)
    expect(await ot('extend', '-l', 'course=net-1', '--by', '36h')).toBe(EXIT_CODES.done)
    expect(['far', 'over', 'never'].map(endOf)).toEqual([
      '2026-01-03T12:00:00Z',
      '2026-01-02T12:00:00Z',
      '2026-01-02T12:00:00Z',
    ])
    expect(printed).toContain('workspace.pelotech.ot/over ends at 2026-01-02T12:00:00Z now; it is off until ot start\n')
    expect(await ot('extend', 'far', '--until', '2026-06-01T18:00:00+02:00')).toBe(EXIT_CODES.done)
    expect(endOf('far')).toBe('2026-06-01T16:00:00Z')
  })

  it('is what starts a lab that has ended, which ot start says', async () => {
    put('lab-1', { ...OFF, reason: 'Expired', expiresAt: '2025-12-31T00:00:00Z', expiry: ended })
    expect(await ot('start', 'lab-1')).toBe(EXIT_CODES.failed)
    expect(printed).toBe(
      'workspace.pelotech.ot/lab-1 was not changed: it ended at 2025-12-31T00:00:00Z: ot extend lab-1 --by 24h gives it a later end\n',
    )
  })
})

describe('ot rebuild and ot reset', () => {
  const REBUILD = 'pelotech.ot/rebuild-requested-at'
  const RESET = 'pelotech.ot/reset-requested-at'
  const NOW = '2026-01-01T00:00:00.000Z'
  const ROOT = { clone: { name: 'x-root', uid: 'clone-1' } }
  const outdated = { type: 'UpToDate', status: 'False', reason: 'SpecChanged', message: '' }
  const lost = { type: 'DiskLost', status: 'True', reason: 'DiskLost', message: '' }

  function putMachine(lab: string, name: string, status: object): void {
    client.put({
      ...{ apiVersion: 'pelotech.ot/v1alpha1', kind: 'VirtualMachine' },
      metadata: { namespace: lab, name, generation: 1, labels: { 'pelotech.ot/workspace-uid': uidOf(lab) } },
      status: { observedGeneration: 1, phase: 'Ready', reason: 'Ready', message: 'it runs', ...status },
    } as KubeObject)
  }
  const uidOf = (lab: string) => client.peek<Lab>('Workspace', lab)?.metadata.uid ?? ''
  const askedOf = (annotation: string) =>
    ['lab-1', 'lab-2'].map((name) => client.peek<Lab>('Workspace', name)?.metadata.annotations?.[annotation])
  const ofMachine = (key: string) => client.peek<KubeObject>('VirtualMachine', key)?.metadata.annotations

  beforeEach(() => {
    for (const name of ['lab-1', 'lab-2']) put(name, RUNNING)
    putMachine('lab-1', 'web', { ...ROOT, conditions: [outdated], disks: [{ name: 'data', claim: 'web-data' }] })
    putMachine('lab-1', 'db', { ...ROOT, disks: [{ name: 'shared', claim: 'shared', volume: 'shared' }] })
    putMachine('lab-1', 'gone', { ...ROOT, phase: 'Failed', reason: 'DiskLost', conditions: [lost] })
    putMachine('lab-2', 'web', { ...ROOT, conditions: [{ ...outdated, reason: 'RestartRequired' }] })
    printed = ''
  })

  it('a rebuild is of what is lost or outdated, and says before what goes', async () => {
    answer = 'y'
    expect(await ot('rebuild', '-l', 'course=net-1')).toBe(EXIT_CODES.done)
    expect(told).toBe('lab-1: what is on the disks is lost: gone (lost already); web (disk root)\n')
    expect(asked).toBe('rebuild 2 machines of 1 lab, and lose what is on 1 disk? [y/N] ')
    expect(printed.split('\n').toSorted()).toEqual([
      '',
      'workspace.pelotech.ot/lab-1 is asked to rebuild: gone, web',
      'workspace.pelotech.ot/lab-2 has nothing that is to be made again',
    ])
    expect(askedOf(REBUILD)).toEqual([NOW, undefined])
  })

  it('a rebuild of a lab is also the word that its lost volumes wait for', async () => {
    put('lab-2', {
      phase: 'Failed',
      reason: 'VolumeLost',
      message: 'it is gone',
      lost: [{ component: 'Volume zones' }],
    })
    const done = ot('rebuild', 'lab-2', '--yes', '--wait')
    await client.clock.advance(1_000)
    expect(askedOf(REBUILD)).toEqual([undefined, NOW])
    report('lab-2', { phase: 'Provisioning', reason: 'Creating', message: '' })
    await client.clock.advance(10_000)
    expect(printed).toBe('')
    report('lab-2', RUNNING)
    await client.clock.advance(10_000)
    expect([await done, printed]).toEqual([
      EXIT_CODES.done,
      'workspace.pelotech.ot/lab-2 is Ready again: Volume zones\n',
    ])
  })

  it('a reset is of all machines, or of those that are named, by their own annotations', async () => {
    expect(await ot('reset', 'lab-1', '--dry-run', '-o', 'json')).toBe(EXIT_CODES.done)
    expect(JSON.parse(printed)).toEqual([
      {
        name: 'lab-1',
        result: 'planned',
        work: {
          machines: [
            { name: 'db', disks: ['root'] },
            { name: 'gone', need: 'lost', disks: [] },
            { name: 'web', need: 'outdated', disks: ['root'] },
          ],
          components: [],
        },
      },
    ])
    expect([askedOf(RESET), client.callsOf('patch')]).toEqual([[undefined, undefined], []])
    expect(await ot('reset', '-l', 'course=net-1', '--vm', 'web', '--yes')).toBe(EXIT_CODES.done)
    expect(['lab-1/web', 'lab-1/db', 'lab-2/web'].map((key) => ofMachine(key)?.[RESET])).toEqual([NOW, undefined, NOW])
    expect(askedOf(RESET)).toEqual([undefined, undefined])
    expect(await ot('reset', 'lab-1', 'lab-2', '--yes')).toBe(EXIT_CODES.done)
    expect(askedOf(RESET)).toEqual([NOW, NOW])
  })

  it('give up the disks of machines alone that wait for room, say before what goes, and ask for nothing else', async () => {
    const WORD = 'pelotech.ot/delete-disk-first'
    const replacement = { asked: 'Reset', disk: { name: 'web-root-g2' }, claimUID: 'claim-1' }
    const asked = { ...ROOT, resetRequest: 'one', replacement }
    putMachine('lab-1', 'web', asked)
    const word = deletionWord(client.peek<KubeObject>('VirtualMachine', 'lab-1/web') as never) ?? ''
    const blocked = (message: string) => ({
      conditions: [{ type: 'Replacing', status: 'True', reason: 'ReplacementBlocked', message }],
    })
    putMachine('lab-1', 'web', { ...asked, ...blocked(`no room: kubectl annotate x ${WORD}=${word}`) })
    putMachine('lab-1', 'db', { ...asked, ...blocked('the image is Failed') })
    expect(await ot('reset', 'lab-1', '--vm', 'wbe', '--delete-disk-first')).toBe(EXIT_CODES.notFound)
    expect(await ot('reset', 'lab-1', '--delete-disk-first')).toBe(EXIT_CODES.declined)
    expect(await ot('rebuild', 'lab-1', '--delete-disk-first')).toBe(EXIT_CODES.done)
    expect(printed).toBe('workspace.pelotech.ot/lab-1 has no machine that waits for room for a second root disk\n')
    expect(client.callsOf('patch')).toEqual([])
    ;[printed, told, answer] = ['', '', 'y']
    expect(await ot('reset', 'lab-1', '--delete-disk-first')).toBe(EXIT_CODES.done)
    expect(told).toContain(
      'lab-1: what is on the root disks is lost at once, before the new ones are there, and is not kept for resetGrace: web',
    )
    expect(printed).toBe('workspace.pelotech.ot/lab-1 is asked to delete the root disks first: web\n')
    expect([ofMachine('lab-1/web')?.[WORD], ofMachine('lab-1/db')?.[WORD]]).toEqual([word, undefined])
    expect(['lab-1/web', 'lab-1/db'].map((key) => ofMachine(key)?.[RESET])).toEqual([undefined, undefined])
    expect(askedOf(RESET)).toEqual([undefined, undefined])
    const waited = ot('reset', 'lab-1', '--delete-disk-first', '--yes', '--wait')
    await client.clock.advance(4_000)
    putMachine('lab-1', 'web', ROOT)
    await client.clock.advance(4_000)
    expect(await waited).toBe(EXIT_CODES.done)
    putMachine('lab-1', 'web', { ...asked, ...blocked(`no room: kubectl annotate x ${WORD}=${word}`) })
    const inVain = ot('reset', 'lab-1', '--delete-disk-first', '--yes', '--wait')
    await client.clock.advance(1)
    client.drop('VirtualMachine', 'lab-1/web')
    await client.clock.advance(4_000)
    expect(await inVain).toBe(EXIT_CODES.failed)
    expect(printed).toContain('workspace.pelotech.ot/lab-1 has failed: web was deleted\n')
  })

  it('a rebuild of a machine that needs no new disk is none', async () => {
    expect(await ot('rebuild', 'lab-1', '--vm', 'db', '--yes')).toBe(EXIT_CODES.done)
    expect(printed).toBe('workspace.pelotech.ot/lab-1 has nothing that is to be made again\n')
    expect(client.callsOf('patch')).toEqual([])
  })

  it.each([
    ['nobody is there', [], undefined, EXIT_CODES.declined],
    ['somebody says no', [], 'n', EXIT_CODES.declined],
    ['a machine is not there', ['--vm', 'web', '--vm', 'db', '--yes'], undefined, EXIT_CODES.notFound],
  ] as const)('do nothing where %s', async (_what, flags, said, code) => {
    answer = said
    expect(await ot('reset', '-l', 'course=net-1', ...flags)).toBe(code)
    expect([client.callsOf('patch'), printed, told === '']).toEqual([[], '', false])
  })

  it('go on with the other machines where one is refused, and say which', async () => {
    client.before = ({ verb, key }) => {
      if (verb === 'patch' && key === 'lab-1/db') throw apiError('Rejected', { message: 'you may not' })
    }
    expect(await ot('reset', 'lab-1', '--vm', 'db', '--vm', 'web', '--yes')).toBe(EXIT_CODES.failed)
    expect(printed).toBe('workspace.pelotech.ot/lab-1 was not changed: db: you may not\n')
    expect(ofMachine('lab-1/web')?.[RESET]).toBe(NOW)
  })

  it.each([
    ['rebuild', 'rebuildRequest'],
    ['reset', 'resetRequest'],
  ])('%s waits until each machine has taken the request, and is Ready again', async (verb, field) => {
    const taken = { [field]: shortHash([NOW]) }
    const done = ot(verb, 'lab-1', '--vm', 'web', '--yes', '--wait', '--timeout', '1m')
    await client.clock.advance(10_000)
    putMachine('lab-1', 'web', { ...ROOT, ...taken, phase: 'Provisioning', reason: 'Cloning' })
    await client.clock.advance(10_000)
    expect(printed).toBe('')
    // It is Ready with the disk before.
    const replacing = { type: 'Replacing', status: 'True', reason: 'Replacing', message: '' }
    putMachine('lab-1', 'web', { ...ROOT, ...taken, conditions: [replacing] })
    await client.clock.advance(10_000)
    expect(printed).toBe('')
    // It is Ready with the spec before.
    putMachine('lab-1', 'web', { ...ROOT, ...taken, observedGeneration: 0 })
    await client.clock.advance(10_000)
    expect(printed).toBe('')
    putMachine('lab-1', 'web', { ...ROOT, ...taken })
    await client.clock.advance(10_000)
    expect([await done, printed]).toEqual([EXIT_CODES.done, 'workspace.pelotech.ot/lab-1 is Ready again: web\n'])
  })

  it('do not take a machine for rebuilt that is as outdated as before, and say how a wait has ended', async () => {
    const taken = { rebuildRequest: shortHash([NOW]) }
    const late = ot('rebuild', 'lab-1', '--vm', 'web', '--yes', '--wait', '--timeout', '10s')
    putMachine('lab-1', 'web', { ...ROOT, ...taken, conditions: [outdated] })
    await client.clock.advance(20_000)
    expect([await late, printed]).toEqual([
      EXIT_CODES.timedOut,
      'workspace.pelotech.ot/lab-1 is not so yet: web: Ready, Ready: it runs\n',
    ])
    printed = ''
    const failing = ot('reset', 'lab-1', '--vm', 'db', '--yes', '--wait')
    await client.clock.advance(2_000)
    const resetRequest = shortHash([ofMachine('lab-1/db')?.[RESET] ?? ''])
    putMachine('lab-1', 'db', { resetRequest, phase: 'Failed', reason: 'CloneFailed', message: 'no room' })
    await client.clock.advance(10_000)
    expect([await failing, printed]).toEqual([
      EXIT_CODES.failed,
      'workspace.pelotech.ot/lab-1 has failed: db: Failed, CloneFailed: no room\n',
    ])
  })
})

describe('ot prune', () => {
  const putPolicy = (data: Record<string, string>) =>
    client.put({
      ...{ apiVersion: 'v1', kind: 'ConfigMap' },
      ...{ metadata: { namespace: 'sync-operator', name: 'sync-operator-policy' }, data },
    } as KubeObject)

  beforeEach(() => {
    put('lab-1', RUNNING)
    const spec = { name: 'old', version: '1', url: 'https://images.example.com/old.qcow2' }
    client.put({
      ...{ apiVersion: 'pelotech.ot/v1alpha1', kind: 'VMDiskImage', spec },
      metadata: { namespace: 'farm', name: 'old', labels: { 'pelotech.ot/created-by': 'DataSync' } },
      status: {
        unreferencedSince: '2025-12-31T00:00:00Z',
        lastReferencedTime: '2025-12-31T00:00:00Z',
        references: { count: 0, names: [] },
        artifact: { kind: 'VolumeSnapshot', name: 'old-1', revision: '1', restoreSize: '10Gi' },
      },
    } as KubeObject)
  })

  it('shows what another policy would delete or switch off, and when, and changes nothing', async () => {
    putPolicy({ reclaimPolicy: 'Retain' })
    expect(await ot('prune', '--dry-run')).toBe(EXIT_CODES.done)
    expect(printed.split('\n')).toEqual([
      'WHEN    EFFECT   SIZE       OBJECT                 WHY',
      'never   kept     10.0 GiB   VMDiskImage farm/old   reclaimPolicy of the policy is Retain',
      '',
      'images that nobody uses: 1, 10.0 GiB; of these deleted: 0, 0 B',
      '',
    ])
    printed = ''
    const asIf = ['--set', 'reclaimPolicy=Delete', '--set', 'unreferencedTTL=1h', '--set', 'workspaceLifetime=72h']
    expect(await ot('prune', '--dry-run', ...asIf)).toBe(EXIT_CODES.done)
    expect(printed.split('\n')).toEqual([
      'WHEN                   EFFECT         SIZE       OBJECT                 WHY',
      'at once                deleted        10.0 GiB   VMDiskImage farm/old',
      '2026-01-04T00:00:00Z   switched off              Workspace lab-1',
      '',
      'images that nobody uses: 1, 10.0 GiB; of these deleted: 1, 10.0 GiB',
      '',
    ])
    printed = ''
    expect(await ot('prune', '--dry-run', ...asIf, '-o', 'json')).toBe(EXIT_CODES.done)
    expect(JSON.parse(printed)).toEqual([
      { at: '2026-01-01T00:00:00Z', effect: 'deleted', kind: 'VMDiskImage', name: 'farm/old', bytes: 10 * 2 ** 30 },
      { at: '2026-01-04T00:00:00Z', effect: 'switched off', kind: 'Workspace', name: 'lab-1' },
    ])
    expect(client.callsOf('patch', 'delete', 'mergePatch', 'apply')).toEqual([])
  })

  it('says which value cannot be used, and that it only shows', async () => {
    expect(await ot('prune', '--dry-run', '--set', 'workspaceLifetime=soon')).toBe(EXIT_CODES.usage)
    expect(await ot('prune')).toBe(EXIT_CODES.usage)
    expect(told).toMatch(
      /^there is no ConfigMap sync-operator-policy in namespace sync-operator: the defaults .*\not: workspaceLifetime: .*\not: prune only shows: say --dry-run; .*\n$/,
    )
  })
})

describe('ot retry, refresh, suspend and resume', () => {
  const IMAGE = { apiVersion: 'pelotech.ot/v1alpha1', kind: 'VMDiskImage' }
  const spec = { url: 'https://images.example/kali.qcow2', sourceType: 'http', diskSize: '10Gi' }
  const image = (name: string, status: object = {}, more: object = {}) =>
    client.put({
      ...IMAGE,
      metadata: { namespace: 'farm', name, generation: 1, labels: { course: 'net-1' } },
      spec: { ...spec, ...more },
      status: { observedGeneration: 1, ...status },
    } as KubeObject)
  const stored = (kind: string, key: string) => client.peek<KubeObject & { spec: object }>(kind, key)
  const asked = (kind: string, key: string, what: string) =>
    stored(kind, key)?.metadata.annotations?.[`pelotech.ot/${what}-requested-at`]

  it('ask images, DataSyncs and labs by the annotation that each has', async () => {
    image('kali', { phase: 'Failed' })
    client.put({
      ...{ apiVersion: 'pelotech.ot/v1alpha1', kind: 'DataSync', spec: { workspaceId: '035', vms: [] } },
      metadata: { namespace: 'farm', name: 'net-1' },
    } as KubeObject)
    put('lab-1', { ...RUNNING, plays: [{ vm: 'kali', play: 'build', phase: 'Failed' }] })
    expect(await ot('retry', 'vmdi/kali', 'datasyncs.pelotech.ot/net-1', 'otws/lab-1', '-n', 'farm')).toBe(
      EXIT_CODES.done,
    )
    expect(printed).toBe(
      'vmdiskimage.pelotech.ot/kali in farm is asked to try again what has failed\n' +
        'datasync.pelotech.ot/net-1 in farm is asked to try again what has failed\n' +
        'workspace.pelotech.ot/lab-1 is asked to play again the roles that have failed\n',
    )
    const now = expect.stringMatching(/^2026-01-01T/)
    expect([asked('VMDiskImage', 'farm/kali', 'retry'), asked('DataSync', 'farm/net-1', 'retry')]).toEqual([now, now])
    expect(asked('Workspace', 'lab-1', 'play')).toEqual(now)
    expect(await ot('refresh', 'vmdi', '-l', 'course=net-1', '-A')).toBe(EXIT_CODES.done)
    expect(asked('VMDiskImage', 'farm/kali', 'sync')).toEqual(now)
  })

  it('does not wait for an answer where nothing has failed', async () => {
    client.put({
      ...{ apiVersion: 'pelotech.ot/v1alpha1', kind: 'DataSync', spec: { workspaceId: '035', vms: [] } },
      metadata: { namespace: 'farm', name: 'net-1', generation: 1 },
      status: { observedGeneration: 1, phase: 'Succeeded', images: [{ phase: 'Succeeded' }] },
    } as never as KubeObject)
    client.put({
      ...{ apiVersion: 'pelotech.ot/v1alpha1', kind: 'Workspace', spec: {} },
      metadata: { name: 'played', generation: 1 },
      status: { observedGeneration: 1, phase: 'Ready', plays: [{ vm: 'kali', play: 'build', phase: 'Succeeded' }] },
    } as never as KubeObject)
    expect(await ot('retry', 'otws/played', 'dsync/net-1', '-n', 'farm', '--wait')).toBe(EXIT_CODES.done)
    expect(printed).toContain('workspace.pelotech.ot/played has no play that has failed')
    expect(printed).toContain('datasync.pelotech.ot/net-1 in farm has no image that has failed')
    expect([asked('Workspace', 'played', 'play'), asked('DataSync', 'farm/net-1', 'retry')]).toEqual([
      undefined,
      undefined,
    ])
  })

  it('hold images back, and let them go on, once', async () => {
    image('kali')
    expect(await ot('suspend', 'vmdi/kali', '-n', 'farm')).toBe(EXIT_CODES.done)
    expect(stored('VMDiskImage', 'farm/kali')?.spec).toEqual({ ...spec, suspend: true })
    expect(await ot('suspend', 'vmdi/kali', '-n', 'farm', '-o', 'json')).toBe(EXIT_CODES.done)
    expect(printed).toContain('"result": "unchanged"')
    expect(await ot('resume', 'vmdi', '--all', '-n', 'farm', '--yes')).toBe(EXIT_CODES.done)
    expect(stored('VMDiskImage', 'farm/kali')?.spec).toEqual({ ...spec, suspend: false })
  })

  it('wait for an answer to this request', async () => {
    const settled = { type: 'Settled', status: 'True', observedGeneration: 1 }
    image('kali', { phase: 'Failed', reason: 'NotFound', message: 'no such file', conditions: [settled] })
    const done = ot('retry', 'vmdi/kali', '-n', 'farm', '--wait', '--timeout', '1m')
    await client.clock.advance(10_000)
    expect(printed).toBe('')
    const { metadata } = stored('VMDiskImage', 'farm/kali') as KubeObject
    const revision = revisionOf(spec as never, undefined)
    const budget = { key: budgetKeyOf(revision, {}, metadata.annotations), downloads: 1 }
    const status = { observedGeneration: 1, revision, budget, conditions: [settled] }
    client.put({ ...IMAGE, metadata, spec, status: { ...status, phase: 'Succeeded' } } as KubeObject)
    await client.clock.advance(10_000)
    expect([await done, printed]).toEqual([EXIT_CODES.done, 'vmdiskimage.pelotech.ot/kali in farm is Succeeded\n'])
  })

  it.each([
    [['retry', 'otvm/vm-1'], 'ot rebuild LAB --vm NAME gives it a new disk'],
    [['suspend', 'dsync/net-1'], 'suspend its images'],
    [['refresh', 'otws/lab-1'], 'ot refresh is not for a Workspace, but for VMDiskImage and DataSync'],
    [['retry', 'pods/x'], 'pods is no kind of Open Terrain'],
    [['retry', 'vmdi'], 'say vmdi/NAME, or -l, or --all'],
    [['retry', 'vmdi/kali', '-l', 'a=b'], 'without a name'],
    [['retry', 'vmdi/kali', '-A'], 'say it with -n'],
    [['retry', 'vmdi/'], 'names no object'],
    [['retry'], 'say which'],
  ])('ot %j says what to do instead', async (argv, text) => {
    const namespace = argv.includes('-A') ? [] : ['-n', 'farm']
    put('lab-1', RUNNING)
    client.put({
      ...IMAGE,
      kind: 'VirtualMachine',
      metadata: { namespace: 'farm', name: 'vm-1' },
      spec: {},
    } as KubeObject)
    client.put({ ...IMAGE, kind: 'DataSync', metadata: { namespace: 'farm', name: 'net-1' }, spec: {} } as KubeObject)
    expect(await ot(...argv, ...namespace)).toBe(EXIT_CODES.usage)
    expect(told).toContain(text)
    expect(client.callsOf('patch')).toEqual([])
  })

  it('say what does not exist', async () => {
    expect(await ot('retry', 'vmdi/none', '-n', 'farm')).toBe(EXIT_CODES.notFound)
    expect(await ot('refresh', 'vmdi', '-l', 'a=b', '-n', 'farm')).toBe(EXIT_CODES.notFound)
    expect(told).toBe(
      'ot: there is no VMDiskImage none in namespace farm: see kubectl -n farm get vmdi\n' +
        'ot: there is no VMDiskImage with the labels a=b in namespace farm\n',
    )
  })
})

describe('ot snapshot', () => {
  const pointOf = (key: string) => client.peek<KubeObject & { spec: object }>('WorkspaceSnapshot', key)

  it('takes a point in time of each lab of a class, once', async () => {
    put('lab-1', RUNNING)
    put('lab-2', RUNNING)
    for (const lab of ['lab-1', 'lab-2'])
      client.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: lab } } as KubeObject)
    expect(await ot('snapshot', 'lab-1', 'before', '--description', 'before the exam')).toBe(EXIT_CODES.done)
    expect(pointOf('lab-1/before')?.spec).toEqual({ description: 'before the exam' })
    printed = ''
    expect(await ot('snapshot', 'before', '-l', 'course=net-1')).toBe(EXIT_CODES.failed)
    expect(printed).toContain(
      'workspace.pelotech.ot/lab-1 was not snapshotted: it has a WorkspaceSnapshot before already',
    )
    expect(pointOf('lab-2/before')?.spec).toEqual({})
    expect(await ot('snapshot', 'before')).toBe(EXIT_CODES.usage)
    expect(await ot('snapshot', 'before', 'lab-1', '--all')).toBe(EXIT_CODES.usage)
  })

  it.each([
    ['Succeeded', EXIT_CODES.done, 'has the point in time before: 3 of 3'],
    ['Failed', EXIT_CODES.failed, 'has failed: Failed, SnapshotFailed: 3 of 3'],
  ])('waits until it has %s', async (phase, code, text) => {
    put('lab-1', RUNNING)
    client.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'lab-1' } } as KubeObject)
    const done = ot('snapshot', 'lab-1', 'before', '--wait', '--timeout', '1m')
    await client.clock.advance(10_000)
    expect(printed).toBe('')
    const status = { phase, reason: 'SnapshotFailed', message: '3 of 3' }
    client.put({ ...pointOf('lab-1/before'), status } as unknown as KubeObject)
    await client.clock.advance(10_000)
    expect([await done, printed]).toEqual([code, `workspace.pelotech.ot/lab-1 ${text}\n`])
  })
})

it.each([
  [[]],
  [['reset']],
  [['reset', 'lab-1', '--vm']],
  [['rebuild', 'lab-1', '--timeout', 'soon']],
  [['extend', 'lab-1']],
  [['extend', 'lab-1', '--by', 'a while']],
  [['extend', 'lab-1', '--until', 'tomorrow']],
  [['extend', 'lab-1', '--until', '2026-06-01T18:00:00Z', '--by', '1h']],
  [['stop']],
  [['stop', 'lab-1', '-l', 'course=net-1']],
  [['stop', 'lab-1', '--timeout', 'soon']],
  [['labs', '-o', 'xml']],
  [['lbs']],
  [['draw']],
])('ot %j is a mistake of whoever wrote it, and does nothing', async (argv) => {
  put('lab-1', RUNNING)
  expect(await ot(...argv)).toBe(EXIT_CODES.usage)
  expect([told === '', client.callsOf('patch')]).toEqual([false, []])
})

describe('ot draw', () => {
  const manifest = (name: string, spec: object = { networks: [{ name: 'net', cidr: '10.0.0.0/24' }] }) =>
    JSON.stringify({ apiVersion: 'pelotech.ot/v1alpha1', kind: 'Workspace', metadata: { name }, spec })
  const other = '{ apiVersion: v1, kind: Namespace, metadata: { name: lab-1 } }'
  const list = (...items: string[]) => `{ "apiVersion": "v1", "kind": "List", "items": [${items.join()}] }`

  it('draws a lab of the cluster', async () => {
    client.put(JSON.parse(manifest('lab-1')))
    expect(await ot('draw', 'lab-1')).toBe(EXIT_CODES.done)
    expect(printed).toContain('network0(["net<br/>10.0.0.0/24"])')
    expect(await ot('draw', 'lab-2')).toBe(EXIT_CODES.notFound)
    expect(told).toBe('ot: there is no Workspace lab-2: see kubectl get otws\n')
  })

  it.each([
    ['the only lab of a file', manifest('lab-1'), []],
    ['a lab among other objects', [other, manifest('lab-1')].join('\n---\n'), []],
    ['one of two', list(manifest('lab-2'), manifest('lab-1')), ['lab-1']],
  ])('draws %s, without a cluster', async (_which, text, names) => {
    files.set('-', text)
    expect(await ot('draw', ...names, '-f', '-', '-o', 'svg')).toBe(EXIT_CODES.done)
    expect(printed).toContain('<title>lab-1</title>')
    expect(client.callsOf('get')).toEqual([])
  })

  it('says of a folder that it is one', async () => {
    const folder = () => Promise.reject(Object.assign(new Error('EISDIR'), { code: 'EISDIR' }))
    const choice = { filename: 'labs/', name: undefined, output: 'svg' as const }
    await expect(drawManifest(folder, choice)).rejects.toThrow('labs/ is a folder: name one of its files of manifests')
  })

  it.each([
    ['no file', undefined, [], 'failed', "ENOENT: no such file or directory, open 'lab.yaml'"],
    ['no lab', other, [], 'notFound', 'lab.yaml has no Workspace: name a file with one'],
    ['nothing', '', [], 'notFound', 'lab.yaml has no Workspace: name a file with one'],
    ['no lab of the name', manifest('a'), ['b'], 'notFound', 'lab.yaml has no Workspace b: name one of a'],
    [
      'two labs',
      list(manifest('a'), manifest('b')),
      [],
      'usage',
      'lab.yaml has more than one Workspace: name one of a, b',
    ],
    ['no YAML', 'a: [', [], 'failed', /^ot: lab.yaml is no YAML: .*line 1/],
    ['a wrong spec', manifest('a', { names: 'all' }), [], 'failed', /^ot: the Workspace a is not valid: spec.names: /],
  ] as const)('says of a file with %s what is wrong', async (_what, text, names, code, message) => {
    if (text !== undefined) files.set('lab.yaml', text)
    expect(await ot('draw', ...names, '-f', 'lab.yaml')).toBe(EXIT_CODES[code])
    expect(told).toMatch(typeof message === 'string' ? `ot: ${message}\n` : message)
    expect(printed).toBe('')
  })
})

it('ot --help lists the exit codes', async () => {
  expect(await ot('--help')).toBe(EXIT_CODES.done)
  for (const code of Object.values(EXIT_CODES)) expect(printed).toMatch(new RegExp(`^  ${code}  `, 'm'))
})

it('ot that cannot connect says why', async () => {
  const code = await runOt(['labs'], {
    clock: client.clock,
    readText: () => Promise.reject(new Error('nothing is read')),
    writeNew: () => Promise.reject(new Error('nothing is written')),
    ask: undefined,
    print: () => undefined,
    tell: (text) => {
      told += text
    },
    connect: () => {
      throw new Error('there is no kubeconfig')
    },
  })
  expect([code, told]).toEqual([EXIT_CODES.failed, 'ot: there is no kubeconfig\n'])
})
