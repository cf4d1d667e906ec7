import { isMap, isScalar, parseDocument } from 'yaml'
import type { OperatingSystem } from '../api/machine-os.ts'
import { VIRTUAL_MACHINE_REASONS } from '../api/virtual-machine-reasons.ts'
import type { SpecWarning } from '../api/virtual-machine-warnings.ts'
import { ownConfig, type UserDataProps } from './cloud-init-user-data.ts'
import { partsOf, type UserDataPart } from './user-data-parts.ts'

/** Types that cloud-init does something with by itself. */
const KNOWN =
  /^(text\/(cloud-config(-archive|-jsonp)?|x-shellscript(-per-(boot|instance|once))?|cloud-boothook|part-handler|x-include(-once)?-url|jinja2|upstart-job)|application\/(x-)?(gzip|gunzip|compress).*)$/
/** A longer cloud-config is only searched for its keys: the parser takes its time for each character. */
const PARSED_MAX = 65_536
const KEY_LINE = /^["']?([a-z_]+)["']?[ \t]*:/gm
/** Of the places where cloud-init reads it, user data is none. */
const NETWORK = 'network'

interface GuestUserData extends UserDataProps {
  /** Default: linux. */
  readonly os?: OperatingSystem | undefined
}

/**
 * Returns what does not happen as user data says, in a fixed order. What a template, a program or an address leads to in the guest is not known here.
 * No message has any of its content.
 */
export function userDataWarnings({ os, userData, ...props }: GuestUserData): SpecWarning[] {
  if (userData === undefined) return []
  const parts = partsOf(userData)
  if (os === 'windows') return cloudbaseWarnings(parts)
  const ours: Readonly<Record<string, unknown>> = ownConfig(props)
  const configs = parts.map(configOf)
  const overridden = new Set(
    configs.flatMap(({ keys }) => [...keys].filter((key) => isOverridden(key, ours)).map(([key]) => key)),
  )
  const hasHandler = parts.some(({ type }) => type === 'text/part-handler')
  return [
    ...parts.flatMap(({ type }, at): SpecWarning[] => {
      const why =
        configs[at]?.problem ?? (hasHandler || KNOWN.test(type) ? undefined : 'is of no kind that cloud-init knows')
      if (why === undefined) return []
      const which = partName(parts, at)
      return [
        { reason: VIRTUAL_MACHINE_REASONS.UserDataUnreadable, message: `${which} ${why}: the guest leaves it out` },
      ]
    }),
    ...overriddenKeys(overridden),
  ]
}

/** Keys of a cloud-config that cloudbase-init knows. */
const CLOUDBASE_KEYS: ReadonlySet<string> = new Set(
  'write_files set_timezone timezone set_hostname hostname ntp groups users runcmd'.split(' '),
)
/** Keys that only cloud-init knows and that people use most. Others may be anything, and are not told. */
const CLOUD_INIT_KEYS: ReadonlySet<string> = new Set(
  [
    'apt bootcmd ca_certs chpasswd disable_root disk_setup final_message fqdn fs_setup growpart keyboard locale manage_etc_hosts mounts network',
    'package_reboot_if_required package_update package_upgrade packages password phone_home power_state preserve_hostname resize_rootfs snap',
    'ssh_authorized_keys ssh_import_id ssh_keys ssh_pwauth swap yum_repos',
  ].flatMap((line) => line.split(' ')),
)
/** In an archive a script has its type from its first line, too: it may be any text. */
const CLOUDBASE_TYPES = /^(text\/(cloud-config|x-shellscript|plain|part-handler|x-cfninitdata)|multipart\/mixed)$/
const NAME_KEYS = ['hostname', 'set_hostname']

function cloudbaseWarnings(parts: readonly UserDataPart[]): SpecWarning[] {
  const configs = parts.map(configOf)
  const keys = [...new Set(configs.flatMap((config) => config.keys.map(([key]) => key)))].toSorted()
  const strange = keys.filter((key) => !CLOUDBASE_KEYS.has(key))
  const names = keys.filter((key) => NAME_KEYS.includes(key))
  const unreadable = parts.flatMap(({ type }, at) => {
    const why =
      configs[at]?.problem ?? (CLOUDBASE_TYPES.test(type) ? undefined : 'is of no kind that cloudbase-init knows')
    return why === undefined ? [] : [`${partName(parts, at)} ${why}: the guest leaves it out`]
  })
  return [
    ...unreadable.map((message) => ({ reason: VIRTUAL_MACHINE_REASONS.UserDataUnreadable, message })),
    ...(strange.length === 0
      ? []
      : [`userData sets ${withoutContent(strange)}, which cloudbase-init does not know: it leaves that out`]
    ).map((message) => ({ reason: VIRTUAL_MACHINE_REASONS.WindowsGuest, message })),
    ...(names.length === 0
      ? []
      : [`userData sets ${names.join(', ')}: the guest takes that name in place of the name of the spec`]
    ).map((message) => ({ reason: VIRTUAL_MACHINE_REASONS.WindowsGuest, message })),
  ]
}

function withoutContent(keys: readonly string[]): string {
  const known = keys.filter((key) => CLOUD_INIT_KEYS.has(key))
  const others = keys.length - known.length
  return [...known, ...(others === 0 ? [] : [`${others} other ${others === 1 ? 'key' : 'keys'}`])].join(', ')
}

function partName(parts: readonly UserDataPart[], at: number): string {
  return parts.length === 1 ? 'userData' : `part ${at + 1} of userData`
}

function overriddenKeys(keys: ReadonlySet<string>): SpecWarning[] {
  const reason = VIRTUAL_MACHINE_REASONS.UserDataOverridden
  const { [NETWORK]: hasNetwork, ...rest } = Object.fromEntries([...keys].map((key) => [key, true]))
  const names = Object.keys(rest).toSorted().join(', ')
  return [
    ...(names === ''
      ? []
      : [
          {
            reason,
            message: `userData sets ${names}, which users and name of the spec decide: what it says there has no effect`,
          },
        ]),
    ...(hasNetwork
      ? [
          {
            reason,
            message: 'userData sets network, which cloud-init does not read there: interfaces of the spec decide',
          },
        ]
      : []),
  ]
}

/** Without a value it may be anything. */
type Entry = readonly [key: string, value?: unknown]

function isOverridden([key, value]: Entry, ours: Readonly<Record<string, unknown>>): boolean {
  // It is the password of the image's user only if chpasswd names nobody.
  if (key === 'password') return ours['chpasswd'] !== undefined
  return key === NETWORK || (ours[key] !== undefined && ours[key] !== value)
}

interface ConfigKeys {
  readonly keys: readonly Entry[]
  /** Why cloud-init cannot read it, as the rest of a sentence. */
  readonly problem?: string
}

function configOf({ type, text }: UserDataPart): ConfigKeys {
  if (type === 'text/jinja2') return { keys: /^.*\n\s*#cloud-config\s/.test(text) ? keysIn(text) : [] }
  if (type !== 'text/cloud-config') return { keys: [] }
  if (text.length > PARSED_MAX) return { keys: keysIn(text) }
  const { contents, errors } = parseDocument(text, { version: '1.1', uniqueKeys: false, logLevel: 'silent' })
  const [error] = errors
  if (error !== undefined) return { keys: [], problem: `is not valid YAML in line ${error.linePos?.[0].line ?? '?'}` }
  if (contents === null) return { keys: [] }
  if (!isMap(contents)) return { keys: [], problem: 'is a cloud-config without keys and values' }
  return {
    keys: contents.items.map(({ key, value }) => {
      const name = String(isScalar(key) ? key.value : key)
      return isScalar(value) ? [name, value.value] : [name]
    }),
  }
}

function keysIn(text: string): Entry[] {
  return [...text.matchAll(KEY_LINE)].map(([, key = '']) => [key])
}
