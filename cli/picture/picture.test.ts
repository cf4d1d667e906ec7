import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import { parseWorkspaceSpec, type WorkspaceSpec } from '@open-terrain/constructs/operator'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { PROPOSED_WORKSPACE } from '../../test/prepared/api/proposed-workspace.ts'
import { randomWorkspace } from '../../test/prepared/children/random-workspaces.ts'
import { pictureOf } from './lab-picture.ts'
import { mermaidOf } from './mermaid-picture.ts'
import { type LabPicture, linesOf } from './picture.ts'
import { svgOf } from './svg-picture.ts'

function specOf(raw: unknown): WorkspaceSpec {
  const parsed = parseWorkspaceSpec(raw)
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems))
  return parsed.spec
}

const draw = (spec: WorkspaceSpecInput) => pictureOf('lab', specOf(spec))

/** Each text of a picture, in any order. */
const textsOf = (picture: LabPicture) => [
  ...[...picture.networks, ...picture.members].flatMap(linesOf),
  ...picture.members.flatMap(({ links }) => links.map(({ text }) => text)).filter((text) => text !== ''),
]

const TAG = /<(\/?)([a-z]+)((?: [a-zA-Z0-9:-]+="[^"<>]*")*)(\/?)>/g

/** Reads SVG as strictly as XML wants it. Returns its texts, decoded, and its tags. */
function readSvg(svg: string): { readonly texts: readonly string[]; readonly tags: readonly string[] } {
  const open: string[] = []
  const tags = [...svg.matchAll(TAG)].map(([, isEnd, tag = '', , isEmpty]) => {
    if (isEnd !== '') expect(open.pop()).toBe(tag)
    else if (isEmpty === '') open.push(tag)
    return tag
  })
  expect(open).toEqual([])
  const rest = svg.replace(TAG, '\0')
  expect(rest).not.toMatch(/[<>"]|&(?!(amp|lt|gt|quot|#39);)/)
  const decoded = (text: string) =>
    text.replace(/&lt;|&gt;|&quot;|&#39;/g, (one) => ({ '&lt;': '<', '&gt;': '>', '&quot;': '"' })[one] ?? "'")
  const texts = rest.split('\0').map((text) => decoded(text).replaceAll('&amp;', '&'))
  return { texts: texts.filter((text) => text.trim() !== ''), tags }
}

const TEXT = '"(?:[A-Za-z0-9 .,:()/_-]|#[0-9]+;|<br/>)*"'
const MERMAID = new RegExp(
  [
    '---|title: "[A-Za-z0-9._-]+"|flowchart LR|',
    '  classDef (?:network|machine|containers) [a-z0-9:#, -]+|',
    `  member[0-9]+\\[${TEXT}\\]:::(?:machine|containers)|  network[0-9]+\\(\\[${TEXT}\\]\\):::network|`,
    `  member[0-9]+ ---(?:\\|${TEXT}\\|)? network[0-9]+`,
  ].join(''),
)

/** Reads a flowchart, line by line. Returns its texts, decoded. */
function readMermaid(chart: string): readonly string[] {
  const wrong = chart
    .trimEnd()
    .split('\n')
    .filter((line) => line.replace(MERMAID, '') !== '')
  expect(wrong).toEqual([])
  return [...chart.matchAll(new RegExp(TEXT, 'g'))]
    .flatMap(([text]) => text.slice(1, -1).split('<br/>'))
    .map((text) => text.replace(/#([0-9]+);/g, (_all, code) => String.fromCodePoint(Number(code))))
}

describe('a picture of a lab', () => {
  it('has what the proposal shows', () => {
    const picture = pictureOf('demo-workspace-1', specOf(PROPOSED_WORKSPACE.spec))
    expect(mermaidOf(picture)).toMatchSnapshot()
    expect(svgOf(picture)).toMatchSnapshot()
  })

  it('names who has the address of a gateway, a name server and a next hop, unless two have it', () => {
    const image = 'registry.example.com/a/b:1@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef'
    const { networks, members } = draw({
      networks: [
        {
          name: 'a',
          cidr: '10.0.0.0/24',
          rangeGateway: '10.0.0.1',
          nameservers: { addresses: ['10.0.0.2', '9.9.9.9'] },
          routes: [{ destinationNetworkCidr: '10.9.0.0/16', nextHopIpAddress: '10.0.0.1' }],
          mtu: 1400,
        },
        { name: 'b', cidrs: ['10.0.0.0/24', 'fd00::/64'] },
        { name: 'vlan', attach: 'vlans/vlan-7' },
      ],
      vms: [
        {
          name: 'gate',
          backingVMDiskImage: 'debian',
          resources: { cpu: '1', memory: '1Gi' },
          interfaces: [
            { network: 'a', ipAddress: '10.0.0.1/24' },
            { network: 'b', ipAddresses: ['10.0.0.2/24', 'fd00::1/64'] },
            { network: 'vlan' },
            { network: 'pod' },
          ],
        },
      ],
      containerClusters: [
        {
          name: 'dns',
          ignoreOnDeploy: true,
          interfaces: [{ network: 'a', ipAddress: '10.0.0.2/24' }, { network: 'b' }],
          containers: [{ name: 'bind', image, portMappings: [{ containerPort: 53, protocol: 'udp', hostPort: 5353 }] }],
        },
      ],
      services: [
        {
          name: 'web',
          member: 'dns',
          type: 'NodePort',
          ports: [
            { port: 80, targetPort: 8080 },
            { port: 53, protocol: 'UDP' },
          ],
        },
      ],
    })
    expect(networks).toEqual([
      {
        name: 'a',
        notes: [
          '10.0.0.0/24',
          'gateway 10.0.0.1 gate',
          'DNS 10.0.0.2',
          'DNS 9.9.9.9',
          'to 10.9.0.0/16',
          '  via 10.0.0.1 gate',
          'MTU 1400',
        ],
      },
      { name: 'b', notes: ['10.0.0.0/24', 'fd00::/64'] },
      { name: 'vlan', notes: ['is vlans/vlan-7'] },
      { name: 'pod network', notes: ['of Kubernetes', 'all containers are on it'] },
    ])
    expect(members).toEqual([
      {
        name: 'gate',
        kind: 'machine',
        notes: ['image debian', '1 CPU, 1Gi'],
        links: [
          { network: 0, text: '10.0.0.1 gateway' },
          { network: 1, text: '10.0.0.2, fd00::1' },
          { network: 2, text: 'DHCP' },
          { network: 3, text: '' },
        ],
      },
      {
        name: 'dns',
        kind: 'containers',
        notes: [
          'not deployed',
          'bind: b:1@sha256:0123456789ab',
          'port 5353 of its node, to 53/udp',
          'Service web (NodePort): 80 to 8080/tcp, 53/udp',
        ],
        links: [
          { network: 0, text: '10.0.0.2' },
          { network: 1, text: 'no address' },
          { network: 3, text: '' },
        ],
      },
    ])
  })

  it('is drawn of a lab without anything', () => {
    expect(draw({})).toEqual({ name: 'lab', networks: [], members: [] })
    expect(readMermaid(mermaidOf(draw({})))).toEqual(['lab'])
    expect(readSvg(svgOf(draw({}))).texts).toEqual(['lab', 'lab'])
  })

  it('has each member, network and address of any lab', () => {
    fc.assert(
      fc.property(randomWorkspace, ({ workspace: { name }, spec }) => {
        const picture = pictureOf(name, spec)
        const { networks = [], vms = [], containerClusters = [] } = spec
        const members = [...vms, ...containerClusters]
        const addresses = members.flatMap(({ interfaces = [] }) =>
          interfaces.flatMap(({ ipAddress, ipAddresses = [] }) => [ipAddress ?? [], ipAddresses].flat()),
        )
        const words = [
          ...[...networks, ...members].map((one) => one.name),
          ...addresses.map((address) => address.replace(/\/.*/, '')),
        ]
        for (const texts of [readMermaid(mermaidOf(picture)), readSvg(svgOf(picture)).texts]) {
          const shown = new Set(texts.flatMap((text) => text.split(/,? /)))
          expect(words.filter((word) => !shown.has(word))).toEqual([])
        }
        for (const { links } of picture.members)
          for (const { network } of links) expect(picture.networks[network]).toBeDefined()
      }),
    )
  })

  const texts = fc.string({ unit: 'binary', maxLength: 12 })
  const hostile = fc.oneof(
    texts,
    fc.constantFrom(
      '<script>',
      '"]',
      '--- ',
      '&lt;',
      "'",
      '#quot;',
      '%%{init: {}}%%',
      '\n',
      '\u{0}',
      '\u{D800}',
      ']]>',
      '`x`',
    ),
  )
  const pictures: fc.Arbitrary<LabPicture> = fc.record({
    name: hostile,
    networks: fc.array(fc.record({ name: hostile, notes: fc.array(hostile, { maxLength: 3 }) }), {
      minLength: 1,
      maxLength: 3,
    }),
    members: fc.array(
      fc.record({
        name: hostile,
        kind: fc.constantFrom('machine' as const, 'containers' as const),
        notes: fc.array(hostile, { maxLength: 3 }),
        links: fc.array(fc.record({ network: fc.constant(0), text: hostile }), { maxLength: 2 }),
      }),
      { maxLength: 3 },
    ),
  })

  it('has no text of an object that means something in the picture', () => {
    fc.assert(
      fc.property(pictures, (picture) => {
        const { tags } = readSvg(svgOf(picture))
        expect(tags.filter((tag) => !['svg', 'title', 'rect', 'line', 'circle', 'text'].includes(tag))).toEqual([])
        readMermaid(mermaidOf(picture))
      }),
    )
    const said: LabPicture = {
      name: 'a&b',
      networks: [{ name: '<net>', notes: ['"quoted"'] }],
      members: [{ name: "it's", kind: 'machine', notes: ['#35;'], links: [{ network: 0, text: '[x]' }] }],
    }
    const words = textsOf(said)
    expect(readMermaid(mermaidOf(said)).toSorted()).toEqual(words.toSorted())
    expect(readSvg(svgOf(said)).texts.toSorted()).toEqual([...words, 'a&b', 'a&b'].toSorted())
  })
})

describe('examples/labs', () => {
  const folder = join(import.meta.dirname, '../../examples/labs')
  const labs = readdirSync(folder)
    .filter((file) => file.endsWith('.yaml'))
    .flatMap((file) => parseAllDocuments(readFileSync(join(folder, file), 'utf8')).map((one) => one.toJS()))
    .filter((object) => object?.kind === 'Workspace')

  it.each(labs.map(({ metadata, spec }) => [metadata.name, spec]))('%s is drawn, within its picture', (name, spec) => {
    const picture = pictureOf(name, specOf(spec))
    expect(new Set(readMermaid(mermaidOf(picture)))).toEqual(
      new Set([name, ...textsOf(picture).map((text) => text.trim())]),
    )
    const svg = svgOf(picture)
    expect(readSvg(svg).texts.join(' ').replaceAll(/\s+/g, ' ')).toContain(name)
    const [, width = '', height = ''] = /viewBox="0 0 ([0-9]+) ([0-9]+)"/.exec(svg) ?? []
    const boxes = [...svg.matchAll(/<rect x="([0-9.]+)" y="([0-9.]+)" width="([0-9.]+)" height="([0-9.]+)"/g)]
    expect(boxes.length).toBeGreaterThan(picture.members.length)
    for (const [, x, y, w, h] of boxes) {
      expect(Number(x) + Number(w)).toBeLessThan(Number(width))
      expect(Number(y) + Number(h)).toBeLessThan(Number(height))
    }
  })
})
