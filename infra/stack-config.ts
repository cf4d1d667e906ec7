import { Config, type Output, RunError, runtime, secret } from '@pulumi/pulumi'
import { ConfigError, type EnvironmentConfig, PROJECT, parseConfig } from './config.ts'
import type { SecretTexts } from './secrets.ts'

export interface StackConfig {
  readonly environment: EnvironmentConfig
  readonly secrets: { readonly names: readonly string[]; readonly texts: Output<SecretTexts> }
}

const SECRETS = `${PROJECT}:secrets`
const HOW = `pulumi config set --secret --path '${SECRETS}.<name>.<key>'`

/** Reads the configuration of the running stack. Throws a RunError that names each invalid key. Pulumi shows it without a stack trace. */
export function readStackConfig(): StackConfig {
  try {
    return readConfig()
  } catch (error) {
    throw error instanceof ConfigError ? new RunError(error.message) : error
  }
}

function readConfig(): StackConfig {
  const prefix = `${PROJECT}:`
  const all = Object.entries(runtime.allConfig()).filter(([key]) => key.startsWith(prefix))
  const environment = parseConfig(Object.fromEntries(all.map(([key, value]) => [key.slice(prefix.length), value])))
  return { environment, secrets: readSecrets() }
}

function readSecrets(): StackConfig['secrets'] {
  const text = runtime.allConfig()[SECRETS] ?? '{}'
  const names = Object.keys(parseSecrets(text))
  return { names, texts: new Config(PROJECT).getSecretObject<SecretTexts>('secrets') ?? secret<SecretTexts>({}) }
}

/** Its error messages contain no value. */
function parseSecrets(text: string): SecretTexts {
  const wrong = new ConfigError([
    `${SECRETS} must be an object of Secrets by name, each an object of key and text: set each with ${HOW}`,
  ])
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw wrong
  }
  if (!isRecord(value) || !Object.values(value).every(isTexts)) throw wrong
  return value as SecretTexts
}

function isTexts(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every((text) => typeof text === 'string')
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
