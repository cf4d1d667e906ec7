import { describe, expect, it } from 'vitest'
import { explainsReasons, judgesSpecs } from '../../test/prepared/api/kind-suite.ts'
import {
  PROPOSED_VIRTUAL_MACHINE,
  VIRTUAL_MACHINE_FIXTURES,
  VIRTUAL_MACHINE_NAMES,
} from '../../test/prepared/api/virtual-machine.ts'
import {
  parseVirtualMachineSpec,
  VIRTUAL_MACHINE_CONDITIONS,
  VIRTUAL_MACHINE_PHASES,
  VIRTUAL_MACHINE_REASON_HELP,
  VIRTUAL_MACHINE_REASONS,
  virtualMachine,
} from './virtual-machine.ts'

describe('parseVirtualMachineSpec', () => {
  judgesSpecs(VIRTUAL_MACHINE_FIXTURES, parseVirtualMachineSpec, PROPOSED_VIRTUAL_MACHINE.spec)

  it('reads numbers as texts, and drops what it does not know and what has no value', () => {
    const raw = {
      resources: { cpu: 2, memory: 67108864, diskSize: null, gpu: 1 },
      users: [{ name: 'demo', sudo: null, passwd: 'x' }],
      vmDiskImageRef: { name: 'image', namespace: null },
      unknown: true,
    }
    expect(parseVirtualMachineSpec(raw)).toEqual({
      ok: true,
      spec: {
        resources: { cpu: '2', memory: '67108864' },
        users: [{ name: 'demo' }],
        vmDiskImageRef: { name: 'image' },
      },
    })
  })

  it('reports every problem, one for each field', () => {
    const parsed = parseVirtualMachineSpec({
      resources: { cpu: 'two', memory: '1Ki' },
      interfaces: [{ network: 'a', ipAddress: '127.0.0.1' }],
      vmDiskImageRef: { name: 'image' },
    })
    expect(parsed.ok ? [] : parsed.problems).toEqual([
      {
        path: 'spec.resources.cpu',
        message: 'must be a number of CPUs such as 2, \'1.5\' (in quotes) or 500m; it is "two"',
      },
      { path: 'spec.resources.memory', message: 'memory must be between 64Mi and 16Ti; it is "1Ki"' },
      {
        path: 'spec.interfaces[0].ipAddress',
        message: expect.stringContaining('such as 10.10.0.161/24'),
      },
    ])
  })

  it.each([
    [{}, 'spec.vmDiskImageRef', 'must be set: it is required'],
    [{ vmDiskImageRef: 'image' }, 'spec.vmDiskImageRef', 'must be an object with fields; it is "image"'],
    [{ version: 2.1 }, 'spec.version', 'must be a text: put quotes around a number; it is 2.1'],
    [{ users: {} }, 'spec.users', 'must be a list'],
    [{ users: [{ name: '' }] }, 'spec.users[0].name', 'must not be empty; it is ""'],
    [{ ignoreOnDeploy: 'yes' }, 'spec.ignoreOnDeploy', 'must be true or false, without quotes; it is "yes"'],
    [
      { vmDiskImageMode: 'Create' },
      'spec.vmDiskImageMode',
      'must be one of CreateIfNotExist, FailIfNotExist; it is "Create"',
    ],
    [{ name: 'a'.repeat(64) }, 'spec.name', `must have at most 63 characters; it is "${'a'.repeat(64)}"`],
    [
      { resources: { cpu: 1.5, memory: '1Gi' } },
      'spec.resources.cpu',
      "must be a number of CPUs such as 2, '1.5' (in quotes) or 500m; it is 1.5",
    ],
  ])('says field, rule and value of %j', (raw, path, message) => {
    const parsed = parseVirtualMachineSpec(raw)
    const found = parsed.ok ? undefined : parsed.problems.find((problem) => problem.path === path)?.message
    expect(found).toEqual(message)
  })

  it('never repeats a password in a problem', () => {
    const passwords = ['canary\nsecret', `canary${'x'.repeat(600)}`, { canary: 1 }, ['canary']]
    for (const plain_text_passwd of passwords) {
      const users = [{ name: 'demo', plain_text_passwd }]
      const parsed = parseVirtualMachineSpec({ ...PROPOSED_VIRTUAL_MACHINE.spec, users })
      expect(parsed).toMatchObject({ ok: false, problems: [{ path: 'spec.users[0].plain_text_passwd' }] })
      expect(JSON.stringify(parsed)).not.toContain('canary')
    }
  })
})

describe('VirtualMachine', () => {
  const pattern = new RegExp(virtualMachine.name?.pattern ?? '')

  it.each(VIRTUAL_MACHINE_NAMES.accepted)('may be called %s', (name) => {
    expect(name).toMatch(pattern)
  })

  it.each(VIRTUAL_MACHINE_NAMES.refused)('may not be called %s', (name) => {
    expect(name).not.toMatch(pattern)
  })

  explainsReasons(VIRTUAL_MACHINE_REASONS, VIRTUAL_MACHINE_REASON_HELP)

  it('has room for all of its conditions, and names each in the description', () => {
    const types = Object.values(VIRTUAL_MACHINE_CONDITIONS)
    const conditions = types.map((type) => ({ type, status: 'True', reason: 'Running', message: '' }))
    expect(virtualMachine.status.parse({ conditions })).toEqual({ conditions })
    for (const type of types) expect(virtualMachine.status.shape.conditions.unwrap().description).toContain(type)
  })

  it('reads a status in full and an empty one', () => {
    const status = {
      observedGeneration: 3,
      phase: VIRTUAL_MACHINE_PHASES.Provisioning,
      message: 'Waits for the image vmdi-farm/demo-vmdi, number 4 in the queue.',
      image: { namespace: 'vmdi-farm', name: 'demo-vmdi', phase: 'Queued', queuePosition: 4 },
      clone: { name: 'demo-root', uid: 'u', sourceRevision: '01234567', phase: 'CloneScheduled', progress: '4.0%' },
      kubevirt: { name: 'demo', uid: 'u', printableStatus: 'Starting', nodeName: 'node-1' },
      addresses: ['10.10.0.161'],
      provisioningSince: '2026-01-31T12:00:00Z',
      bootedAt: '2026-01-31T12:01:00Z',
      specHash: '01234567',
      kicks: { count: 1, lastTime: '2026-01-31T12:00:30Z', instanceUID: 'u' },
    }
    expect(virtualMachine.status.parse(status)).toEqual(status)
    expect(virtualMachine.status.parse({})).toEqual({})
  })
})
