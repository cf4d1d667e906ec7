import { describe, expect, it } from 'vitest'
import { checkConfig, loadConfig } from './cni-config.ts'
import { type Attachment, addTo } from './plugins.ts'
import { parseSelections } from './selection.ts'

const FOR_PODS = {
  cniVersion: '1.0.0',
  name: 'demo-bridge-inet-pod',
  type: 'bridge',
  bridge: 'ot3f9a1c0b2d2e',
  capabilities: { ips: true, mac: true },
  ipam: { type: 'static', routes: [{ dst: '0.0.0.0/0', gw: '4.29.163.14' }] },
}
const OVERLAY = {
  cniVersion: '0.3.1',
  name: 'demo-bridge-inet',
  type: 'ovn-k8s-cni-overlay',
  topology: 'layer2',
  netAttachDefName: 'demo/bridge-inet',
}
const ASKED: Attachment = {
  definition: 'demo/bridge-inet',
  interface: 'net1',
  mac: '02:1a:2b:3c:4d:11',
  ips: ['4.29.163.7/28'],
}

/** Returns what a pod gets, or why it gets nothing. */
function added(config: object | string, asked: Partial<Attachment> = {}): unknown {
  try {
    const loaded = loadConfig(typeof config === 'string' ? config : JSON.stringify(config), 'bridge-inet')
    checkConfig(loaded)
    return addTo(loaded, { ...ASKED, ...asked })
  } catch (error) {
    return (error as Error).message
  }
}

const route = (gw: string, why: string) =>
  `failed to add route '0.0.0.0/0 via ${gw} dev net1 metric 0 (Scope: <nil>, Table: <nil>)': ${why}`
const via = (gw: string) => ({ ...FOR_PODS, ipam: { type: 'static', routes: [{ dst: '0.0.0.0/0', gw }] } })

describe('a network', () => {
  it.each([
    ['of a bridge with addresses', FOR_PODS, ['0.0.0.0/0 via 4.29.163.14']],
    [
      'in a list of plugins',
      { cniVersion: '1.0.0', name: 'list', plugins: [FOR_PODS, { type: 'tuning' }] },
      ['0.0.0.0/0 via 4.29.163.14'],
    ],
    ['of an overlay', OVERLAY, []],
  ])('%s gives what a pod asks for, and its own routes', (_what, config, routes) => {
    expect(added(config)).toEqual({ ips: ['4.29.163.7'], mac: '02:1a:2b:3c:4d:11', routes })
  })

  it('of a bridge without addresses gives none, and the MAC only where it says that it takes one', () => {
    const plain = { cniVersion: '1.0.0', name: 'demo', type: 'bridge', bridge: 'lab0', ipam: {} }
    expect(added(plain)).toEqual({ ips: [], mac: undefined, routes: [] })
    expect(added({ ...plain, capabilities: { mac: true } })).toEqual({ ips: [], mac: '02:1a:2b:3c:4d:11', routes: [] })
  })

  const { capabilities: _none, ...deaf } = FOR_PODS
  const { name: _name, ...nameless } = FOR_PODS
  it.each<[what: string, config: object | string, refusal: string, asked?: Partial<Attachment>]>([
    ['whose plugin is not told the addresses', deaf, 'IPAM plugin returned missing IP config'],
    [
      'that needs addresses and is asked for none',
      FOR_PODS,
      'IPAM plugin returned missing IP config',
      { ips: undefined },
    ],
    [
      'asked for an address without its prefix',
      FOR_PODS,
      "an entry in the 'ips' field is NOT in CIDR notation, got: '4.29.163.7'",
      { ips: ['4.29.163.7'] },
    ],
    [
      'with a name that is too long for a device',
      { ...FOR_PODS, bridge: 'a-bridge-of-many-letters' },
      'failed to create bridge "a-bridge-of-many-letters": could not add "a-bridge-of-many-letters": numerical result out of range',
    ],
    [
      'with a slash in its name',
      { ...FOR_PODS, name: 'demo/inet' },
      'invalid characters found in network name; demo/inet',
    ],
    [
      'of a version that nobody knows',
      { ...FOR_PODS, cniVersion: '2.0.0' },
      'incompatible CNI versions; config is "2.0.0", plugin supports ["0.1.0" "0.2.0" "0.3.0" "0.3.1" "0.4.0" "1.0.0" "1.1.0"]',
    ],
    ['with an impossible VLAN', { ...FOR_PODS, vlan: 5_000 }, 'invalid VLAN ID 5000 (must be between 0 and 4094)'],
    [
      'with a text for a number',
      { ...FOR_PODS, mtu: '1400' },
      'failed to load netconf: json: cannot unmarshal string into Go struct field NetConf.mtu of type int',
    ],
    [
      'of a plugin that is not installed',
      { ...FOR_PODS, type: 'macvlan' },
      'failed to find plugin "macvlan" in path [/opt/cni/bin]',
    ],
    [
      'of an IPAM plugin that is not installed',
      { ...FOR_PODS, ipam: { type: 'whereabouts' } },
      'failed to find plugin "whereabouts" in path [/opt/cni/bin]',
    ],
    ['whose route leads out of the network', via('4.29.164.1'), route('4.29.164.1', 'network is unreachable')],
    ['whose route leads to the pod itself', via('4.29.163.7'), route('4.29.163.7', 'invalid argument')],
    ['whose next hop is no address', via('foo'), 'invalid IP address: foo'],
    [
      'whose route has no prefix',
      { ...FOR_PODS, ipam: { type: 'static', routes: [{ dst: '0.0.0.0' }] } },
      'invalid CIDR address: 0.0.0.0',
    ],
    [
      'at a long interface',
      FOR_PODS,
      'interface name is too long; interface name should be less than 16 characters',
      { interface: 'bridge-inet-one-two' },
    ],
    [
      'of an overlay of another name',
      OVERLAY,
      'net-attach-def name (other/bridge-inet) is inconsistent with config (demo/bridge-inet)',
      { definition: 'other/bridge-inet' },
    ],
    [
      'of an overlay of the wrong version',
      { ...OVERLAY, cniVersion: '1.0.0' },
      'unsupported CNI version 1.0.0, it must be 0.3.1',
    ],
    [
      'without a plugin',
      '{}',
      expect.stringContaining("delegate must have the 'type' or 'plugin' field") as unknown as string,
    ],
    ['that is no JSON', '{', expect.stringContaining('error unmarshalling delegate config') as unknown as string],
    [
      'without a configuration',
      '',
      expect.stringContaining('no net configuration with name "bridge-inet"') as unknown as string,
    ],
  ])('%s attaches nothing', (_what, config, refusal, asked) => {
    expect(added(config, asked)).toEqual(refusal)
  })

  it('has the name of its object where it has none', () => {
    expect(loadConfig(JSON.stringify(nameless), 'bridge-inet').name).toBe('bridge-inet')
  })
})

describe('the annotation of a pod', () => {
  const parse = (annotation: string) => {
    try {
      return parseSelections(annotation, 'demo').map(({ namespace, name, interface: device }) => [
        namespace,
        name,
        device,
      ])
    } catch (error) {
      return (error as Error).message
    }
  }

  it('is JSON, or names', () => {
    expect(parse('[{"name":"a","interface":"eth5"},{"name":"b","namespace":"other"}]')).toEqual([
      ['demo', 'a', 'eth5'],
      ['other', 'b', undefined],
    ])
    expect(parse('a@eth5, other/b')).toEqual([
      ['demo', 'a', 'eth5'],
      ['other', 'b', undefined],
    ])
  })

  it.each([
    ['[{"name":"a","ips":"10.0.0.1/24"}]', 'field NetworkSelectionElement.ips of type []string'],
    ['[{"name":"a","ips":["4.29.163.777"]}]', 'failed to parse IP address "4.29.163.777"'],
    ['[{"name":"a","mac":"zz"}]', 'failed to mac: address zz: invalid MAC address'],
    ['{}', 'cannot unmarshal object'],
    ['Control_Net', "mismatch @ 'Control_Net'"],
    ['a/b/c', "failed at '/'"],
  ])('%s is refused', (annotation, refusal) => {
    expect(parse(annotation)).toContain(refusal)
  })
})
