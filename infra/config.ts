import { type InstallationProps, renderInstallation } from '@open-terrain/constructs/platform'
import type { z } from 'zod'
import { SCHEMA } from './config-schema.ts'
import about from './package.json' with { type: 'json' }
import { releasedImage } from './released-image.ts'

/** Prefix of the configuration keys of a stack: `open-terrain:<key>`. */
export const PROJECT = 'open-terrain'

/** The configuration of one environment, with all defaults. Pulumi.yaml describes the keys. */
export type EnvironmentConfig = z.output<typeof SCHEMA>

/** All keys except `secrets`, which no file contains in clear text. */
export const CONFIG_KEYS = Object.keys(SCHEMA.shape) as readonly (keyof EnvironmentConfig)[]

/** Keys whose value is always text, even if it looks like a number. */
const TEXTS: readonly string[] = ['image', 'namespace', 'imageNamespace', 'cdiNamespace', 'kubevirtNamespace']

/** Reports what is wrong with a stack's configuration: one line per key, with its value and the remedy. */
export class ConfigError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(`the configuration of the stack is not valid\n${problems.map((problem) => `  ${problem}`).join('\n')}`)
    this.name = 'ConfigError'
    this.problems = problems
  }
}

/**
 * Validates the values of a stack by key, without the prefix `open-terrain:`. Numbers, flags and objects may be JSON text, as Pulumi passes them.
 * Throws a ConfigError that names every invalid key.
 * @param image the default of the key `image`: that of the release
 */
export function parseConfig(given: Readonly<Record<string, unknown>>, image = releasedImage()): EnvironmentConfig {
  const { secrets: _secrets, ...values } = given
  const chosen = { ...(image !== undefined && { image }), ...values }
  const plain = Object.fromEntries(Object.entries(chosen).map(([key, value]) => [key, plainValue(key, value)]))
  const result = SCHEMA.safeParse(plain, { error: sentenceOf })
  if (!result.success)
    throw new ConfigError(firstOfEach(result.error.issues).flatMap((issue) => problemLines(issue, plain)))
  try {
    renderInstallation(installationProps(result.data))
  } catch (error) {
    const { message } = error as Error
    // Constructs name their properties, which are keys here.
    const isOfKey = CONFIG_KEYS.some((key) => message.startsWith(key))
    throw new ConfigError([isOfKey ? `${PROJECT}:${message}` : message])
  }
  return result.data
}

/** A value that is malformed also breaks the rules on its meaning: one problem of each value is enough. */
function firstOfEach(issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue[] {
  const pathOf = ({ path }: z.core.$ZodIssue) => path.join('.')
  return issues.filter((issue, at) => isWhole(issue) || issues.findIndex((one) => pathOf(one) === pathOf(issue)) === at)
}

/** The message is about a part of the value, and names it. */
function isWhole(issue: z.core.$ZodIssue): boolean {
  return issue.code === 'custom' && issue.params?.['isWhole'] === true
}

/** For what has no message of its own in the schema. */
function sentenceOf({ code }: z.core.$ZodRawIssue): string {
  return code === 'invalid_type' ? 'must be of another type: see docs/pulumi.md' : 'is not valid: see docs/pulumi.md'
}

function plainValue(key: string, value: unknown): unknown {
  if (TEXTS.includes(key) || typeof value !== 'string') return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

function problemLines(issue: z.core.$ZodIssue, values: unknown): string[] {
  const path = issue.path.map(String)
  if (issue.code === 'unrecognized_keys') {
    const known = path.length === 0 ? `: the keys are ${CONFIG_KEYS.join(', ')} and secrets` : ': remove it'
    return issue.keys.map((key) => `${PROJECT}:${[...path, key].join('.')} is not a key${known}`)
  }
  const key = `${PROJECT}:${path.join('.')}`
  if (issue.code === 'invalid_union') {
    const within = deepest(issue)
    if (within !== undefined) return problemLines(within, values)
  }
  if (issue.code === 'invalid_key') return issue.issues.map(({ message }) => `${key}: this name ${message}`)
  if (isWhole(issue)) return [`${key}: ${issue.message}`]
  const value = path.reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], values)
  if (value !== undefined) return [`${key}: ${JSON.stringify(value)} ${issue.message}`]
  const how = path.length === 1 ? `run pulumi config set ${path[0]} <value>; it` : 'it'
  return [`${key} is not set: ${how} ${issue.message}`]
}

/** Of the alternatives of a union, the problem inside of the one that has the shape of the value. Undefined if the value has none of their shapes. */
function deepest({ path, errors }: z.core.$ZodIssueInvalidUnion): z.core.$ZodIssue | undefined {
  const [within] = errors.flat().filter((issue) => issue.path.length > 0 || issue.code === 'unrecognized_keys')
  return within === undefined ? undefined : { ...within, path: [...path, ...within.path] }
}

/** Converts the configuration to the props of the platform constructs. */
export function installationProps(config: EnvironmentConfig): InstallationProps {
  const {
    adopt: _adopt,
    images: _images,
    protect: _protect,
    pods,
    resources: given,
    monitoring,
    networkPolicies,
    labIsolation,
    ...shared
  } = config
  const [scraped, limited, kept] = [monitoring, networkPolicies, labIsolation].map(withoutEnabled)
  const props = {
    ...shared,
    ...(scraped === false ? {} : { monitoring: scraped }),
    ...(Object.keys(given).length === 0 ? {} : { resources: given }),
    ...(Object.keys(pods).length === 0 ? {} : { pods }),
    ...(kept === false ? {} : { labIsolation: kept }),
    networkPolicies: limited,
    version: about.version,
  }
  // zod types these values as string maps, the constructs type each key.
  return props as InstallationProps
}

function withoutEnabled({ enabled, ...options }: { readonly enabled: boolean }): object | false {
  return enabled && options
}
