import { type ApiObject, App, Chart } from 'cdk8s'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DataSync } from './data-sync.ts'
import { outside } from './lab-network.ts'
import { plainText } from './lab-secret.ts'
import { VirtualMachine } from './virtual-machine.ts'
import { VMDiskImage } from './vm-disk-image.ts'
import { Warnings } from './warnings.ts'
import { Workspace } from './workspace.ts'

const KINDS = [
  ['VMDiskImage', VMDiskImage, { url: 'https://images.example.com/a.qcow2', sourceType: 'http', diskSize: '1Gi' }],
  [
    'VirtualMachine',
    VirtualMachine,
    {
      resources: { cpu: 1, memory: '1Gi' },
      vmDiskImageRef: { name: 'a' },
      users: [{ name: 'demo' }],
      interfaces: [{ network: 'a', ipAddress: '10.0.0.1/24' }],
    },
  ],
  [
    'DataSync',
    DataSync,
    { workspaceId: '035', vms: [{ name: 'a', url: 'https://a.example/b' }], sourceType: 'http', diskSize: '1Gi' },
  ],
  [
    'Workspace',
    Workspace,
    {
      vms: [{ name: 'a', backingVMDiskImage: 'b', resources: { cpu: 1, memory: '1Gi' } }],
      containerClusters: [{ name: 'c', containers: [{ name: 'd', image: 'e' }] }],
      volumes: [{ name: 'f', size: '1Gi' }],
      networks: [{ name: 'g', cidr: '10.0.0.0/24' }],
    },
  ],
] as const

/** Returns the error that authors read, or undefined if nothing is wrong. */
function problem(Kind: (typeof KINDS)[number][1], props: unknown): string | undefined {
  const Any = Kind as new (scope: Chart, id: string, props: unknown) => unknown
  try {
    const app = new App()
    Warnings.of(app).acknowledgeAll()
    const object = new Any(new Chart(app, 'team'), 'one', props) as ApiObject
    object.toJson()
    return undefined
  } catch (error) {
    return String(error)
  }
}

/** Values that people put where they do not belong. */
const wrong = fc.oneof(
  fc.anything(),
  fc.constantFrom(
    undefined,
    null,
    '',
    'x y',
    'X',
    -1,
    1.5,
    Number.NaN,
    10n,
    true,
    [],
    {},
    [null],
    Symbol('s'),
    () => 1,
  ),
)

/** What makes a part of a lab, with props that are fine. */
const PARTS: readonly (readonly [name: string, fine: object, make: (lab: Workspace, props: never) => unknown])[] = [
  [
    'network',
    {
      cidr: '10.8.0.0/24',
      gateway: outside(9),
      routes: [{ to: '10.9.0.0/16', via: outside(2) }],
      nameservers: ['9.9.9.9'],
    },
    (lab, props) => lab.addNetwork('n', props),
  ],
  [
    'machine',
    {
      image: 'debian',
      cpu: 1,
      memory: '1Gi',
      disks: [{ name: 'data', size: '1Gi', image: 'tools' }],
      users: [
        {
          name: 'eve',
          password: plainText('hush'),
          sshKeys: ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA a'],
          sudo: true,
          groups: ['docker'],
        },
      ],
      dependsOn: [{ memberName: 'web' }],
      build: [{ role: 'router', variables: { nat: true } }],
    },
    (lab, props) => lab.addVm('a', props),
  ],
  [
    'member with containers',
    { hostname: 'b' },
    (lab, props) => lab.addContainers('b', props).add('c', { image: 'c:1' }),
  ],
  [
    'container',
    {
      image: 'c:1',
      cpu: 1,
      memory: '1Gi',
      limits: { cpu: 1 },
      env: { A: 'b' },
      mounts: [{ name: 'v', containerPath: '/v' }],
      files: { '/a': 'b' },
      ports: [80],
    },
    (lab, props) => lab.addContainers('b').add('c', props),
  ],
  ['volume', { size: '1Gi' }, (lab, props) => lab.addVolume('w', props)],
  ['Secret', { generate: ['alice'] }, (lab, props) => lab.addSecret('s', props)],
  [
    'Service',
    { member: { memberName: 'web' }, ports: [80], type: 'ClusterIP' },
    (lab, props) => lab.addService('web', props),
  ],
]

/** Returns the error that the author of a lab with one more part reads. */
function problemOfPart(make: (lab: Workspace) => unknown): string | undefined {
  const app = new App()
  Warnings.of(app).acknowledgeAll()
  try {
    const lab = new Workspace(new Chart(app, 'team'), 'one')
    lab.addVolume('v', { size: '1Gi' })
    const web = lab.addContainers('web').add('web', { image: 'web:1' })
    web.connect(lab.addNetwork('net', { cidr: '10.0.0.0/24' }), 9)
    make(lab)
    lab.toJson()
    return undefined
  } catch (error) {
    return String(error)
  }
}

/** Returns the props with another value at one place, at any depth. */
function withOne(props: unknown, [step, ...rest]: readonly number[], value: unknown): unknown {
  if (step === undefined || typeof props !== 'object' || props === null) return value
  const keys = Object.keys(props)
  const key = keys[step % keys.length]
  if (key === undefined) return value
  const changed = withOne((props as Record<string, unknown>)[key], rest, value)
  return Array.isArray(props) ? [changed] : { ...props, [key]: changed }
}

describe.each(PARTS)('a wrong %s of a lab', (_name, fine, make) => {
  it('is none where it is right', () => {
    expect(problemOfPart((lab) => make(lab, fine as never))).toBeUndefined()
  })

  it('has the path of its construct in its message, whatever is wrong, and never breaks', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9), { maxLength: 4 }), wrong, (place, value) => {
        const message = problemOfPart((lab) => make(lab, withOne(fine, place, value) as never))
        if (message === undefined) return
        expect(message).toMatch(/^Error: team\/one/)
        expect(message).not.toMatch(/\[object|Invalid input|TypeError|Cannot |is not a function|not iterable/)
      }),
      { numRuns: 400 },
    )
  })
})

describe.each(KINDS)('a wrong %s', (kind, Kind, fine) => {
  const said = (props: unknown) => problem(Kind, props)

  it('is none where it is right', () => {
    const namespace = kind === 'Workspace' ? undefined : 'b'
    expect(said({ ...fine, metadata: { name: 'a', namespace, labels: { c: 'd' } } })).toBeUndefined()
  })

  it.each<[string, unknown, string]>([
    ['no props', null, 'the props must be an object with metadata and fields of the spec'],
    ['metadata that are a text', { ...fine, metadata: 'a' }, 'metadata: must be an object with a name; it is "a"'],
    ['a name that is a number', { ...fine, metadata: { name: 7 } }, 'metadata.name: must be a text'],
    ['a bad namespace', { ...fine, metadata: { name: 'a', namespace: 'B' } }, 'metadata.namespace: must be '],
  ])('says of %s what is wrong', (_name, props, sentence) => {
    expect(said(props)).toContain('team/one: ')
    expect(said(props)).toContain(sentence)
  })

  it('needs no name, since its id is its name, but a name that is given', () => {
    for (const metadata of [undefined, {}]) expect(said({ ...fine, metadata })).toBeUndefined()
    expect(said({ ...fine, metadata: { name: undefined } })).toContain('metadata.name: must be set: it is required')
  })

  it('has place, field and rule in its message, whatever is wrong, and never breaks', () => {
    const fields = fc.constantFrom('metadata', 'unknown', ...Object.keys(fine))
    const props = fc.oneof(
      wrong,
      fc.tuple(fields, wrong).map(([field, value]) => ({ metadata: { name: 'a' }, ...fine, [field]: value })),
      fc.tuple(fields, fields, wrong).map(([field, inner, value]) => ({
        metadata: { name: 'a' },
        ...fine,
        [field]: { [inner]: value },
      })),
    )
    fc.assert(
      fc.property(props, (one) => {
        const message = said(one)
        if (message === undefined) return
        expect(message).toMatch(
          /^Error: team\/one: (the props must be |the \w+ is not valid\n {2}([\x20-\x7e]+: )?(spec|metadata)\S*( has no field|:) )/,
        )
        expect(message).not.toMatch(/undefined|\[object|Invalid input|TypeError/)
      }),
    )
  })
})
