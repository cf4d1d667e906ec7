import { NetworkError } from './selection.ts'

/** One plugin of a CNI configuration, with the fields that are used here. */
export interface PluginConfig {
  readonly cniVersion?: string
  readonly name: string
  readonly type: string
  readonly capabilities?: Readonly<Record<string, boolean>>
  readonly bridge?: string
  readonly vlan?: number
  readonly mtu?: number
  readonly disableContainerInterface?: boolean
  readonly hairpinMode?: boolean
  readonly promiscMode?: boolean
  readonly ipam?: IpamConfig
  readonly topology?: string
  readonly netAttachDefName?: string
}

export interface IpamConfig {
  readonly type?: string
  readonly addresses?: readonly { readonly address: string }[]
  readonly routes?: readonly { readonly dst?: string; readonly gw?: string }[]
}

export interface NetworkConfig {
  readonly name: string
  readonly plugins: readonly PluginConfig[]
}

const NAME = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/
const VERSIONS: readonly string[] = ['0.1.0', '0.2.0', '0.3.0', '0.3.1', '0.4.0', '1.0.0', '1.1.0']

/** The fields whose type the plugins check. */
const TYPES = {
  bridge: 'string',
  vlan: 'number',
  mtu: 'number',
  topology: 'string',
  netAttachDefName: 'string',
} as const

/**
 * Loads the configuration of a NetworkAttachmentDefinition as Multus does. Throws {@link NetworkError}.
 * @param text JSON; if absent or empty, Multus looks for a file of that name, and there is none
 * @param name name of the NetworkAttachmentDefinition, and of a configuration without a name
 */
export function loadConfig(text: string | undefined, name: string): NetworkConfig {
  if (text === undefined || text === '') {
    throw notLoaded(`GetCNIConfigFromFile: no net configuration with name "${name}" in /etc/cni/multus/net.d`)
  }
  const config = parsed(text)
  const named = { ...config, name: config.name ?? name }
  if (typeof named.type === 'string' && named.type !== '') {
    return { name: named.name, plugins: [named as PluginConfig] }
  }
  const { plugins } = named as { readonly plugins?: readonly PluginConfig[] }
  if (!Array.isArray(plugins)) {
    throw notLoaded(
      "LoadDelegateNetConf: failed with: LoadDelegateNetConfList: delegate must have the 'type' or 'plugin' field",
    )
  }
  const cniVersion = named.cniVersion === undefined ? {} : { cniVersion: named.cniVersion }
  if ((plugins[0]?.type ?? '') === '') {
    throw notLoaded(
      "LoadDelegateNetConf: failed with: LoadDelegateNetConfList: a plugin delegate must have the 'type' field",
    )
  }
  return {
    name: named.name,
    plugins: plugins.map((one: PluginConfig) => ({ ...one, ...cniVersion, name: named.name })),
  }
}

/** Checks a configuration as libcni and the parsers of the plugins do. Throws {@link NetworkError}. */
export function checkConfig({ name, plugins }: NetworkConfig): void {
  if (!NAME.test(name)) throw new NetworkError(`invalid characters found in network name; ${name}`)
  for (const plugin of plugins) {
    const { cniVersion = '0.1.0' } = plugin
    if (!VERSIONS.includes(cniVersion)) {
      const supported = VERSIONS.map((version) => `"${version}"`).join(' ')
      throw new NetworkError(`incompatible CNI versions; config is "${cniVersion}", plugin supports [${supported}]`)
    }
    for (const [field, type] of Object.entries(TYPES)) {
      const value = plugin[field as keyof typeof TYPES]
      if (value === undefined || typeof value === type) continue
      const go = type === 'number' ? 'int' : 'string'
      throw new NetworkError(
        `failed to load netconf: json: cannot unmarshal ${typeof value} into Go struct field NetConf.${field} of type ${go}`,
      )
    }
  }
}

function parsed(text: string): Partial<PluginConfig> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch (error) {
    throw notLoaded(`LoadDelegateNetConf: error unmarshalling delegate config: ${(error as Error).message}`)
  }
  throw notLoaded('LoadDelegateNetConf: error unmarshalling delegate config: json: cannot unmarshal into Go value')
}

function notLoaded(why: string): NetworkError {
  return new NetworkError(
    `TryLoadPodDelegates: error in getting k8s network for pod: GetNetworkDelegates: failed getting the delegate: ${why}`,
  )
}
