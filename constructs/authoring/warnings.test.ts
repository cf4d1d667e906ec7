import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { App, Chart, Testing } from 'cdk8s'
import { Construct, type IConstruct } from 'constructs'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { render } from '../children/render.ts'
import { SPEC_REMARK_IDS } from '../children/spec-remark.ts'
import type { LabNetwork } from './lab-network.ts'
import { AUTHOR_WARNING_IDS } from './lab-remarks.ts'
import { LabSecret, plainText } from './lab-secret.ts'
import { LabVm } from './lab-vm.ts'
import type { LabVolume } from './lab-volume.ts'
import { Release } from './release.ts'
import { VMDiskImage } from './vm-disk-image.ts'
import { WARNING_TEXTS } from './warning-ids.ts'
import { Warnings } from './warnings.ts'
import { Workspace } from './workspace.ts'

const START = { image: 'debian', cpu: 1, memory: '1Gi' } as const

/** Two volumes that nobody mounts, and a construct of a team that warns. */
function aLab(chart: Construct): Workspace {
  const lab = new Workspace(chart, 'lab')
  for (const name of ['one', 'two']) lab.addVolume(name, { size: '1Gi' })
  Warnings.of(new Construct(lab, 'router')).add('RouterWithoutUplink', 'it has no uplink: give it one')
  return lab
}
const ABOUT = ['lab/volumes.one', 'lab/volumes.two', 'lab/router']

describe('warnings', () => {
  const told: string[] = []
  const places = () => told.map((text) => text.replace(/: warning: .*/s, '').replace(/^(labs|render)\//, ''))
  beforeEach(() => {
    told.length = 0
    vi.mocked(console.warn).mockImplementation((text) => told.push(text))
  })

  it.each<[string, () => void]>([
    [
      'by app.synth',
      () => {
        const outdir = mkdtempSync(join(tmpdir(), 'ot-synth-'))
        const app = new App({ outdir })
        aLab(new Chart(app, 'labs'))
        app.synth()
        rmSync(outdir, { recursive: true })
      },
    ],
    [
      'by Testing.synth',
      () => {
        const chart = new Chart(new App(), 'labs')
        aLab(chart)
        Testing.synth(chart)
      },
    ],
    ['by render, as in a program of Pulumi', () => void render(aLab)],
  ])('are printed %s', (_name, synth) => {
    synth()
    expect(places()).toEqual(ABOUT)
    expect(told.at(-1)).toContain('lab/router: warning: it has no uplink: give it one [RouterWithoutUplink]')
  })

  it('are printed once for an app', () => {
    const chart = new Chart(new App(), 'labs')
    const lab = aLab(chart)
    Testing.synth(chart)
    lab.toJson()
    Testing.synth(chart)
    expect(places()).toEqual(ABOUT)
    lab.addVolume('three', { size: '1Gi' })
    lab.toJson()
    expect(places()).toEqual([...ABOUT, 'lab/volumes.three'])
  })

  it('are acknowledged for a construct and all below it', () => {
    const chart = new Chart(new App(), 'labs')
    const lab = aLab(chart)
    Warnings.of(lab.node.findChild('volumes.one')).acknowledge('VolumeUnused')
    Warnings.of(lab).acknowledge('RouterWithoutUplink')
    lab.toJson()
    expect(places()).toEqual(['lab/volumes.two'])

    const other = new Workspace(chart, 'other')
    other.addVolume('one', { size: '1Gi' })
    Warnings.of(chart).acknowledgeAll()
    other.toJson()
    expect(places()).toEqual(['lab/volumes.two'])
  })

  it('are not printed of what an author has a word for', () => {
    const lab = new Workspace(new Chart(new App(), 'labs'), 'lab')
    const eve = { name: 'eve', password: plainText('hush') }
    const bob = { name: 'bob', password: LabSecret.fromName('students').key('bob') }
    lab.addVm('a', { ...START, users: [eve, bob] })
    lab.addVm('b', { ...START, users: [eve, bob] }).patch({ runStrategy: 'Halted' })
    lab.toJson()
    expect(told).toEqual([])
  })

  describe('of images that the labs of another chart use', () => {
    const app = () => {
      const root = new App()
      return { root, images: new Chart(root, 'images'), labs: new Chart(root, 'labs') }
    }
    const images = { kali: { url: 'https://images.example.com/kali.qcow2' } }
    const lookFor = { workspaceId: 'x', sourceType: 'http', diskSize: '20Gi', images } as const
    const other = { ...START, image: 'x-kali', vmDiskImageTemplate: { url: 'https://images.example.com/other.qcow2' } }
    const golden = { url: 'https://images.example.com/g.qcow2', sourceType: 'http', diskSize: '1Gi' } as const

    it.each<[string, (charts: ReturnType<typeof app>) => unknown, readonly string[]]>([
      [
        'not where a release has no namespace: it is where labs look',
        ({ images, labs }) =>
          new Workspace(labs, 'lab').addVm('a', { ...START, image: new Release(images, 'r', lookFor).image('kali') }),
        [],
      ],
      [
        'a release elsewhere',
        ({ images, labs }) => {
          const release = new Release(images, 'r', { ...lookFor, metadata: { namespace: 'team-a' } })
          new Workspace(labs, 'lab').addVm('a', { ...START, image: release.image('kali') })
        },
        [
          'labs/lab/vms.a: warning: image x-kali is in namespace team-a, and labs look in vmdi-farm: give its chart or its metadata that namespace, or acknowledge this if the policy key imageNamespace says otherwise [ImageElsewhere]',
        ],
      ],
      [
        'an image without a namespace, by itself and by its name',
        ({ images, labs }) => {
          const image = new VMDiskImage(images, 'g', { metadata: { name: 'golden' }, ...golden })
          const lab = new Workspace(labs, 'lab')
          lab.addVm('a', { ...START, image })
          lab.addVm('b', { ...START, image: 'golden' })
          lab.addVm('c', { ...START, image: VMDiskImage.fromName('golden') })
        },
        ['a', 'b'].map((name) => `labs/lab/vms.${name}: warning: image golden is in no namespace of its own, and`),
      ],
      [
        'a template that contradicts a release',
        ({ images, labs }) => {
          new Release(images, 'r', lookFor)
          new Workspace(labs, 'lab').addVm('a', other)
        },
        [
          'labs/lab: warning: of image x-kali, images/r in another chart says something else, in url, sourceType, diskSize: make them the same',
        ],
      ],
      [
        'two releases and two labs of one name',
        ({ images, labs }) => {
          new Release(images, 'r', lookFor)
          new Workspace(images, 'lab')
          new Release(labs, 'r', { ...lookFor, images: { kali: { url: 'https://images.example.com/2.qcow2' } } })
          new Workspace(labs, 'lab')
        },
        [
          'labs/r: warning: x is the name of images/r too, and in one cluster each would replace the other: call one of them otherwise, or acknowledge this if their charts are for different clusters [NameInOtherChart]',
          'labs/r: warning: of image x-kali, images/r in another chart says something else, in url',
          'labs/lab: warning: lab is the name of images/lab too',
        ],
      ],
    ])('are %s', (_name, make, expected) => {
      const charts = app()
      make(charts)
      for (const chart of charts.root.charts) Testing.synth(chart as Chart)
      expect(told).toHaveLength(expected.length)
      for (const [at, text] of expected.entries()) expect(told[at]).toContain(text)
    })

    it('name the image as its release does', () => {
      const { labs } = app()
      new Release(labs, 'r', { ...lookFor, workspaceId: 'lab-033', version: '2.0.0' })
      new Workspace(labs, 'lab').addVm('a', { ...START, image: 'lab-033-2.0.0-kali' })
      Testing.synth(labs)
      expect(told).toMatchObject([expect.stringContaining('names it lab-033-2.0.0-kali-84b2ada5, with a hash')])
    })
  })

  describe('of networks', () => {
    const idsAt = (lab: Workspace) =>
      Warnings.of(lab)
        .all()
        .map(({ at, id }) => `${at.node.id} ${id}`)

    it('are told where nobody is, of a list that was written too', () => {
      const lab = new Workspace(new Chart(new App(), 'labs'), 'lab', { networks: [{ name: 'written' }] })
      const empty = lab.addNetwork('empty', { cidr: '10.0.0.0/24' })
      const used = lab.addNetwork('used', { cidr: '10.1.0.0/24' })
      lab.addContainers('web').connect(used).add('web', { image: 'web:1' })
      expect(idsAt(lab)).toEqual(['lab NetworkUnused', 'networks.empty NetworkUnused'])
      Warnings.of(empty).acknowledge('NetworkUnused')
      expect(idsAt(lab)).toEqual(['lab NetworkUnused'])
    })

    it.each<[string, (lab: Workspace, lan: LabNetwork) => unknown, readonly string[]]>([
      ['nobody else is on it', () => {}, ['vms.desk NoDhcpServer']],
      [
        'all others ask too',
        (lab, lan) => lab.addVm('visitor', START).connect(lan, [], { addressing: 'dhcp' }),
        ['vms.desk NoDhcpServer', 'vms.visitor NoDhcpServer'],
      ],
      [
        'the only one who could answer is not deployed',
        (lab, lan) => lab.addVm('server', { ...START, ignoreOnDeploy: true }).connect(lan, 1),
        ['vms.desk NoDhcpServer'],
      ],
      ['a machine has an address', (lab, lan) => lab.addVm('server', START).connect(lan, 1), []],
      [
        'a machine sets its address itself',
        (lab, lan) => lab.addVm('firewall', START).connect(lan, [], { addressing: 'none' }),
        [],
      ],
      [
        'containers are on it',
        (lab, lan) => lab.addContainers('dhcp').connect(lan).add('dnsmasq', { image: 'dnsmasq:2' }),
        [],
      ],
    ])('are told of a machine that asks for an address where %s', (_where, add, expected) => {
      const lab = new Workspace(new Chart(new App(), 'labs'), 'lab')
      const lan = lab.addNetwork('lan', { cidr: '10.0.0.0/24' })
      lab.addVm('desk', START).connect(lan)
      add(lab, lan)
      expect(idsAt(lab)).toEqual(expected)
    })

    it('are not told of addresses on a network of the cluster, or where the guest sets its own', () => {
      const lab = new Workspace(new Chart(new App(), 'labs'), 'lab')
      lab.addVm('desk', START).connect(lab.addNetwork('vlan', { attach: 'vlans/vlan-100' }))
      lab.addVm('switch', START).connect(lab.addNetwork('link'), [], { addressing: 'none' })
      expect(idsAt(lab)).toEqual([])
    })
  })

  it('have a text for each id', () => {
    // Which nodes a network needs, only the policy says.
    const ids = SPEC_REMARK_IDS.filter((id) => id !== 'NodeSelectorsDiffer')
    for (const id of [...ids, ...AUTHOR_WARNING_IDS]) expect(WARNING_TEXTS).toHaveProperty(id)
  })

  it('are asked for in tests, of a construct and all below it, without being printed', () => {
    const chart = new Chart(new App(), 'labs')
    const lab = aLab(chart)
    const idsOf = (construct: IConstruct) =>
      Warnings.of(construct)
        .all()
        .map(({ at, id }) => `${at.node.path} ${id}`)
    const all = [
      'labs/lab/volumes.one VolumeUnused',
      'labs/lab/volumes.two VolumeUnused',
      'labs/lab/router RouterWithoutUplink',
    ]
    expect(idsOf(chart)).toEqual(all)
    expect(idsOf(lab)).toEqual(all)
    expect(idsOf(lab.node.findChild('volumes.two'))).toEqual(all.slice(1, 2))
    Warnings.of(lab).acknowledge('VolumeUnused')
    expect(idsOf(chart)).toEqual(all.slice(2))
    expect(told).toEqual([])
    Testing.synth(chart)
    Testing.synth(chart)
    expect(idsOf(chart)).toEqual(all.slice(2))
    lab.addVolume('wrong', { size: 'much' })
    expect(idsOf(chart)).toEqual(all.slice(2))
  })

  it('are told of an acknowledged id that no warning has, but not of those that teams add', () => {
    const lab = aLab(new Chart(new App(), 'labs'))
    for (const id of ['VolumeUnsed', 'VolumeUnused', 'RouterWithoutUplink', 'Whatever'])
      Warnings.of(lab).acknowledge(id)
    lab.toJson()
    expect(told).toEqual([
      'labs/lab: warning: no warning has the id "VolumeUnsed" that it acknowledges: did you mean VolumeUnused? [UnknownWarning]',
      'labs/lab: warning: no warning has the id "Whatever" that it acknowledges: take the word in brackets at the end of the warning [UnknownWarning]',
    ])
  })
})

describe('a validation of a team', () => {
  const build = (place: 'lab' | 'chart') => (chart: Construct) => {
    const lab = new Workspace(chart, 'lab')
    const router = new Construct(place === 'lab' ? lab : chart, 'router')
    router.node.addValidation({ validate: () => ['needs an uplink: give it one'] })
  }

  it.each(['lab', 'chart'] as const)('fails a program of Pulumi, too, of a construct in a %s', (place) => {
    expect(() => render(build(place))).toThrow(/\/router: needs an uplink: give it one/)
  })
})

describe('charts of one program of Pulumi', () => {
  const image = { metadata: { namespace: 'vmdi-farm' }, url: 'https://images.example.com/g.qcow2', diskSize: '1Gi' }

  it('are rendered into lists of their own, and know each other', () => {
    vi.mocked(console.warn).mockImplementation((text) => expect(text).toContain('such as golden'))
    const { images, labs } = render({
      images: (chart) => new VMDiskImage(chart, 'golden', { ...image, sourceType: 'http' }),
      labs: (chart) => new Workspace(chart, 'lab').addVm('a', { ...START, image: 'goldne' }),
    })
    expect(images).toMatchObject([{ kind: 'VMDiskImage', metadata: { name: 'golden' } }])
    expect(labs).toMatchObject([{ kind: 'Workspace', metadata: { name: 'lab' } }])
    expect(console.warn).toHaveBeenCalledTimes(1)
  })

  it('tell what is wrong with all of them at once', () => {
    const wrong = () =>
      render({
        images: (chart) => new VMDiskImage(chart, 'golden', { ...image, sourceType: 'ftp' as never }),
        labs: (chart) => new Workspace(chart, 'lab').addVm('a', { ...START, memory: 'much' }),
        others: (chart) => new Construct(chart, 'team').node.addValidation({ validate: () => ['lacks an uplink'] }),
      })
    expect(wrong).toThrow(/images\/golden: [\s\S]*sourceType[\s\S]*labs\/lab: [\s\S]*memory[\s\S]*others\/team: lacks/)
  })
})

it('two copies of the package side by side have types that fit', () => {
  const lab = new Workspace(new Chart(new App(), 'labs'), 'lab')
  const net = lab.addNetwork('net', { cidr: '10.0.0.0/24' })
  // What is private in a class of another copy is another thing for the compiler.
  const ofOther: Pick<LabNetwork, keyof LabNetwork> = net
  const volume: Pick<LabVolume, keyof LabVolume> = lab.addVolume('data', { size: '1Gi' })
  const vm = lab.addVm('a', { ...START, disks: [{ name: 'data', volume }] }).connect(ofOther, 1)
  net.addRoute(ofOther, vm)
  expect(vm.addressOn(ofOther)).toBe('10.0.0.1')
})

it('two copies of the package side by side know each other', async () => {
  vi.resetModules()
  const copy = (await import('../index.ts')) as typeof import('../index.ts')
  expect(copy.Workspace).not.toBe(Workspace)
  const chart = new Chart(new App(), 'labs')
  const lab = new copy.Workspace(chart, 'lab') as unknown as Workspace
  class Router extends Construct {
    constructor(scope: Construct) {
      super(scope, 'router')
      const [a, b] = ['10.0.0.0/24', '10.1.0.0/24'].map((cidr, at) => Workspace.of(this).addNetwork(`n${at}`, { cidr }))
      if (a === undefined || b === undefined) return
      const vm = new LabVm(this, 'r', START).connect(a, 1).connect(b, 1)
      a.addRoute(b, vm)
      a.setGateway(1)
      b.addNameserver('10.1.0.1')
    }
  }
  new Router(lab)
  expect(lab.toJson()).toMatchObject({ spec: { networks: [{ rangeGateway: '10.0.0.1' }, { name: 'n1' }] } })
  new Workspace(chart, 'Other', { metadata: { name: 'lab' } })
  new copy.Workspace(chart, 'wrong', { metadata: { name: 'Wrong' } })
  // Each copy tells of the objects of both.
  let text = ''
  try {
    Testing.synth(chart)
  } catch (error) {
    text = String(error)
  }
  expect(text).toContain('labs/Other')
  expect(text).toContain('lab is the name of labs/lab too')
  expect(() => (chart.node.findChild('wrong') as unknown as { toJson(): unknown }).toJson()).toThrow(
    /labs\/Other: [\s\S]*labs\/wrong: /,
  )
})
